import { type Commit, type FileName, fileOf, type GapMark } from './store/index.ts';

/** Above so many commits in line each one waits longer for its next try, so that not all together wear the machine out. */
const shortLine = 100;
const tryEveryMs = 50;
const longestWaitMs = 60_000;
/** Commits that follow one which was written after failures. */
const followers = 64;

/** A commit to `site.db` that is not on disk yet. */
export interface Line {
  /** As it is to be written; the same object at each try. */
  readonly commit: Commit;
  /** What of `bulk.db` it tells of. */
  readonly marks: readonly GapMark[];
  /** Its place in the order of all commits. */
  readonly n: number;
  readonly bytes: number;
  /** It holds an event that tells of losses: whoever told of them does not tell them again. */
  readonly tells: boolean;
  /** It has given way: not tried again. */
  givenUp: boolean;
  /** Ends the wait between two tries. */
  nap: AbortController | undefined;
}

export const tells = ({ reported = [] }: Commit): boolean => reported.length > 0;

const marksIn = ({ reported = [] }: Commit, file: FileName): readonly GapMark[] =>
  reported.filter(({ lane }) => fileOf(lane) === file);

/** What a commit, its promises and its wait for the next try hold in memory: measured, and rather too high. */
const ofCommit = 7000;
const ofRow = 1500;
const ofRecord = 1000;

/** What a commit holds in memory without its state. */
function bytesOf({ rows, arming, inputs, audit = [] }: Commit): number {
  const ofRows = rows.reduce((sum, { body }) => sum + 2 * body.length + ofRow, 0);
  const ofInputs = inputs.reduce((sum, text) => sum + text.length, 0);
  return ofCommit + ofRows + ofInputs + ofRecord * (arming.length + audit.length);
}

/**
 * The commits to `site.db` that are not on disk, oldest first, at most so many and so many bytes. A commit that waits keeps
 * no state of its own: it is written with the newest there is at its try, or with none if that of a later commit is on
 * disk already. So no row ever lies beside a state that does not know of it, an older commit that comes late brings
 * no older state, and memory holds one state instead of thousands.
 */
export interface CommitLine {
  /** At a cap the one in the middle gives way, or the next behind it that tells of no losses. */
  enter(given: Commit): Line;
  /** It is on disk, or will not be. */
  leave(one: Line): void;
  /** It is on disk: after failures the newest goes next, since the others need no state then. */
  written(one: Line): void;
  /** The least wait before the next try, milliseconds. */
  turnMs(): number;
}

export function commitLine({ most, mostBytes }: { most: number; mostBytes: number }): CommitLine {
  const line: Line[] = [];
  let bytes = 0;
  let lastNumber = 0;
  /** The newest state anybody asked to have written, and the newest commit with a state that is on disk. */
  let newestState: readonly string[] | undefined;
  let lastWritten = 0;

  function sharing(given: Commit, n: number): Commit {
    const { state, ...rest } = { ...given, reported: marksIn(given, 'site') };
    if (state === undefined) return rest;
    newestState = state;
    const get = () => (n < lastWritten ? undefined : newestState);
    return Object.defineProperty(rest, 'state', { get, enumerable: true });
  }

  function leave(one: Line): void {
    const place = line.indexOf(one);
    if (place < 0) return;
    line.splice(place, 1);
    bytes -= one.bytes;
  }

  function giveWay(): void {
    const middle = Math.floor((line.length - 1) / 2);
    const one = line.find((other, index) => index >= middle && !other.tells) ?? line[middle];
    if (one === undefined) return;
    leave(one);
    one.givenUp = true;
    one.nap?.abort();
  }

  return {
    enter(given) {
      lastNumber += 1;
      const one: Line = {
        commit: sharing(given, lastNumber),
        marks: marksIn(given, 'bulk'),
        n: lastNumber,
        bytes: bytesOf(given),
        tells: tells(given),
        givenUp: false,
        nap: undefined,
      };
      line.push(one);
      bytes += one.bytes;
      while (line.length > most || (bytes > mostBytes && line.length > 1)) giveWay();
      return one;
    },
    leave,
    written(one) {
      if (one.commit.state !== undefined) lastWritten = Math.max(lastWritten, one.n);
      const newest = line.findLast(({ nap }) => nap !== undefined);
      if (newest === undefined) return;
      if (newest.n > lastWritten) newest.nap?.abort();
      else for (const { nap } of line.filter((other) => other.nap !== undefined).slice(0, followers)) nap?.abort();
    },
    turnMs: () => (line.length <= shortLine ? 0 : Math.min(longestWaitMs, Math.random() * line.length * tryEveryMs)),
  };
}

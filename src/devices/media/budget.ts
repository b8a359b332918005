import { type Lane, lanes } from '#site/model/index.ts';

/** A picture on disk that waits for the cloud. */
export interface Shelved {
  /** Name inside the spool. */
  readonly file: string;
  readonly bytes: number;
  readonly seq: number;
  readonly index: number;
  /** Absent where no row is known that wants it. */
  readonly lane?: Lane;
  readonly silent?: true;
}

/**
 * What gives way so that `bytes` become free for a picture or clip of an event: what ranks lower, the lowest first, at the very
 * end older ones of its own rank; of a rank the oldest event first and of that the last picture. Undefined where all that
 * would not do: nothing gives way in vain. Silent ones stay: they have room of their own (safety 4).
 */
export function givingWay(
  shelved: Iterable<Shelved>,
  wanted: { readonly bytes: number; readonly seq: number; readonly lane: Lane; readonly isClip: boolean },
): readonly Shelved[] | undefined {
  const own = rankOf(wanted.lane, wanted.isClip);
  const mayGo = [...shelved]
    .map((one) => ({ one, rank: rankOf(one.lane, one.file.endsWith('.mp4')) }))
    .filter(({ one, rank }) => one.silent !== true && (rank > own || (rank === own && one.seq < wanted.seq)));
  mayGo.sort((a, b) => b.rank - a.rank || a.one.seq - b.one.seq || b.one.index - a.one.index);
  let left = wanted.bytes;
  const gone: Shelved[] = [];
  for (const { one } of mayGo) {
    if (left <= 0) break;
    gone.push(one);
    left -= one.bytes;
  }
  return left <= 0 ? gone : undefined;
}

/**
 * The higher, the less it matters: by lane, of each the clips after the pictures, so that a picture of an alarm outlives
 * every clip. One that nobody is known to want may be an alarm's, whose row comes back.
 */
const rankOf = (lane: Lane | undefined, isClip: boolean): number =>
  (lane === undefined ? 0.5 : 2 * lanes.indexOf(lane)) + Number(isClip);

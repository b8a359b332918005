import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type ReplayItem, replay } from '#site/replay.ts';
import { openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { recordedLines } from './inputs.ts';
import { fileFailure, unusable } from './named-file.ts';
import { damageOf, replayLines } from './replay-text.ts';

export interface ReplayOptions {
  /** Undefined with `recorded`. */
  readonly log: string | undefined;
  readonly partition?: string;
  readonly differences: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** Places of damage that are named; of more only the number is told. */
const namedCap = 5;

/**
 * `siteward replay`: 1 when something was decided otherwise than this version decides it, the log is damaged, or nothing
 * could be replayed; what can be read is shown all the same. Throws `file_unusable` for what is no log.
 */
export async function replayLog(options: ReplayOptions): Promise<ExitCode> {
  const { log, json, partition } = options;
  await using control = log === undefined ? openControl(options.socket) : undefined;
  const lines = control === undefined ? fileLines(log ?? '') : recordedLines(control);
  const seen = tally();
  for await (const item of replay(lines)) {
    seen.add(item);
    if (!concerns(item, options)) continue;
    if (json) console.log(JSON.stringify(item));
    else for (const line of replayLines(item)) console.log(line);
  }
  if (seen.isForeign)
    throw unusable(`${log ?? 'what the daemon recorded'} is no input log; "siteward inputs export" writes one`);
  if (!json) console.log(seen.summary());
  const damage = seen.damage();
  if (damage !== undefined) console.error(`siteward: the log is damaged: ${damage}`);
  if (partition !== undefined && !seen.partitions.has(partition)) {
    const there = [...seen.partitions].join(', ') || 'none';
    console.error(`siteward: there is no such partition in the log; it has ${there}`);
    return exitCodes.notFound;
  }
  return seen.isSound ? exitCodes.ok : exitCodes.failure;
}

/** What a replay came upon. */
function tally() {
  let [decisions, differing, lost, readable, places] = [0, 0, 0, 0, 0];
  const named: string[] = [];
  const partitions = new Set<string>();
  return {
    partitions: partitions as ReadonlySet<string>,
    add(item: ReplayItem): void {
      if ((item.kind === 'decision' && item.recorded !== undefined) || item.kind === 'failed') differing += 1;
      if (item.kind === 'decision') decisions += 1;
      if (item.kind === 'state') for (const id of Object.keys(item.partitions)) partitions.add(id);
      readable += item.kind === 'skipped' ? item.lines - (item.unreadable ?? 0) : 1;
      if (item.kind !== 'skipped') return;
      lost += item.lines;
      const damage = damageOf(item);
      if (damage === undefined) return;
      places += 1;
      if (named.length < namedCap) named.push(damage);
    },
    /** There are lines, and not one of them is of an input log. */
    get isForeign() {
      return readable === 0 && lost > 0;
    },
    get isSound() {
      return differing === 0 && decisions > 0 && places === 0;
    },
    damage(): string | undefined {
      if (places === 0) return undefined;
      const more = places - named.length;
      return [...named, ...(more > 0 ? [`and ${more} more places`] : [])].join('; ');
    },
    summary(): string {
      const left = lost === 0 ? '' : `, ${lost} lines could not be replayed`;
      return `${decisions} decisions, ${differing} otherwise than recorded${left}`;
    },
  };
}

/** States and gaps are always shown: without them nobody knows what the rest goes on from. */
function concerns(item: ReplayItem, { partition, differences }: ReplayOptions): boolean {
  if (item.kind !== 'decision') return true;
  if (differences && item.recorded === undefined) return false;
  if (partition === undefined) return true;
  const { input, mark, before } = item;
  if (mark.partitions?.[partition] !== undefined) return true;
  if (before[partition] === undefined) return false;
  if (input.kind === 'command') return input.command.partition === partition || input.command.partition === 'all';
  return input.kind === 'signal' && 'partition' in input.signal && input.signal.partition === partition;
}

async function* fileLines(path: string): AsyncGenerator<string> {
  const file = createReadStream(path);
  try {
    yield* createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw fileFailure(path, error);
  } finally {
    file.destroy();
  }
}

import { describe } from '#errors.ts';
import { type DecisionMark, decide, type Input, markOf, type SiteState, standings } from './core/index.ts';
import type { PartitionId, SitePlan, Stamp } from './model/index.ts';
import { type InputLine, readLine, type StateLine } from './replay-lines.ts';

type Standings = Readonly<Record<PartitionId, string>>;

export interface Skipped {
  readonly kind: 'skipped';
  /** How many; 0 where what is missing ends with a state, so that the rest goes on from there. */
  readonly lines: number;
  /** Number of the first of them in the log, counted from 1. */
  readonly line: number;
  readonly why: 'no state' | 'missing' | 'unreadable' | 'failed';
  /** How many of them are no lines of this format at all. */
  readonly unreadable?: number;
  /** Lines that were written before the first of them and are not there. */
  readonly missing?: number;
}

/** What a replay has to say, in the order of the log. */
export type ReplayItem =
  /** A state the log holds. `differs`: where this version had come to, as far as it is another. */
  | {
      readonly kind: 'state';
      readonly at: Stamp;
      readonly why: StateLine['why'];
      readonly version: string;
      readonly partitions: Standings;
      readonly differs?: Standings;
    }
  /** What this version decides; `recorded` is there where the log says something else. */
  | {
      readonly kind: 'decision';
      readonly at: Stamp;
      readonly input: Input;
      readonly mark: DecisionMark;
      readonly before: Standings;
      readonly recorded?: DecisionMark;
    }
  /** Lines of which nobody knows the state they came upon: the beginning was cut off, or lines are missing. */
  | Skipped
  /** This version cannot decide it at all. */
  | { readonly kind: 'failed'; readonly at: Stamp; readonly reason: string };

interface Cursor {
  readonly plan: SitePlan;
  readonly state: SiteState;
  readonly run: string;
  readonly next: number;
}

/**
 * Runs a recorded input log through the engine of this version. Nothing is assumed: a replay begins with a state that the
 * log holds, and where a line is missing it goes on from the next one.
 */
export async function* replay(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<ReplayItem> {
  let cursor: Cursor | undefined;
  let gap: Skipped | undefined;
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text.trim() === '') continue;
    const line = readLine(text);
    if (cursor === undefined || line === undefined || !follows(cursor, line)) {
      gap ??= gapAt(number, cursor, line);
      cursor = undefined;
    }
    if (line?.kind === 'state') {
      if (gap !== undefined && (gap.lines > 0 || gap.missing !== undefined)) yield gap;
      yield stateItem(line, cursor);
      gap = undefined;
      cursor = { plan: line.plan, state: line.state, run: line.run, next: line.i + 1 };
    } else if (cursor === undefined || line === undefined) {
      gap = longer(gap, line === undefined);
    } else {
      const { item, state } = step(cursor, line);
      yield item;
      cursor = state === undefined ? undefined : { ...cursor, state, next: line.i + 1 };
      if (state === undefined) gap = { kind: 'skipped', lines: 0, line: number + 1, why: 'failed' };
    }
  }
  if (gap !== undefined && gap.lines > 0) yield gap;
}

const follows = (cursor: Cursor, line: StateLine | InputLine): boolean =>
  line.run === cursor.run && line.i === cursor.next;

/** A new run begins with a state, which makes good what the one before did not write any more. */
function gapAt(number: number, cursor: Cursor | undefined, line: StateLine | InputLine | undefined): Skipped {
  const gap = { kind: 'skipped', lines: 0, line: number } as const;
  if (cursor === undefined) return { ...gap, why: line === undefined ? 'unreadable' : 'no state' };
  if (line === undefined) return { ...gap, why: 'unreadable' };
  const missing = line.i - (line.run === cursor.run ? cursor.next : 0);
  return { ...gap, why: 'missing', ...(missing > 0 && { missing }) };
}

function longer(gap: Skipped | undefined, isUnreadable: boolean): Skipped | undefined {
  if (gap === undefined) return undefined;
  const { lines, unreadable = 0 } = gap;
  return {
    ...gap,
    lines: lines + 1,
    ...((isUnreadable || unreadable > 0) && { unreadable: unreadable + Number(isUnreadable) }),
  };
}

function stateItem(line: StateLine, cursor: Cursor | undefined): ReplayItem {
  const { at, why, version } = line;
  const partitions = standings(line.state);
  // A new plan changes partitions by itself, and so may the time between two runs.
  const ours = cursor === undefined || why !== 'between' ? {} : standings(cursor.state);
  const differing = Object.entries(ours).filter(([id, standing]) => partitions[id] !== standing);
  return {
    ...{ kind: 'state', at, why, version, partitions },
    ...(differing.length > 0 && { differs: Object.fromEntries(differing) }),
  };
}

function step(cursor: Cursor, { input, mark: recorded }: InputLine): { item: ReplayItem; state?: SiteState } {
  const { at } = input;
  try {
    const decision = decide(cursor.plan, cursor.state, input);
    const mark = markOf(cursor.state, decision);
    const before = standings(cursor.state);
    const isSame = JSON.stringify(ordered(mark)) === JSON.stringify(ordered(recorded));
    return {
      item: { kind: 'decision', at, input, mark, before, ...(!isSame && { recorded }) },
      state: decision.state,
    };
  } catch (error) {
    return { item: { kind: 'failed', at, reason: describe(error) } };
  }
}

const ordered = ({ rules, partitions = {}, replies = [], events = [] }: DecisionMark) => [
  [...rules].sort(),
  Object.entries(partitions).sort(([a], [b]) => (a < b ? -1 : 1)),
  replies,
  events,
];

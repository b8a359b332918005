import type { Deadline, PartitionId, Stamp, ZoneNumber } from '#site/model/index.ts';
import type { TimerState } from './types.ts';
import { own, type Work, without } from './work.ts';

/** One timer of each kind may run per owner. */
export const timerKinds = [
  'exit',
  'entry',
  'panel_answer',
  'swinger',
  'abort',
  'cross',
  'confirmation',
  'bypass',
  'test',
  'settle',
  'calm',
  'lost',
  'steady',
] as const;
export type TimerKind = (typeof timerKinds)[number];

export const now = (at: Stamp): Deadline => ({ mono: at.mono, wall: at.wall, boot: at.boot });

export const after = (at: Stamp, ms: number): Deadline => ({ mono: at.mono + ms, wall: at.wall + ms, boot: at.boot });

/** The moment so long ago, of the same run of the machine and told by the same clocks. */
export const before = (at: Stamp, ms: number): Stamp => ({ ...at, mono: at.mono - ms, wall: at.wall - ms });

/**
 * Milliseconds from `from` to now: on the monotonic clock within one boot (I12), else on the wall clock. Negative when
 * `from` is ahead.
 */
export const since = (at: Stamp, from: Deadline): number =>
  at.boot === from.boot ? at.mono - from.mono : at.wall - from.wall;

/** Milliseconds left until a deadline; negative when it has passed. */
export const left = (at: Stamp, due: Deadline): number => -since(at, due);

/** What a timer runs for: a partition, a zone within one, a zone, or a trouble by its key. */
export type TimerOwner =
  | PartitionId
  | { readonly partition: PartitionId; readonly zone: ZoneNumber }
  | { readonly zone: ZoneNumber }
  | { readonly trouble: string };

const membersOf = (of: TimerOwner): Partial<Pick<TimerState, 'partition' | 'zone' | 'trouble'>> =>
  typeof of === 'string' ? { partition: of } : of;

export function timerId(kind: TimerKind, of: TimerOwner): string {
  const { partition, zone, trouble } = membersOf(of);
  return [kind, partition, zone, trouble].filter((part) => part !== undefined).join(':');
}

/** Starts a timer, or starts the running one of this kind and owner anew. */
export function setTimer(work: Work, kind: TimerKind, of: TimerOwner, due: Deadline): void {
  runTimer(work, { id: timerId(kind, of), kind, ...membersOf(of), due });
}

/** Lets a timer run as it is. */
export function runTimer(work: Work, timer: TimerState): void {
  work.state = { ...work.state, timers: { ...work.state.timers, [timer.id]: timer } };
  work.effects.push({ kind: 'timer.set', timer });
}

export function clearTimer(work: Work, kind: TimerKind, of: TimerOwner): void {
  const id = timerId(kind, of);
  if (own(work.state.timers, id) === undefined) return;
  work.state = { ...work.state, timers: without(work.state.timers, id) };
  work.effects.push({ kind: 'timer.clear', timer: id });
}

export const isRunning = (work: Work, kind: TimerKind, of: TimerOwner): boolean =>
  own(work.state.timers, timerId(kind, of)) !== undefined;

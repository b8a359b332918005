import type { Deadline, PartitionId, Stamp } from '#site/model/index.ts';
import type { TimerState } from './types.ts';
import { own, type Work, without } from './work.ts';

export const now = (at: Stamp): Deadline => ({ mono: at.mono, wall: at.wall, boot: at.boot });

export const after = (at: Stamp, ms: number): Deadline => ({ mono: at.mono + ms, wall: at.wall + ms, boot: at.boot });

/**
 * Milliseconds from `from` to now: on the monotonic clock within one boot (I12), else on the wall clock. Negative when
 * `from` is ahead.
 */
export const since = (at: Stamp, from: Deadline): number =>
  at.boot === from.boot ? at.mono - from.mono : at.wall - from.wall;

/** Milliseconds left until a deadline; negative when it has passed. */
export const left = (at: Stamp, due: Deadline): number => -since(at, due);

const timerId = (kind: TimerState['kind'], partition: PartitionId): string => `${kind}:${partition}`;

export function setTimer(work: Work, kind: TimerState['kind'], partition: PartitionId, due: Deadline): void {
  const timer: TimerState = { id: timerId(kind, partition), kind, partition, due };
  work.state = { ...work.state, timers: { ...work.state.timers, [timer.id]: timer } };
  work.effects.push({ kind: 'timer.set', timer });
}

export function clearTimer(work: Work, kind: TimerState['kind'], partition: PartitionId): void {
  const id = timerId(kind, partition);
  if (own(work.state.timers, id) === undefined) return;
  work.state = { ...work.state, timers: without(work.state.timers, id) };
  work.effects.push({ kind: 'timer.clear', timer: id });
}

import type { ScheduleId, SchedulesPlan, Stamp } from '#site/model/index.ts';
import { hourMs, minuteMs } from './local-time.ts';
import { memoryOf, type ScheduleMemory, type SchedulesMemory } from './memory.ts';
import { slotId, spanAround } from './slots.ts';
import { openSlots, placeable } from './tick.ts';

export type PostponeRefusal =
  | 'unknown_schedule'
  /** Only an arming can be put off. */
  | 'not_an_arm'
  /** Not a whole number of minutes above zero. */
  | 'bad_minutes'
  /** No arming in the coming hours. */
  | 'no_slot'
  | 'too_often'
  | 'too_long';

export type Postponed =
  | { readonly memory: SchedulesMemory; readonly slot: string; readonly due: number; readonly timesLeft: number }
  | { readonly refused: PostponeRefusal };

/** Who is still there asks in the evening; what lies further ahead is the configuration's business. */
const postponeAheadMs = 6 * hourMs;

/**
 * Puts the next arming of a schedule off by so many minutes (safety 7), at most as often and as long as its plan
 * allows for one slot. The new time counts on the monotonic clock within this boot, see `postponedLeft`. Whoever asks
 * was checked before. Pure; a refusal changes nothing.
 */
export function postpone(
  plan: SchedulesPlan,
  memory: SchedulesMemory,
  request: { readonly schedule: ScheduleId; readonly minutes: number },
  at: Stamp,
): Postponed {
  const schedule = plan.schedules.find(({ id }) => id === request.schedule);
  if (schedule === undefined) return { refused: 'unknown_schedule' };
  if (schedule.action.kind !== 'arm') return { refused: 'not_an_arm' };
  if (!Number.isSafeInteger(request.minutes) || request.minutes < 1) return { refused: 'bad_minutes' };
  const known = memoryOf(memory, schedule);
  // A schedule no tick has seen yet has no slots: the tick decides what is over.
  if (known === undefined || !placeable(at)) return { refused: 'no_slot' };
  const span = spanAround(plan, at.wall, { backMs: 0, aheadMs: postponeAheadMs });
  const open = openSlots({ plan, span, at, seen: memory.seen }, schedule, known)
    .filter(({ leftMs, skipped }) => leftMs > 0 && leftMs <= postponeAheadMs && !skipped)
    .sort((one, other) => one.leftMs - other.leftMs)[0];
  if (open === undefined) return { refused: 'no_slot' };

  const before = known.postponed?.date === open.date ? known.postponed : undefined;
  const times = (before?.times ?? 0) + 1;
  const addMs = request.minutes * minuteMs;
  const totalMs = (before?.totalMs ?? 0) + addMs;
  const limit = schedule.action.postpone;
  if (times > limit.times) return { refused: 'too_often' };
  if (totalMs > limit.totalMs) return { refused: 'too_long' };

  const withinMs = open.leftMs + addMs;
  // Slots lie on full minutes; the two clocks differ by fractions of a millisecond, and 21:59:59.999 reads as 21:59.
  const wall = Math.round((at.wall + withinMs) / 1000) * 1000;
  const due = { mono: at.mono + withinMs, wall, boot: at.boot };
  // The new time gets its own warning.
  const { warned: _, ...rest } = known;
  const changed: ScheduleMemory = { ...rest, postponed: { date: open.date, due, withinMs, times, totalMs } };
  return {
    memory: { ...memory, schedules: { ...memory.schedules, [schedule.id]: changed } },
    slot: slotId(schedule, open.date),
    due: due.wall,
    timesLeft: limit.times - times,
  };
}

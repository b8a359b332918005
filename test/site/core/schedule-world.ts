import type {
  Holiday,
  LocalDate,
  ScheduleAction,
  ScheduledArm,
  SchedulePlan,
  SchedulesPlan,
  Stamp,
  Weekday,
} from '#site/model/index.ts';
import { postponeDefault } from '#site/model/index.ts';

export const everyDay: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

export const arm: ScheduledArm = {
  kind: 'arm',
  partitions: ['p1'],
  mode: 'away',
  notReady: 'fail',
  waitMs: 60_000,
  postpone: postponeDefault,
};
export const disarm: ScheduleAction = { kind: 'disarm', schedule: 'night' };
export const announce: ScheduleAction = { kind: 'announce', message: 'closing' };
export const testReport: ScheduleAction = { kind: 'testReport' };

export const schedule = (
  id: string,
  at: string,
  action: ScheduleAction = arm,
  more: Partial<SchedulePlan> = {},
): SchedulePlan => ({ id, name: id, days: everyDay, at, holidays: 'ignore', action, ...more });

export const plan = (
  schedules: readonly SchedulePlan[],
  more: { timezone?: string; holidays?: readonly Holiday[] } = {},
): SchedulesPlan => ({ timezone: 'Europe/Berlin', holidays: [], schedules, ...more });

/** A stamp whose clocks run together from the start of 2026. */
export const at = (wall: string | number, more: Partial<Stamp> = {}): Stamp => {
  const ms = typeof wall === 'number' ? wall : Date.parse(wall);
  return { mono: ms - Date.UTC(2025, 0, 1), wall: ms, boot: 'boot-1', clock: 'synced', ...more };
};

/**
 * What the rule says a slot's instant is, found without croner: every minute of a span is shown on the zone's clocks by
 * Intl; the first that shows the wanted date and time, else the first that shows a later one.
 */
export function instantsByIntl(zone: string, from: number, to: number): (date: LocalDate, time: string) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const firstShown = new Map<string, number>();
  const shown: [string, number][] = [];
  for (let wall = from; wall <= to; wall += minute) {
    const text = format.format(wall);
    if (firstShown.has(text)) continue;
    firstShown.set(text, wall);
    shown.push([text, wall]);
  }
  return (date, time) => {
    const wanted = `${date} ${time}`;
    const exact = firstShown.get(wanted);
    if (exact !== undefined) return exact;
    const later = shown.find(([text]) => text > wanted);
    if (later === undefined) throw new Error(`${wanted} lies outside of the span`);
    return later[1];
  };
}

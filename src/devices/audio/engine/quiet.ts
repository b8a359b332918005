import type { Stamp } from '#site/model/index.ts';

/** A time of the day, on the clocks of the site, in which a speaker plays alarms alone, or less loud. */
export interface QuietHours {
  /** Days on which it begins, Sunday is 0; one over midnight ends on the day after. */
  readonly days: readonly number[];
  /** Minutes from midnight; `to` is not in it. */
  readonly from: number;
  readonly to: number;
  /** Percent. Without it nothing plays. */
  readonly cap?: number;
}

/** The greatest volume of these hours, 0 where nothing plays; undefined where none are. */
export function quietCap(hours: readonly QuietHours[], at: Stamp, timezone: string): number | undefined {
  // By a clock that cannot be trusted nobody knows the hour; what was asked for is played.
  if (hours.length === 0 || at.clock === 'doubtful') return undefined;
  const now = localTime(at.wall, timezone);
  const caps = hours.filter((one) => holds(one, now)).map(({ cap }) => cap ?? 0);
  return caps.length === 0 ? undefined : Math.min(...caps);
}

type Hours = Omit<QuietHours, 'cap'>;

/** Whether the clocks of the site are within these hours. */
export const isWithin = (hours: Hours, wall: number, timezone: string): boolean =>
  holds(hours, localTime(wall, timezone));

function holds({ days, from, to }: Hours, { day, minute }: ReturnType<typeof localTime>): boolean {
  if (from < to) return days.includes(day) && minute >= from && minute < to;
  const yesterday = (day + 6) % 7;
  return (days.includes(day) && minute >= from) || (days.includes(yesterday) && minute < to);
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

function localTime(wallMs: number, timezone: string): { day: number; minute: number } {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const parts = format.formatToParts(wallMs);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  return { day: weekdays.indexOf(part('weekday')), minute: Number(part('hour')) * 60 + Number(part('minute')) };
}

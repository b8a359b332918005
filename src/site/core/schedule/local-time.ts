import { Cron } from 'croner';
import { type LocalDate, type LocalTime, type Weekday, weekdays } from '#site/model/index.ts';

/** A date of the calendar as the number of days from 1970-01-01. */
export type Day = number;

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export const dateOf = (day: Day): LocalDate => new Date(day * dayMs).toISOString().slice(0, 10);

/** 1970-01-01 was a Thursday. */
export const weekdayOf = (day: Day): Weekday => weekdays[(((day + 3) % 7) + 7) % 7] as Weekday;

/** The time of day in milliseconds. */
export function timeMs(time: LocalTime): number {
  const { hour, minute } = split(time);
  return hour * hourMs + minute * minuteMs;
}

/** What the clocks of a zone show, to the minute, as milliseconds from 1970-01-01 00:00 of that same clock. */
export function localMs(zone: string, wall: number): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const parts = format.formatToParts(wall);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
}

/**
 * The one instant, wall clock milliseconds, of a local date and time: a time that occurs twice means its first
 * occurrence, one that does not occur the first instant after the gap.
 *
 * croner does both, with one exception: where the gap lasts until midnight it finds nothing (11.0.1, America/Nuuk,
 * 2026-03-28 23:30, whose clocks go from 23:00 to 00:00). The first instant after the gap is then that midnight.
 */
export function instantOf(zone: string, day: Day, time: LocalTime): number {
  const { hour, minute } = split(time);
  return run(zone, day, hour, minute) ?? midnightAfter(zone, day);
}

function midnightAfter(zone: string, day: Day): number {
  // Zones that cross the date line leave out a whole date, never two.
  const found = run(zone, day + 1, 0, 0) ?? run(zone, day + 2, 0, 0);
  if (found === undefined) throw new RangeError(`${zone} has no day after ${dateOf(day)}`);
  return found;
}

function run(zone: string, day: Day, hour: number, minute: number): number | undefined {
  const [year, month, date] = dateOf(day).split('-').map(Number);
  const cron = new Cron(`0 ${minute} ${hour} ${date} ${month} * ${year}`, { timezone: zone, mode: '7-part' });
  // No date begins earlier than 14 hours before it does in UTC; croner looks for what comes after the start.
  return cron.nextRun(new Date(day * dayMs - 15 * hourMs))?.getTime();
}

function split(time: LocalTime): { hour: number; minute: number } {
  return { hour: Number(time.slice(0, 2)), minute: Number(time.slice(3, 5)) };
}

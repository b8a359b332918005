import { describe, expect, it } from 'vitest';
import { emptySchedules, type SlotAction, scheduleTick } from '#site/core/schedule/index.ts';
import { instantOf } from '#site/core/schedule/local-time.ts';
import { at, day, hour, instantsByIntl, minute, plan, schedule } from './schedule-world.ts';

const times = ['00:30', '01:59', '02:00', '02:15', '02:30', '03:00', '23:59'];

/** Dates and times the clocks of a zone show twice or never in 2026, by the zone's own rules. */
const known: Record<string, Record<string, string>> = {
  'Europe/Berlin': {
    '2026-03-29 01:59': '2026-03-29T00:59Z',
    '2026-03-29 02:00': '2026-03-29T01:00Z',
    '2026-03-29 02:15': '2026-03-29T01:00Z',
    '2026-03-29 02:30': '2026-03-29T01:00Z',
    '2026-03-29 03:00': '2026-03-29T01:00Z',
    '2026-10-25 02:00': '2026-10-25T00:00Z',
    '2026-10-25 02:30': '2026-10-25T00:30Z',
    '2026-10-25 03:00': '2026-10-25T02:00Z',
  },
  'America/New_York': {
    '2026-03-08 02:30': '2026-03-08T07:00Z',
    '2026-11-01 00:30': '2026-11-01T04:30Z',
    '2026-11-01 01:59': '2026-11-01T05:59Z',
    '2026-11-01 02:00': '2026-11-01T07:00Z',
  },
  'Australia/Lord_Howe': {
    '2026-10-04 02:00': '2026-10-03T15:30Z',
    '2026-10-04 02:15': '2026-10-03T15:30Z',
    '2026-10-04 02:30': '2026-10-03T15:30Z',
    '2026-10-04 03:00': '2026-10-03T16:00Z',
    '2026-04-05 01:59': '2026-04-04T14:59Z',
    '2026-04-05 02:00': '2026-04-04T15:30Z',
  },
};

describe.each(Object.keys(known))('the year 2026 in %s', (timezone) => {
  const from = Date.UTC(2026, 0, 1) - 14 * hour;
  const to = Date.UTC(2027, 0, 1) + 14 * hour;
  const expected = instantsByIntl(timezone, from - day, to + day);
  const dates = Array.from({ length: 365 }, (_, n) =>
    new Date(Date.UTC(2026, 0, 1) + n * day).toISOString().slice(0, 10),
  );
  const wanted = dates.flatMap((date) =>
    times.map((time) => ({ slot: `${idAt(time)}/${date}`, due: expected(date, time) })),
  );

  /** Every hour, every minute near a slot, and every minute of the two days around a change of the clocks. */
  function ticks(): number[] {
    const walls = new Set<number>();
    for (let wall = from; wall <= to; wall += hour) walls.add(wall);
    for (const { due } of wanted) for (let n = -2; n <= 2; n++) walls.add(due + n * minute);
    for (const { change } of changesOf(timezone, hour)) {
      for (let wall = change - day; wall <= change + day; wall += minute) walls.add(wall);
    }
    return [...walls].sort((one, other) => one - other);
  }

  it('runs every slot exactly once, in the minute the rule says', () => {
    const schedules = plan(
      times.map((time) => schedule(idAt(time), time)),
      { timezone },
    );
    const ran: SlotAction[] = [];
    let memory = emptySchedules;
    for (const wall of ticks()) {
      const tick = scheduleTick(schedules, memory, at(wall));
      memory = tick.memory;
      ran.push(...tick.due);
      if (tick.missed.length > 0) expect(tick.missed).toEqual([]);
    }
    const ofTheYear = ran.filter(({ slot }) => slot.includes('/2026-'));
    expect(ofTheYear.map(line).sort()).toEqual(wanted.map(line).sort());
    expect(ofTheYear.filter(({ lateMs }) => lateMs !== 0)).toEqual([]);
  });

  it('knows the missing and the doubled hour as they were written down by hand', () => {
    for (const [slot, instant] of Object.entries(known[timezone]!)) {
      const [date, time] = slot.split(' ') as [string, string];
      expect([slot, iso(expected(date, time))]).toEqual([slot, iso(Date.parse(instant))]);
      expect([slot, iso(instantOf(timezone, Date.parse(date) / day, time))]).toEqual([slot, iso(Date.parse(instant))]);
    }
  });
});

describe('the instants of all time zones', () => {
  it('follow the rule on both sides of every change of the clocks in 2026, also of a gap that lasts until midnight', () => {
    let compared = 0;
    for (const { zone, change, before, after } of changes()) {
      const expected = instantsByIntl(zone, change - 2 * day, change + 2 * day);
      const first = change + Math.min(before, after) - 30 * minute;
      for (let local = first; local <= change + Math.max(before, after) + 30 * minute; local += 15 * minute) {
        const [date, time] = new Date(local).toISOString().slice(0, 16).split('T') as [string, string];
        const got = instantOf(zone, Math.floor(local / day), time);
        expect([zone, date, time, iso(got)]).toEqual([zone, date, time, iso(expected(date, time))]);
        compared++;
      }
    }
    // Some thirty different rules, among them steps of 30 minutes and of 2 hours, and changes at midnight.
    expect(compared).toBeGreaterThan(300);
    const nuuk = instantOf('America/Nuuk', Date.parse('2026-03-28') / day, '23:30');
    expect(iso(nuuk)).toBe('2026-03-29T01:00:00.000Z');
  });
});

const idAt = (time: string) => `s${time.replace(':', '')}`;
const iso = (wall: number) => new Date(wall).toISOString();
const line = ({ slot, due }: { slot: string; due: number }) => `${slot} ${iso(due)}`;

interface Change {
  readonly zone: string;
  readonly change: number;
  readonly before: number;
  readonly after: number;
}

/** When a zone's clocks change in 2026, to the minute. */
function changesOf(zone: string, stepMs: number): Change[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const offset = (wall: number) => Date.parse(`${format.format(wall).replace(' ', 'T')}Z`) - wall;
  const list: Change[] = [];
  for (let wall = Date.UTC(2026, 0, 1); wall < Date.UTC(2027, 0, 1); wall += stepMs) {
    const before = offset(wall);
    const after = offset(wall + stepMs);
    if (after === before) continue;
    let low = wall;
    let high = wall + stepMs;
    while (high - low > minute) {
      const middle = low + Math.floor((high - low) / 2 / minute) * minute;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    list.push({ zone, change: high, before, after });
  }
  return list;
}

/** Each set of clock changes once, with the first zone that has it. */
function changes(): Change[] {
  const found = new Map<string, Change[]>();
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const list = changesOf(zone, day);
    const key = list.map(({ change, before, after }) => [change, before, after].join()).join(';');
    if (!found.has(key)) found.set(key, list);
  }
  return [...found.values()].flat();
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClockPlan } from '#devices/audio/index.ts';
import { daysOf, type Stamp } from '#site/model/index.ts';
import { nextPlays } from '../../../../src/daemon/audio.ts';
import { isFirstWorkingDay, look } from '../../../../src/devices/audio/rules/by-clock.ts';

const wall = Date.UTC(2026, 11, 7, 19, 55);
const stamp = (ms: number, more: Partial<Stamp> = {}): Stamp => ({
  mono: ms,
  wall: wall + ms,
  boot: 'b',
  clock: 'synced',
  ...more,
});
const runs = [{ id: 'rule a', date: '2026-12-07', at: wall }];
const due = (before: Stamp, now: Stamp) => look(before, now, runs).due.map(({ id }) => id);

describe('what is due by the clock', () => {
  it('is so at its second, once', () => {
    expect(due(stamp(-10_000), stamp(-1))).toEqual([]);
    expect(due(stamp(-10_000), stamp(0))).toEqual(['rule a']);
    expect(due(stamp(-10_000), stamp(1_999))).toEqual(['rule a']);
    expect(due(stamp(0), stamp(10_000))).toEqual([]);
  });

  it('is not made up', () => {
    expect(due(stamp(-60_000), stamp(2_001))).toEqual([]);
    expect(look(stamp(-5_000), stamp(500, { mono: -4_000 }), runs)).toEqual({ due: [], wasSet: true });
    expect(look(stamp(3_600_000), stamp(0, { mono: 3_600_001 }), runs)).toEqual({ due: [], wasSet: true });
    expect(due(stamp(-1_000), stamp(0, { clock: 'doubtful' }))).toEqual([]);
    expect(due(stamp(-1_000), stamp(0, { clock: 'holdover' }))).toEqual(['rule a']);
  });

  it('comes once by whatever looks, where no clock is set and nobody sleeps', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(steps, (gaps) => {
        let ms = -20_000;
        let count = 0;
        for (const gap of gaps) {
          count += due(stamp(ms), stamp(ms + gap)).length;
          ms += gap;
        }
        expect(count).toBe(ms >= 0 ? 1 : 0);
      }),
    );
  });
});

const plan = (more: Partial<ClockPlan['slots'][number]> = {}, holidays: ClockPlan['holidays'] = []): ClockPlan => ({
  timezone: 'Europe/Berlin',
  holidays,
  slots: [{ id: 'rule a', at: '02:30', days: daysOf(['daily']), holidays: 'skip', ...more }],
});
const next = (of: ClockPlan, after: number) =>
  nextPlays(of, after)
    .slice(0, 3)
    .map(({ at }) => new Date(at).toISOString());

describe('the next times', () => {
  it('go by the clocks of the site, once a day also where they are changed', () => {
    // 02:30 does not exist on 29 March 2026, and is twice there on 25 October.
    expect(next(plan(), Date.UTC(2026, 2, 28))).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(next(plan(), Date.UTC(2026, 9, 24, 12))).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
      '2026-10-27T01:30:00.000Z',
    ]);
  });

  it('leave out other days, and holidays unless the rule says otherwise', () => {
    const christmas = [{ from: '2026-12-24', to: '2026-12-26', name: 'Christmas' }];
    const after = Date.UTC(2026, 11, 23, 12);
    expect(next(plan({ days: daysOf(['fri']) }), after)[0]).toBe('2026-12-25T01:30:00.000Z');
    expect(next(plan({}, christmas), after)[0]).toBe('2026-12-27T01:30:00.000Z');
    expect(next(plan({ holidays: 'ignore' }, christmas), after)[0]).toBe('2026-12-24T01:30:00.000Z');
    expect(next(plan({ holidays: 'only' }, christmas), Date.UTC(2026, 11, 1))[0]).toBe('2026-12-24T01:30:00.000Z');
  });
});

it('the speakers are tested on one working day of each month', () => {
  const days = (month: number) =>
    Array.from({ length: new Date(Date.UTC(2027, month, 0)).getUTCDate() }, (_, day) => day + 1);
  for (let day = 1; day <= 26; day += 1)
    for (let month = 1; month <= 12; month += 1) {
      const found = days(month)
        .map((one) => `2027-${String(month).padStart(2, '0')}-${String(one).padStart(2, '0')}`)
        .filter((date) => isFirstWorkingDay(date, day));
      expect(found).toHaveLength(1);
      expect(new Date(found[0] ?? '').getUTCDay() % 6).not.toBe(0);
    }
});

import { describe, expect, it } from 'vitest';
import {
  emptySchedules,
  type MissedSlot,
  nextRuns,
  postpone,
  type SchedulesMemory,
  type SlotAction,
  type SlotWarning,
  scheduleTick,
} from '#site/core/schedule/index.ts';
import type { SchedulePlan, SchedulesPlan, Stamp } from '#site/model/index.ts';
import { announce, arm, at, disarm, minute, plan, schedule, testReport } from './schedule-world.ts';

const night = schedule('night', '22:00');
const morning = schedule('morning', '06:00', disarm);

/** Ticks one after the other; each says what it did. */
function site(start: SchedulesPlan, from: Stamp) {
  let schedules = start;
  let memory: SchedulesMemory = emptySchedules;
  const tick = (stamp: Stamp) => {
    const result = scheduleTick(schedules, memory, stamp);
    memory = JSON.parse(JSON.stringify(result.memory));
    expect(memory).toEqual(result.memory);
    return result;
  };
  tick(from);
  return {
    tick,
    memory: () => memory,
    edit: (next: SchedulesPlan) => {
      schedules = next;
    },
    /** Ticks from one moment to another, both included; what they did all together. */
    run(first: string, last: string, more: Partial<Stamp> = {}, stepMs = minute) {
      const due: SlotAction[] = [];
      const warnings: SlotWarning[] = [];
      const missed: MissedSlot[] = [];
      for (let wall = Date.parse(first); wall <= Date.parse(last); wall += stepMs) {
        const result = tick(at(wall, more));
        due.push(...result.due);
        warnings.push(...result.warnings);
        missed.push(...result.missed);
      }
      return { due: due.map(({ slot }) => slot), warnings, missed };
    },
  };
}

const ran = (result: { due: readonly SlotAction[] }) => result.due.map(({ slot }) => slot);
const missedOf = (result: { missed: readonly MissedSlot[] }) => result.missed.map(({ slot, reason }) => [slot, reason]);

// In June Berlin is two hours ahead of UTC: 22:00 there is 20:00Z.
describe('a slot found late', () => {
  const foundLate = (one: SchedulePlan, before: string, found: string, more: Partial<Stamp> = {}) =>
    site(plan([one]), at(before)).tick(at(found, more));

  it('is armed up to an hour after its time, and reported once as missed after that', () => {
    expect(ran(foundLate(night, '2026-06-10T19:00Z', '2026-06-10T21:00Z'))).toEqual(['night/2026-06-10']);
    const house = site(plan([night]), at('2026-06-10T19:00Z'));
    const late = house.tick(at('2026-06-10T21:00:01Z'));
    expect([ran(late), missedOf(late)]).toEqual([[], [['night/2026-06-10', 'late']]]);
    expect(house.tick(at('2026-06-10T21:01:00Z')).missed).toEqual([]);
  });

  it('is told of anew where its moment came and passed anew: that a partition stays open is never kept back (safety 7)', () => {
    const house = site(plan([night]), at('2026-06-10T19:00Z'));
    const { mono } = at('2026-06-10T19:00Z');
    const jumps = ['2026-06-10T21:30Z', '2026-06-10T19:01Z', '2026-06-10T21:30Z'];
    const told = jumps.map((wall, index) => house.tick(at(wall, { mono: mono + 10_000 * (index + 1) })));
    expect(told.map(missedOf)).toEqual([[['night/2026-06-10', 'late']], [], [['night/2026-06-10', 'late']]]);
  });

  it('is armed after a start of the machine too, also with a clock in doubt', () => {
    const started = { boot: 'boot-2', mono: 40_000, clock: 'doubtful' as const };
    expect(ran(foundLate(night, '2026-06-10T19:59Z', '2026-06-10T20:40Z', started))).toEqual(['night/2026-06-10']);
  });

  it('is disarmed within two minutes of its time and never later', () => {
    expect(ran(foundLate(morning, '2026-06-11T03:59Z', '2026-06-11T04:02Z'))).toEqual(['morning/2026-06-11']);
    const late = foundLate(morning, '2026-06-11T03:59Z', '2026-06-11T04:02:01Z');
    expect([ran(late), missedOf(late)]).toEqual([[], [['morning/2026-06-11', 'late']]]);
  });

  it('is announced within five minutes, and reported as a test within twelve hours', () => {
    const closing = schedule('closing', '22:00', announce);
    expect(ran(foundLate(closing, '2026-06-10T19:59Z', '2026-06-10T20:05Z'))).toEqual(['closing/2026-06-10']);
    expect(ran(foundLate(closing, '2026-06-10T19:59Z', '2026-06-10T20:06Z'))).toEqual([]);
    const test = schedule('test', '22:00', testReport);
    expect(ran(foundLate(test, '2026-06-10T19:59Z', '2026-06-11T08:00Z'))).toEqual(['test/2026-06-10']);
    expect(ran(foundLate(test, '2026-06-10T19:59Z', '2026-06-11T08:01Z'))).toEqual([]);
  });

  it('is but the last of many: a bridge that was off for a week arms once', () => {
    expect(ran(foundLate(night, '2026-06-01T19:00Z', '2026-06-10T20:30Z'))).toEqual(['night/2026-06-10']);
  });
});

describe('a scheduled disarm', () => {
  const shortBefore = () => site(plan([morning]), at('2026-06-11T03:59Z'));

  it('is not done by a start of the machine, however short it was off (I3)', () => {
    const started = shortBefore().tick(at('2026-06-11T04:00:30Z', { boot: 'boot-2', mono: 30_000 }));
    expect([ran(started), missedOf(started)]).toEqual([[], [['morning/2026-06-11', 'unwatched']]]);
    // The monotonic clocks of two boots may well say the same.
    expect(ran(shortBefore().tick(at('2026-06-11T04:00:30Z', { boot: 'boot-2' })))).toEqual([]);
  });

  it('is not done because the clock was set forward over its time', () => {
    const set = site(plan([morning]), at('2026-06-11T02:00Z')).tick(
      at('2026-06-11T04:00:30Z', { mono: at('2026-06-11T02:01Z').mono }),
    );
    expect([ran(set), missedOf(set)]).toEqual([[], [['morning/2026-06-11', 'unwatched']]]);
  });

  it.each(['doubtful', 'holdover'] as const)('is not done with a clock that is %s (C12)', (clock) => {
    expect(missedOf(shortBefore().tick(at('2026-06-11T04:00Z', { clock })))).toEqual([['morning/2026-06-11', 'clock']]);
  });

  it.each([
    ['ten minutes before', '2026-06-11T03:50Z', ['morning/2026-06-11']],
    ['later than that: not, and it is told', '2026-06-11T03:51Z', []],
  ])('comes at its true time when a clock that ran ahead over it was set right %s', (_, setRight, expected) => {
    const house = site(plan([morning]), at('2026-06-11T03:30Z'));
    house.tick(at('2026-06-11T05:00Z', { mono: at(setRight).mono - minute }));
    house.tick(at(setRight));
    const { due, missed } = house.run('2026-06-11T03:52Z', '2026-06-11T04:05Z');
    expect(due).toEqual(expected);
    expect(missed).toEqual([]);
  });

  it('is not done by a clock that is wrong for a minute', () => {
    const house = site(plan([morning]), at('2026-06-11T01:00Z'));
    const ahead = (minutes: number, wall: string) =>
      house.tick(at(wall, { mono: at('2026-06-11T01:00Z').mono + minutes * minute }));
    const ticks = [ahead(1, '2026-06-11T03:59:30Z'), ahead(2, '2026-06-11T04:00:30Z')];
    expect([ticks.flatMap(ran), ticks.flatMap(missedOf)]).toEqual([[], [['morning/2026-06-11', 'unwatched']]]);
  });

  it('that was missed is told once, also when the clock goes back and its moment passes again', () => {
    const house = shortBefore();
    const { mono } = at('2026-06-11T03:59Z');
    const clock = 'holdover';
    const told = [
      house.tick(at('2026-06-11T04:01Z', { mono: mono + 10_000, clock })),
      house.tick(at('2026-06-11T03:59:35Z', { mono: mono + 20_000, clock })),
      house.tick(at('2026-06-11T04:00:05Z', { mono: mono + 50_000, clock })),
      house.tick(at('2026-06-12T04:00:05Z', { clock })),
    ];
    expect(told.flatMap(missedOf)).toEqual([
      ['morning/2026-06-11', 'clock'],
      ['morning/2026-06-12', 'clock'],
    ]);
  });

  it('goes before an arming of the same minute, so that the site ends armed', () => {
    const both = site(plan([schedule('again', '06:00'), morning]), at('2026-06-11T03:59Z'));
    expect(ran(both.tick(at('2026-06-11T04:00Z')))).toEqual(['morning/2026-06-11', 'again/2026-06-11']);
  });
});

describe('a clock that is set', () => {
  const house = () => {
    const one = site(plan([night]), at('2026-06-10T19:59Z'));
    expect(one.run('2026-06-10T20:00Z', '2026-06-10T20:10Z').due).toEqual(['night/2026-06-10']);
    return one;
  };

  it.each([
    ['some minutes', '2026-06-10T19:55Z', '2026-06-10T20:30Z'],
    ['a day', '2026-06-09T20:30Z', '2026-06-10T20:30Z'],
  ])('back by %s runs nothing a second time', (_, first, last) => {
    const one = house();
    const again = one.run(first, last).due;
    expect(again).not.toContain('night/2026-06-10');
  });

  it('to 1970 arms by the hours of 1970 and to the right year runs on as if nothing had been', () => {
    const one = house();
    expect(one.run('1970-01-02T20:58Z', '1970-01-02T21:05Z', { clock: 'doubtful' }).due).toEqual(['night/1970-01-02']);
    expect(one.run('2026-06-11T19:50Z', '2026-06-11T20:10Z').due).toEqual(['night/2026-06-11']);
  });

  describe('a day ahead for some minutes after the arming', () => {
    /** The wall clock off by so much, the monotonic one going on. */
    const off = (wall: string, ms: number, more: Partial<Stamp> = {}) => ({
      ...at(wall, more),
      wall: at(wall).wall + ms,
    });
    const day = 24 * 60 * minute;
    const wasAhead = () => {
      const one = house();
      const ticks = ['2026-06-10T20:11Z', '2026-06-10T20:12Z'].map((wall) => one.tick(off(wall, day)));
      expect(ticks.flatMap(ran)).toEqual(['night/2026-06-11']);
      one.tick(at('2026-06-10T20:13Z'));
      return one;
    };

    it('arms in the next evening too, and warns before', () => {
      const one = wasAhead();
      const { due, warnings } = one.run('2026-06-10T20:14Z', '2026-06-12T20:05Z');
      expect(due).toEqual(['night/2026-06-11', 'night/2026-06-12']);
      expect(warnings.map(({ slot }) => slot)).toEqual(['night/2026-06-11', 'night/2026-06-12']);
    });

    it('shows the next evening among the runs, and lets it be postponed', () => {
      const one = wasAhead();
      const next = { afterWall: at('2026-06-11T19:00Z').wall, count: 1, memory: one.memory() };
      expect(nextRuns(plan([night]), next)).toMatchObject([{ date: '2026-06-11' }]);
      const asked = { schedule: 'night', minutes: 30 };
      expect(postpone(plan([night]), one.memory(), asked, at('2026-06-11T19:00Z'))).toMatchObject({
        slot: 'night/2026-06-11',
      });
    });

    it('arms in the next evening after a start of the machine, and after one that lasted over the moment', () => {
      const boot = { boot: 'boot-2' };
      expect(wasAhead().run('2026-06-11T19:00Z', '2026-06-11T20:05Z', boot).due).toEqual(['night/2026-06-11']);
      expect(wasAhead().run('2026-06-11T20:20Z', '2026-06-11T20:25Z', boot).due).toEqual(['night/2026-06-11']);
      const late = wasAhead().tick(at('2026-06-11T22:00Z', boot));
      expect([ran(late), missedOf(late)]).toEqual([[], [['night/2026-06-11', 'late']]]);
    });

    it('and once more ahead in the same way arms nothing anew', () => {
      const one = wasAhead();
      expect(['2026-06-10T20:14Z', '2026-06-10T20:15Z'].map((wall) => one.tick(off(wall, day))).flatMap(ran)).toEqual(
        [],
      );
    });

    it('is done under another name each time', () => {
      const { due } = (() => {
        const one = wasAhead();
        one.run('2026-06-10T20:14Z', '2026-06-11T19:59Z');
        return one.tick(at('2026-06-11T20:00Z'));
      })();
      expect(due).toMatchObject([{ slot: 'night/2026-06-11', again: 1 }]);
    });
  });

  it.each([
    ['the clock of a machine without a battery, set forward after its start', { boot: 'boot-2' }],
    ['a clock that went back for some minutes and came back', {}],
  ])('%s brings nothing again', (_, more) => {
    const one = house();
    const low = (minutes: number, wall: string) =>
      one.tick(at(wall, { mono: at('2026-06-10T20:10Z').mono + minutes * minute, ...more }));
    low(1, '2026-06-10T19:30Z');
    low(2, '2026-06-10T19:31Z');
    const { due, missed } = one.run('2026-06-10T20:13Z', '2026-06-10T20:30Z', more);
    expect([due, missed]).toEqual([[], []]);
  });

  it('a year ahead and back silences no slot of the year between', () => {
    const one = house();
    expect(one.run('2027-06-20T20:10Z', '2027-06-21T20:10Z').due).toEqual(['night/2027-06-20', 'night/2027-06-21']);
    expect(one.run('2026-06-11T19:50Z', '2026-06-14T20:10Z').due).toEqual([
      'night/2026-06-11',
      'night/2026-06-12',
      'night/2026-06-13',
      'night/2026-06-14',
    ]);
  });

  it.each([Number.NaN, -1, 1e18, Number.POSITIVE_INFINITY])(
    'to %s is no time at all: nothing runs, nothing is lost',
    (wall) => {
      const one = house();
      const before = one.memory();
      const tick = one.tick({ ...at(0), wall });
      expect([tick.due, tick.warnings, tick.missed]).toEqual([[], [], []]);
      expect(one.memory()).toEqual(before);
    },
  );
});

describe('an edited schedule', () => {
  it('that is new does not run for what has passed', () => {
    const house = site(plan([]), at('2026-06-10T20:29Z'));
    house.edit(plan([night]));
    expect(house.run('2026-06-10T20:30Z', '2026-06-11T20:01Z').due).toEqual(['night/2026-06-11']);
  });

  it('that moved to an hour still to come runs then, also on a day it has run', () => {
    const house = site(plan([night]), at('2026-06-10T19:59Z'));
    expect(house.run('2026-06-10T20:00Z', '2026-06-10T20:05Z').due).toEqual(['night/2026-06-10']);
    house.edit(plan([schedule('night', '22:30')]));
    expect(house.run('2026-06-10T20:06Z', '2026-06-10T20:40Z').due).toEqual(['night/2026-06-10']);
  });

  it('that moved to an hour that has passed does not run that day', () => {
    const house = site(plan([night]), at('2026-06-10T19:30Z'));
    house.edit(plan([schedule('night', '21:15')]));
    expect(house.run('2026-06-10T19:31Z', '2026-06-10T21:00Z').due).toEqual([]);
  });

  it('that is gone is forgotten', () => {
    const house = site(plan([night]), at('2026-06-10T19:30Z'));
    house.edit(plan([]));
    house.tick(at('2026-06-10T19:31Z'));
    expect(house.memory().schedules).toEqual({});
  });

  it('may be named like a member of every object', () => {
    const house = site(plan([schedule('constructor', '22:00')]), at('2026-06-10T19:59Z'));
    expect(ran(house.tick(at('2026-06-10T20:00Z')))).toEqual(['constructor/2026-06-10']);
  });
});

describe('days and holidays', () => {
  const holidays = [{ from: '2026-12-24', to: '2026-12-26', name: 'Christmas' }];
  const runs = (one: SchedulePlan) =>
    site(plan([one], { holidays }), at('2026-12-22T20:00Z')).run(
      '2026-12-22T20:00Z',
      '2026-12-28T20:00Z',
      {},
      30 * minute,
    ).due;
  const dates = (slots: readonly string[]) => slots.map((slot) => slot.slice(-2));

  it('leave out, single out or do not matter, as the schedule says', () => {
    expect(dates(runs(schedule('s', '08:00', announce, { holidays: 'skip' })))).toEqual(['23', '27', '28']);
    expect(dates(runs(schedule('s', '08:00', announce, { holidays: 'only' })))).toEqual(['24', '25', '26']);
    expect(dates(runs(schedule('s', '08:00', announce, { holidays: 'ignore' })))).toHaveLength(6);
  });

  it('count by the date on the clocks of the site', () => {
    // 00:30 on the 27th in Berlin is still the 26th in UTC.
    expect(dates(runs(schedule('s', '00:30', announce, { holidays: 'skip', days: ['sun', 'mon'] })))).toEqual([
      '27',
      '28',
    ]);
  });

  it('left out are neither warned of nor reported as missed', () => {
    const skip = schedule('s', '22:00', arm, { holidays: 'skip' });
    const all = site(plan([skip], { holidays }), at('2026-12-24T20:00Z')).run('2026-12-24T20:01Z', '2026-12-25T20:00Z');
    expect(all).toEqual({ due: [], warnings: [], missed: [] });
  });
});

describe('the warning before an arming', () => {
  it('comes once, five minutes ahead, and for nothing else', () => {
    const house = site(plan([night, schedule('other', '22:00', announce)]), at('2026-06-10T19:00Z'));
    const { warnings } = house.run('2026-06-10T19:01Z', '2026-06-10T20:05Z');
    expect(warnings).toEqual([
      {
        schedule: 'night',
        slot: 'night/2026-06-10',
        due: Date.parse('2026-06-10T20:00Z'),
        action: arm,
        leftMs: 5 * minute,
      },
    ]);
  });

  it('looks over the gap of a missing hour', () => {
    const house = site(plan([schedule('early', '02:30')]), at('2026-03-29T00:30Z'));
    const { warnings } = house.run('2026-03-29T00:31Z', '2026-03-29T01:05Z');
    expect(warnings).toMatchObject([
      { slot: 'early/2026-03-29', due: Date.parse('2026-03-29T01:00Z'), leftMs: 5 * minute },
    ]);
  });
});

describe('the next runs', () => {
  const holidays = [{ from: '2026-06-11', to: '2026-06-11', name: 'Fair' }];
  const all = plan([night, schedule('morning', '06:00', disarm, { holidays: 'skip' })], { holidays });

  it('stand in their order, those of a holiday marked with its name', () => {
    const runs = nextRuns(all, { afterWall: Date.parse('2026-06-10T20:00Z'), count: 4 });
    expect(
      runs.map(({ schedule, date, at, holiday, skipped }) => [
        schedule,
        date,
        new Date(at).toISOString(),
        holiday,
        skipped,
      ]),
    ).toEqual([
      ['morning', '2026-06-11', '2026-06-11T04:00:00.000Z', 'Fair', true],
      ['night', '2026-06-11', '2026-06-11T20:00:00.000Z', 'Fair', false],
      ['morning', '2026-06-12', '2026-06-12T04:00:00.000Z', undefined, false],
      ['night', '2026-06-12', '2026-06-12T20:00:00.000Z', undefined, false],
    ]);
  });

  it('say when a time does not exist and the run moves behind the gap', () => {
    const gap = nextRuns(plan([schedule('early', '02:30')]), { afterWall: Date.parse('2026-03-28T12:00Z'), count: 2 });
    expect(gap.map(({ at, afterGap }) => [new Date(at).toISOString(), afterGap])).toEqual([
      ['2026-03-29T01:00:00.000Z', true],
      ['2026-03-30T00:30:00.000Z', false],
    ]);
  });

  it('are the slots the ticks run', () => {
    const schedules = plan([night, schedule('early', '02:30', arm, { days: ['sun', 'wed'] })]);
    const from = Date.parse('2026-10-20T12:00Z');
    const told = nextRuns(schedules, { afterWall: from, count: 9 }).map(({ schedule, date, at }) => [
      `${schedule}/${date}`,
      at,
    ]);
    const house = site(schedules, at(from));
    const done: [string, number][] = [];
    for (let wall = from; wall <= (told.at(-1)![1] as number); wall += 30 * minute) {
      for (const { slot, due } of house.tick(at(wall)).due) done.push([slot, due]);
    }
    expect(done).toEqual(told);
  });

  it('are between one and a hundred, and end at a horizon when a schedule has no days left', () => {
    const afterWall = Date.parse('2026-06-10T20:00Z');
    expect(nextRuns(all, { afterWall, count: 1000 })).toHaveLength(100);
    expect(nextRuns(all, { afterWall, count: 0 })).toHaveLength(1);
    expect(nextRuns(all, { afterWall, count: Number.NaN })).toHaveLength(1);
    expect(
      nextRuns(plan([schedule('s', '06:00', arm, { holidays: 'only' })], { holidays }), { afterWall, count: 9 }),
    ).toHaveLength(1);
    expect(nextRuns(plan([]), { afterWall, count: 9 })).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { emptySchedules, nextRuns, postpone, type SchedulesMemory, scheduleTick } from '#site/core/schedule/index.ts';
import type { Stamp } from '#site/model/index.ts';
import { arm, at, disarm, hour, minute, plan, schedule } from './schedule-world.ts';

const schedules = plan([schedule('night', '22:00'), schedule('morning', '06:00', disarm)]);
// 22:00 in Berlin, in June.
const due = Date.parse('2026-06-10T20:00Z');

const seen = (stamp: Stamp, memory: SchedulesMemory = emptySchedules) => scheduleTick(schedules, memory, stamp).memory;

function given(minutes: number, stamp: Stamp, memory = seen(stamp)) {
  const answer = postpone(schedules, memory, { schedule: 'night', minutes }, stamp);
  if ('refused' in answer) throw new Error(answer.refused);
  return answer;
}

const refusal = (minutes: number, stamp: Stamp, memory = seen(stamp), id = 'night') => {
  const answer = postpone(schedules, memory, { schedule: id, minutes }, stamp);
  return 'refused' in answer ? answer.refused : 'granted';
};

describe('a postponed arming', () => {
  it('comes at its new time, and not at the old one', () => {
    const { memory, slot, due: next, timesLeft } = given(30, at(due - 10 * minute));
    expect([slot, next, timesLeft]).toEqual(['night/2026-06-10', due + 30 * minute, 1]);
    const old = scheduleTick(schedules, memory, at(due));
    expect(old.due).toEqual([]);
    expect(scheduleTick(schedules, old.memory, at(due + 30 * minute)).due).toMatchObject([
      { slot: 'night/2026-06-10', lateMs: 0, due: due + 30 * minute },
    ]);
  });

  it('is warned of anew before its new time', () => {
    const warned = scheduleTick(schedules, seen(at(due - hour)), at(due - 5 * minute));
    expect(warned.warnings).toHaveLength(1);
    const { memory } = given(30, at(due - 4 * minute), warned.memory);
    const silent = scheduleTick(schedules, memory, at(due + 24 * minute));
    const again = scheduleTick(schedules, silent.memory, at(due + 25 * minute));
    expect([silent.warnings, again.warnings]).toMatchObject([[], [{ due: due + 30 * minute, leftMs: 5 * minute }]]);
  });

  it('runs once, and the next day comes at its usual time', () => {
    const { memory } = given(30, at(due - 10 * minute));
    const armed = scheduleTick(schedules, memory, at(due + 30 * minute));
    expect(scheduleTick(schedules, armed.memory, at(due + 31 * minute)).due).toEqual([]);
    expect(scheduleTick(schedules, armed.memory, at(due + 24 * hour)).due).toMatchObject([
      { slot: 'night/2026-06-11' },
    ]);
  });

  it.each([
    ['forward', 50 * minute],
    ['back', -50 * minute],
    ['back by years', -due],
  ])('keeps its minutes when the wall clock is set %s', (_, stepMs) => {
    const stamp = at(due - 10 * minute);
    const { memory } = given(60, stamp);
    const later = (ms: number): Stamp => ({ ...stamp, mono: stamp.mono + ms, wall: stamp.wall + ms + stepMs });
    expect(scheduleTick(schedules, memory, later(69 * minute)).due).toEqual([]);
    expect(scheduleTick(schedules, memory, later(70 * minute)).due).toMatchObject([{ slot: 'night/2026-06-10' }]);
  });

  it('goes by the wall clock after a start of the machine', () => {
    const { memory } = given(60, at(due - 10 * minute));
    const booted = { boot: 'boot-2', mono: 30_000 };
    expect(scheduleTick(schedules, memory, at(due + 59 * minute, booted)).due).toEqual([]);
    expect(scheduleTick(schedules, memory, at(due + 61 * minute, booted)).due).toMatchObject([{ lateMs: minute }]);
    expect(scheduleTick(schedules, memory, at(due + 121 * minute, booted))).toMatchObject({
      due: [],
      missed: [{ slot: 'night/2026-06-10', reason: 'late' }],
    });
  });

  it('arms at once after a start with a clock that went back: late is safer than never', () => {
    const { memory } = given(60, at(due - 10 * minute));
    const booted = at('1970-01-01T00:00:40Z', { boot: 'boot-2', mono: 30_000, clock: 'doubtful' });
    expect(scheduleTick(schedules, memory, booted).due).toMatchObject([{ slot: 'night/2026-06-10' }]);
  });

  it('stands at its new time among the next runs', () => {
    const { memory } = given(60, at(due - 10 * minute));
    const runs = nextRuns(schedules, { afterWall: due - 5 * minute, count: 2, memory });
    expect(runs).toMatchObject([
      { schedule: 'night', time: '22:00', at: due + hour, postponed: true },
      { schedule: 'morning', at: due + 8 * hour, postponed: false },
    ]);
    const over = scheduleTick(schedules, memory, at(due + hour)).memory;
    expect(nextRuns(schedules, { afterWall: due - minute, count: 2, memory: over })).toMatchObject([
      { schedule: 'morning', date: '2026-06-11' },
      { schedule: 'night', date: '2026-06-11' },
    ]);
  });

  it('may move behind runs of the next date', () => {
    const late = plan([schedule('night', '23:30'), schedule('other', '00:30')]);
    const before = at('2026-06-10T21:00Z');
    const answer = postpone(
      late,
      scheduleTick(late, emptySchedules, before).memory,
      { schedule: 'night', minutes: 90 },
      before,
    );
    if ('refused' in answer) throw new Error(answer.refused);
    const runs = nextRuns(late, { afterWall: before.wall, count: 1, memory: answer.memory });
    expect(runs).toMatchObject([{ schedule: 'other', date: '2026-06-11' }]);
  });
});

describe('a wish to postpone', () => {
  const soon = at(due - 10 * minute);

  it('is granted twice and up to two hours in all, each time counted', () => {
    const first = given(60, soon);
    const second = given(60, soon, first.memory);
    expect([second.due, second.timesLeft]).toEqual([due + 2 * hour, 0]);
    expect(refusal(1, soon, second.memory)).toBe('too_often');
    expect(refusal(61, soon, first.memory)).toBe('too_long');
    expect(refusal(121, soon)).toBe('too_long');
    expect(refusal(120, soon)).toBe('granted');
  });

  it('moves by whole minutes, also where the clocks differ by less than a millisecond', () => {
    const first = given(60, soon);
    const later = { ...soon, mono: soon.mono + 7000.4, wall: soon.wall + 7000 };
    expect(given(60, later, first.memory).due).toBe(due + 2 * hour);
  });

  it('begins anew with the next slot', () => {
    const { memory } = given(60, soon, given(60, soon).memory);
    const armed = scheduleTick(schedules, memory, at(due + 2 * hour)).memory;
    expect(given(120, at(due + 23 * hour), armed)).toMatchObject({ slot: 'night/2026-06-11', timesLeft: 1 });
  });

  it('is for an arming of the coming hours only', () => {
    expect(refusal(30, at(due - 6 * hour))).toBe('granted');
    expect(refusal(30, at(due - 6 * hour - minute))).toBe('no_slot');
    const armed = scheduleTick(schedules, seen(soon), at(due)).memory;
    expect(refusal(30, at(due + minute), armed)).toBe('no_slot');
    expect(refusal(30, soon, emptySchedules)).toBe('no_slot');
    expect(refusal(30, soon, seen(soon), 'morning')).toBe('not_an_arm');
    expect(refusal(30, soon, seen(soon), 'lunch')).toBe('unknown_schedule');
  });

  it('is for no arming a holiday takes away', () => {
    const holidays = [{ from: '2026-06-10', to: '2026-06-10', name: 'Fair' }];
    const closed = plan([schedule('night', '22:00', arm, { holidays: 'skip' })], { holidays });
    const memory = scheduleTick(closed, emptySchedules, soon).memory;
    expect(postpone(closed, memory, { schedule: 'night', minutes: 30 }, soon)).toEqual({ refused: 'no_slot' });
  });

  it.each([0, -5, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('for %s minutes is refused', (minutes) => {
    expect(refusal(minutes, soon)).toBe('bad_minutes');
  });
});

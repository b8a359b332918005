import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptySchedules, postpone, type SchedulesMemory, scheduleTick } from '#site/core/schedule/index.ts';
import type { ClockQuality, Stamp } from '#site/model/index.ts';
import { announce, arm, at, day, disarm, hour, minute, plan, schedule, testReport } from './schedule-world.ts';

const runs = 300;

const schedules = plan([
  schedule('night', '22:00'),
  schedule('early', '02:30', arm, { days: ['sat', 'sun', 'mon'] }),
  schedule('morning', '06:00', disarm),
  schedule('gap', '02:15', { kind: 'disarm', schedule: 'early' }),
  schedule('closing', '21:50', announce),
  schedule('test', '05:59', testReport),
]);

/** The moments of the armings of `night` that the steps come by. */
const armings = new Map<string, number>(
  ['2026-03-28T21:00Z', '2026-03-29T20:00Z', '2026-10-25T21:00Z', '2027-01-15T21:00Z'].map(
    (time) => [`night/${time.slice(0, 10)}`, Date.parse(time)] as const,
  ),
);

type Step =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'minutes'; readonly count: number }
  | { readonly do: 'set'; readonly ms: number }
  | { readonly do: 'setTo'; readonly wall: number }
  /** The clock is set to a minute before, and this moment passes. */
  | { readonly do: 'over'; readonly wall: number }
  | { readonly do: 'reboot'; readonly offMs: number; readonly lostClock: boolean }
  | { readonly do: 'clock'; readonly clock: ClockQuality }
  | { readonly do: 'postpone'; readonly minutes: number };

/** Moments near a slot, in two winters and on both nights the clocks of Berlin change, few enough to come back to. */
const nearSlot = fc
  .tuple(
    fc.constantFrom('2026-03-28', '2026-03-29', '2026-10-25', '2027-01-15'),
    fc.constantFrom('00:15', '00:30', '01:00', '01:30', '04:00', '05:00', '20:00', '21:00'),
    fc.oneof(fc.integer({ min: -3 * minute, max: 5 * minute }), fc.integer({ min: -10 * minute, max: 70 * minute })),
  )
  .map(([date, time, offsetMs]) => Date.parse(`${date}T${time}Z`) + offsetMs);

/** One arming on three dates, since what was done on one comes back when the clock goes back behind another; and a disarm. */
const slots = ['2026-03-28T21:00Z', '2026-03-29T20:00Z', '2026-10-25T21:00Z', '2027-01-15T05:00Z'];

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 2 * hour }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('minutes' as const), count: fc.integer({ min: 1, max: 15 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      ms: fc.oneof(
        fc.integer({ min: -30 * minute, max: 30 * minute }),
        fc.integer({ min: -12, max: 12 }).map((hours) => hours * hour),
        fc.constantFrom(-365 * day, -7 * day, -day, day, 7 * day, 365 * day),
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('setTo' as const),
      wall: fc.oneof(
        { weight: 5, arbitrary: nearSlot },
        // Half a minute after a disarm that nobody saw coming.
        fc.constant(Date.parse('2027-01-15T05:00:30Z')),
        fc.constant(0),
        fc.constant(3 * minute),
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('over' as const),
      wall: fc.constantFrom(...slots.map((time) => Date.parse(time))),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('reboot' as const),
      offMs: fc.integer({ min: 20_000, max: 2 * hour }),
      lostClock: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clock' as const),
      clock: fc.constantFrom<ClockQuality>('synced', 'holdover', 'doubtful'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('postpone' as const), minutes: fc.integer({ min: 1, max: 70 }) }),
  },
);

type Tick = typeof scheduleTick;

/** Lives through the steps and throws at the first broken promise. It keeps its own account of time. */
function live(tick: Tick, start: number, steps: readonly Step[]): void {
  let now: Stamp = at(start);
  let memory: SchedulesMemory = emptySchedules;
  /** How the clock was set when a slot ran, and whether it has shown a time before the slot since. */
  const ran = new Map<string, { setting: number; boot: string; wasBehind: boolean }>();
  /** The same of armings that had passed when the schedules were first seen. */
  const over: typeof ran = new Map();
  /** Since the last tick: how far the wall clock was set, whether the machine was off. */
  let setMs = 0;
  let wasOff = false;
  /** By the monotonic clock. */
  let setAt = Number.NEGATIVE_INFINITY;
  let last: Stamp | undefined;
  const putOff = new Set<string>();

  const look = () => {
    const { due, missed, ...result } = tick(schedules, memory, now);
    const setting = now.wall - now.mono;
    const isAsSet = (one: { setting: number; boot: string }) =>
      one.boot === now.boot && Math.abs(one.setting - setting) <= 2 * minute;
    memory = JSON.parse(JSON.stringify(result.memory));
    expect(memory).toEqual(result.memory);
    // One that was put off comes by the monotonic clock, beside whatever the wall clock brings.
    const byTheClock = due.filter(({ slot }) => !putOff.has(slot));
    expect(new Set(byTheClock.map(({ schedule }) => schedule)).size).toBe(byTheClock.length);
    for (const { slot, action, due: dueAt, lateMs } of due) {
      const before = ran.get(slot);
      if (before !== undefined && (isAsSet(before) || !before.wasBehind)) throw new Error(`${slot} ran twice`);
      ran.set(slot, { setting, boot: now.boot, wasBehind: false });
      if (lateMs < 0 || lateMs > 12 * hour || (action.kind === 'arm' && lateMs > hour)) {
        throw new Error(`${slot} ran ${lateMs} ms late`);
      }
      if (action.kind !== 'disarm') continue;
      const came = last !== undefined && last.wall < dueAt && dueAt <= now.wall && now.wall - dueAt <= 2 * minute;
      if (!came) throw new Error(`${slot} disarmed late`);
      if (wasOff || Math.abs(setMs) > 2 * minute || now.mono - setAt < 10 * minute)
        throw new Error(`${slot} disarmed unwatched`);
      if (now.clock !== 'synced') throw new Error(`${slot} disarmed by a clock nobody stands for`);
    }
    // Whatever was done before: an arming whose moment comes while all is well is done, told, or was done rightly.
    for (const [slot, moment] of armings) {
      if (last === undefined || last.boot !== now.boot || setMs !== 0) continue;
      if (moment <= last.wall || moment > now.wall) continue;
      const isDone = [ran.get(slot), over.get(slot)].some((one) => one && (isAsSet(one) || !one.wasBehind));
      const isTold = missed.some((one) => one.slot === slot) || putOff.has(slot);
      if (!isDone && !isTold) throw new Error(`${slot} was left out in silence`);
    }
    for (const account of [ran, over])
      for (const [slot, one] of account) {
        const moment = armings.get(slot);
        if (moment === undefined || now.wall < moment) account.set(slot, { ...one, wasBehind: true });
      }
    for (const [slot, moment] of armings)
      if (last === undefined && moment <= now.wall) over.set(slot, { setting, boot: now.boot, wasBehind: false });
    last = now;
    setMs = 0;
    wasOff = false;
  };
  const pass = (ms: number) => {
    now = { ...now, mono: now.mono + ms, wall: now.wall + ms };
  };
  const set = (wall: number) => {
    const to = Math.max(0, wall);
    setMs += to - now.wall;
    if (Math.abs(to - now.wall) > 2 * minute) setAt = now.mono;
    now = { ...now, wall: to };
  };

  look();
  for (const step of steps) {
    if (step.do === 'pass') pass(step.ms);
    else if (step.do === 'set') set(now.wall + step.ms);
    else if (step.do === 'setTo') set(step.wall);
    else if (step.do === 'over') {
      set(step.wall - minute);
      for (let n = 0; n < 2; n++) {
        look();
        pass(minute);
      }
    } else if (step.do === 'clock') now = { ...now, clock: step.clock };
    else if (step.do === 'reboot') {
      const wall = step.lostClock ? 40_000 : now.wall + step.offMs;
      now = { ...now, mono: 20_000, wall, boot: `${now.boot}+` };
      wasOff = true;
      setAt = Number.NEGATIVE_INFINITY;
    } else if (step.do === 'postpone') {
      const answer = postpone(schedules, memory, { schedule: 'night', minutes: step.minutes }, now);
      if ('refused' in answer) continue;
      memory = answer.memory;
      putOff.add(answer.slot);
    } else {
      for (let n = 1; n < step.count; n++) {
        pass(minute);
        look();
      }
    }
    look();
  }
}

/** The same few moments, twice over. */
const thereAndBack = fc
  .array(nearSlot, { minLength: 2, maxLength: 4 })
  .map((walls) => [...walls, ...walls].map((wall): Step => ({ do: 'setTo', wall })));
/** A moment comes while nobody stands for the clock. */
const underDoubt = fc
  .tuple(nearSlot, fc.constantFrom<ClockQuality>('holdover', 'doubtful'))
  .map(([wall, clock]): Step[] => [
    { do: 'clock', clock },
    { do: 'setTo', wall: wall - 5 * minute },
    { do: 'minutes', count: 10 },
  ]);
const stepsArbitrary = fc.oneof(
  { weight: 4, arbitrary: fc.array(stepArbitrary, { maxLength: 20, size: 'max' }) },
  { weight: 1, arbitrary: thereAndBack },
  { weight: 1, arbitrary: underDoubt },
);

const lives = (tick: Tick) => fc.property(nearSlot, stepsArbitrary, (start, steps) => live(tick, start, steps));

describe('whatever the clocks do, and however long nobody looks', () => {
  it('no slot runs twice under one setting of the clock, no arming after an hour or left out in silence, and no disarm that was not watched coming', {
    timeout: 180_000,
  }, () => {
    fc.assert(lives(scheduleTick), { numRuns: runs });
  });
});

describe('the property above', () => {
  const rewrite =
    (change: (memory: SchedulesMemory, stamp: Stamp) => SchedulesMemory): Tick =>
    (of, memory, stamp) =>
      scheduleTick(of, change(memory, stamp), stamp);

  const defects: Record<string, Tick> = {
    'forgets what ran': rewrite((memory) => ({
      ...memory,
      schedules: Object.fromEntries(Object.entries(memory.schedules).map(([id, one]) => [id, { ...one, done: [] }])),
    })),
    'remembers only the last date': rewrite((memory) => ({
      ...memory,
      schedules: Object.fromEntries(
        Object.entries(memory.schedules).map(([id, one]) => [id, { ...one, done: one.done.slice(-1) }]),
      ),
    })),
    'takes what a wrong clock did for done': (of, memory, stamp) => {
      const result = scheduleTick(of, memory, stamp);
      const isNew = (slot: string) => {
        const [id = '', date = ''] = slot.split('/');
        return memory.schedules[id]?.done.includes(date) !== true;
      };
      return { ...result, due: result.due.filter(({ slot }) => isNew(slot)) };
    },
    'disarms by a clock that was set a moment ago': rewrite(({ setAt: _, ...memory }) => memory),
    'takes every moment for watched': rewrite(({ seen, schedules: all }, { mono, wall, boot }) =>
      seen === undefined
        ? { schedules: all }
        : { schedules: all, seen: { mono: mono - minute, wall: wall - minute, boot } },
    ),
    'trusts every clock': (of, memory, stamp) => scheduleTick(of, memory, { ...stamp, clock: 'synced' }),
  };

  it.each(Object.keys(defects))('fails for a reducer that %s', { timeout: 180_000 }, (name) => {
    const result = fc.check(lives(defects[name]!), { numRuns: 5 * runs, endOnFailure: true });
    expect(result.failed).toBe(true);
  });
});

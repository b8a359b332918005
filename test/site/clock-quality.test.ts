import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { watchClock } from '#site/clock-quality.ts';

const quiet = pino({ level: 'silent' });

describe('clock quality', () => {
  it('is doubtful before this version was written', () => {
    const watch = watchClock({ clock: manualClock(0), log: quiet, isSynchronised: () => true });
    expect(watch.current()).toBe('doubtful');
  });

  it('is synced while the time service says so, holdover otherwise', () => {
    let synchronised = true;
    const clock = manualClock();
    const watch = watchClock({ clock, log: quiet, isSynchronised: () => synchronised });
    expect(watch.current()).toBe('synced');
    synchronised = false;
    clock.advance(1000);
    expect(watch.current()).toBe('holdover');
  });

  it('asks the time service once a second at most, and after a step', () => {
    const clock = manualClock();
    let asked = 0;
    const isSynchronised = () => {
      asked += 1;
      return true;
    };
    const watch = watchClock({ clock, log: quiet, isSynchronised });
    for (let n = 0; n < 100; n += 1) expect(watch.current()).toBe('synced');
    expect(asked).toBe(1);
    clock.step(60_000);
    watch.current();
    expect(asked).toBe(2);
    clock.advance(1000);
    watch.current();
    expect(asked).toBe(3);
  });

  it('believes the cloud for a day: synced when it agrees, doubtful when it does not', () => {
    const clock = manualClock();
    const watch = watchClock({ clock, log: quiet, isSynchronised: () => false });
    watch.compare(200, 20);
    expect(watch.current()).toBe('synced');
    watch.compare(-60_000, 20);
    expect(watch.current()).toBe('doubtful');
    clock.advance(25 * 3_600_000);
    expect(watch.current()).toBe('holdover');
  });

  it('doubts a clock that differs from the cloud by more than a Date and a round trip can explain', () => {
    const watch = watchClock({ clock: manualClock(), log: quiet, isSynchronised: () => false });
    for (const [offsetMs, quality] of [
      [0, 'synced'],
      [-999, 'synced'],
      [900, 'synced'],
      [2_500, 'doubtful'],
      [-3_500, 'doubtful'],
    ] as const) {
      watch.compare(offsetMs, 20);
      expect(watch.current()).toBe(quality);
    }
  });

  it('takes no time from an answer that was long on its way', () => {
    const told: number[] = [];
    const watch = watchClock({
      clock: manualClock(Date.UTC(2026, 10, 27, 20)),
      log: quiet,
      isSynchronised: () => false,
      onTrusted: ({ wall }) => told.push(wall),
    });
    watch.compare(15_000, 29_600);
    expect(watch.current()).toBe('holdover');
    expect(told).toEqual([]);
  });

  it('forgets what the cloud said when the clock is set', () => {
    const clock = manualClock();
    const watch = watchClock({ clock, log: quiet, isSynchronised: () => false });
    watch.compare(0, 20);
    clock.advance(60_000);
    watch.check();
    expect(watch.current()).toBe('synced');
    clock.step(5000);
    expect(watch.current()).toBe('doubtful');
    watch.compare(0, 20);
    expect(watch.current()).toBe('synced');
  });

  it('is doubtful from the moment it was set, until somebody confirms it', () => {
    const clock = manualClock();
    let synchronised = false;
    const watch = watchClock({ clock, log: quiet, isSynchronised: () => synchronised });
    expect(watch.current()).toBe('holdover');
    clock.step(-3 * 3_600_000);
    expect(watch.current()).toBe('doubtful');
    clock.advance(600_000);
    expect(watch.current()).toBe('doubtful');
    synchronised = true;
    clock.advance(1000);
    expect(watch.current()).toBe('synced');
  });

  it('is doubtful while it is behind what is on record', () => {
    const clock = manualClock();
    const watch = watchClock({ clock, log: quiet, isSynchronised: () => false });
    watch.notBefore(clock.wall() + 60_000);
    expect(watch.current()).toBe('doubtful');
    clock.advance(60_000);
    expect(watch.current()).toBe('holdover');
  });
});

describe('the true time', () => {
  function watched(wallMs?: number, isSynchronised = false) {
    const clock = manualClock(wallMs);
    const told: { mono: number; wall: number; source: string }[] = [];
    const steps: number[] = [];
    const watch = watchClock({
      clock,
      log: quiet,
      isSynchronised: () => isSynchronised,
      onTrusted: (moment) => told.push(moment),
      onStep: () => steps.push(clock.wall()),
    });
    return { clock, watch, told, steps };
  }
  const now = Date.UTC(2026, 10, 27, 20);

  it('is told by the time service at each look', () => {
    const { clock, watch, told } = watched(now, true);
    watch.check();
    expect(told).toEqual([{ mono: clock.monotonic(), wall: now, source: 'ntp' }]);
  });

  it('is not told by a time service whose clock is in the past', () => {
    const { watch, told } = watched(1_000, true);
    watch.check();
    expect(told).toEqual([]);
  });

  it.each([
    ['is our own when the cloud says the same second', 900, 0],
    ['is our own when the cloud only counts down to its second', -1_800, 0],
    ['is that of the cloud, half a second on, when it differs', 3_600_000, 3_600_500],
    ['is that of the cloud also when it is behind', -86_400_000, -86_399_500],
  ])('%s', (_what, offsetMs, expectedMs) => {
    const { clock, watch, told } = watched(now);
    watch.compare(offsetMs, 20);
    expect(told).toEqual([{ mono: clock.monotonic(), wall: now + expectedMs, source: 'cloud' }]);
  });

  it('is not told against the cloud by the time service', () => {
    const { watch, told } = watched(now, true);
    watch.compare(3_600_000, 20);
    watch.check();
    expect(told.map(({ source }) => source)).toEqual(['cloud']);
  });

  it('is asked for again once after each step, before the next input is stamped', () => {
    const { clock, watch, steps } = watched(now);
    clock.step(5 * 86_400_000);
    expect(watch.current()).toBe('doubtful');
    watch.check();
    expect(steps).toEqual([clock.wall()]);
  });
});

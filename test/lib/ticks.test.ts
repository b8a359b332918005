import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import type { Part } from '#lib/health.ts';
import { createTicks, type Tick } from '#lib/ticks.ts';
import { sleep } from '#lib/wait.ts';

const realDate = Date;
let ticks: Part | undefined;
afterEach(async () => {
  globalThis.Date = realDate;
  await ticks?.stop();
});

/** Sets the wall clock of this process; timers go on. */
function setClock(offsetMs: number): void {
  globalThis.Date = class extends realDate {
    constructor(...args: [] | [number]) {
      super(...((args.length === 0 ? [realDate.now() + offsetMs] : args) as [number]));
    }
    static override now = () => realDate.now() + offsetMs;
  } as DateConstructor;
}

/** Every second, and how often it ran. */
async function started(more: Partial<Tick> = {}): Promise<{ count: number }> {
  const ran = { count: 0 };
  const run = () => {
    ran.count += 1;
  };
  ticks = createTicks({
    ticks: [{ name: 'count', cron: '* * * * * *', run, ...more }],
    log: pino({ level: 'silent' }),
  });
  await ticks.start(new AbortController().signal);
  return ran;
}

const yearMs = 365 * 24 * 3_600_000;

test.each([
  ['back by a year', -yearMs],
  ['forward by 56 years, as a box without a clock of its own is', 56 * yearMs],
])('ticks go on after the clock was set %s', async (_, offsetMs) => {
  const ran = await started();
  await expect.poll(() => ran.count, { timeout: 20_000 }).toBeGreaterThan(0);
  setClock(offsetMs);
  const before = ran.count;
  await expect.poll(() => ran.count, { timeout: 20_000 }).toBeGreaterThan(before + 2);
});

test('a tick that is wanted at once runs before the part has started', async () => {
  expect(await started({ cron: '0 0 1 1 *', atOnce: true })).toEqual({ count: 1 });
});

test('a tick that fails is tried again at its next time, and none comes after the stop', async () => {
  let count = 0;
  await started({
    run() {
      count += 1;
      throw new Error('this time not');
    },
  });
  await expect.poll(() => count, { timeout: 20_000 }).toBeGreaterThan(1);
  await ticks?.stop();
  const after = count;
  await sleep(2200, new AbortController().signal);
  expect(count).toBe(after);
});

test('a tick whose time cannot be told says so, is asked for again, and stops nobody else', async () => {
  let asked = 0;
  let ran = 0;
  let others = 0;
  const late: Tick = {
    name: 'late',
    get cron() {
      asked += 1;
      return asked === 1 ? 'no cron at all' : '* * * * * *';
    },
    run() {
      ran += 1;
    },
  };
  const other: Tick = {
    ...{ name: 'other', cron: '* * * * * *' },
    run() {
      others += 1;
    },
  };
  ticks = createTicks({ ticks: [late, other], log: pino({ level: 'silent' }) });
  await ticks.start(new AbortController().signal);
  expect(ticks.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('late') });
  await expect.poll(() => others, { timeout: 20_000 }).toBeGreaterThan(0);
  await expect.poll(() => ran, { timeout: 40_000 }).toBeGreaterThan(0);
  expect(ticks.health()).toMatchObject({ state: 'ok' });
}, 70_000);

test('the stop waits for what runs', async () => {
  const steps: string[] = [];
  let release = () => {};
  await started({
    run: () =>
      new Promise<void>((resolve) => {
        steps.push('begun');
        release = () => {
          steps.push('ended');
          resolve();
        };
      }),
  });
  await expect.poll(() => steps.length, { timeout: 20_000 }).toBe(1);
  const stopped = ticks?.stop().then(() => steps.push('stopped'));
  await sleep(50, new AbortController().signal);
  release();
  await stopped;
  expect(steps).toEqual(['begun', 'ended', 'stopped']);
});

import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { fieldTiming } from '#devices/onvif/timing.ts';
import { links, rig } from './harness.ts';
import { motion, soap } from './scripted-camera.ts';

const site = rig(afterEach);
afterEach(() => vi.useRealTimers());

it.each([
  ['that tells its states when asked', true, 1, 0],
  ['that never sends anything', false, 2, 1],
])('a quiet camera %s gets at most six requests a minute, all told', async (_, states, points, exceptions) => {
  // Time is ours, sockets are real: after each step everything that is under way comes through.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'hrtime'], now: Date.now() });
  const stepMs = 500;
  const one = await site.yard(
    {
      holdMs: 0,
      before: async ({ operation, body }) => {
        const holdS = /Timeout>PT(\d+)S</.exec(body)?.[1];
        if (operation === 'SetSynchronizationPoint' && states) {
          one.model.queue.push(motion(false, 'Initialized'));
          return { body: soap('<tev:SetSynchronizationPointResponse/>') };
        }
        if (operation === 'PullMessages' && one.model.queue.length === 0)
          await new Promise((resolve) => setTimeout(resolve, Number(holdS) * 1000));
        return undefined;
      },
    },
    {},
    { timing: fieldTiming },
  );
  const perMinute: number[] = [];
  for (let minute = 0; minute < 125; minute += 1) {
    const before = one.server.seen.length;
    for (let passed = 0; passed < 60_000; passed += stepMs) {
      await vi.advanceTimersByTimeAsync(stepMs);
      for (let turns = 0; turns < 4; turns += 1) await turn();
    }
    perMinute.push(one.server.seen.length - before);
  }
  expect(links(one.signals)).toEqual([true]);
  expect(one.model.made).toBe(points);
  // The first minute connects; a pull point is made anew after an hour in which nothing came at all.
  const [first = 0, ...others] = perMinute;
  expect(first).toBeLessThanOrEqual(20);
  expect(others.filter((count) => count > 6).length).toBe(exceptions);
  expect(Math.max(...others)).toBeLessThanOrEqual(14);
  expect(others.reduce((sum, count) => sum + count) / others.length).toBeGreaterThan(3);
  vi.useRealTimers();
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createCloudTrouble } from '#daemon/cloud-trouble.ts';
import type { Signal } from '#site/model/index.ts';

let told: [active: boolean, detail: string | undefined][];
let trouble: ReturnType<typeof createCloudTrouble>;
beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  trouble = createCloudTrouble({
    now: () => performance.now(),
    emit: async (signals: readonly Signal[]) => {
      for (const signal of signals) if (signal.kind === 'trouble') told.push([signal.active, signal.detail]);
    },
  });
});
afterEach(() => {
  trouble.stop();
  vi.useRealTimers();
});

const minute = 60_000;

it.each(['unauthorized', 'forbidden'] as const)('%s is a trouble at once', (kind) => {
  trouble.onLink(false, 'refused', kind);
  expect(told).toEqual([[true, 'refused']]);
});

it.each([
  ['intercepted', 2 * minute],
  ['unreachable', 3 * minute],
  ['busy', 3 * minute],
  ['clock', 3 * minute],
] as const)('%s is a trouble when it has lasted', (kind, ms) => {
  trouble.onLink(false, 'held', kind);
  vi.advanceTimersByTime(ms - 1);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([[true, 'held']]);
  trouble.onLink(true, 'open');
  expect(told.at(-1)).toEqual([false, 'open']);
});

it('counts from the beginning of the hold, whatever its kind becomes', () => {
  trouble.onLink(false, 'no route', 'unreachable');
  vi.advanceTimersByTime(2 * minute + 1);
  trouble.onLink(false, 'a page', 'intercepted');
  expect(told).toEqual([[true, 'a page']]);
});

it('is none when the line is back in time', () => {
  trouble.onLink(false, 'no route', 'unreachable');
  vi.advanceTimersByTime(minute);
  trouble.onLink(true, 'open');
  vi.advanceTimersByTime(10 * minute);
  expect(told).toEqual([[false, 'open']]);
});

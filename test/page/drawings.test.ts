import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { drawings } from '#lan/page/drawings.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first is drawn with the next frame, and then a few a second however many are asked for', () => {
  const soon = drawings({ isShown: () => true, frame: (draw) => void setTimeout(draw, 16) });
  let drawn = 0;
  let isAsked = false;
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    soon(() => {
      isAsked = false;
      drawn += 1;
    });
  };
  ask();
  vi.advanceTimersByTime(16);
  expect(drawn).toBe(1);
  for (let ms = 0; ms < 2000; ms += 5) {
    ask();
    vi.advanceTimersByTime(5);
  }
  expect(drawn).toBeGreaterThanOrEqual(8);
  expect(drawn).toBeLessThanOrEqual(11);
});

test('a page that nobody sees draws within a second, without a frame', () => {
  const drawn = vi.fn();
  drawings({ isShown: () => false, frame: () => undefined })(drawn);
  vi.advanceTimersByTime(1000);
  expect(drawn).toHaveBeenCalledOnce();
});

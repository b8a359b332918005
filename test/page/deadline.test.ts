import { expect, test, vi } from 'vitest';
import { deadlineOf } from '#lan/page/deadline.ts';

test('a deadline ends when nothing has come for its time, or with the first signal and its reason', () => {
  vi.useFakeTimers();
  try {
    const late = deadlineOf(1000);
    vi.advanceTimersByTime(999);
    expect(late.signal.aborted).toBe(false);
    late.moved(500);
    vi.advanceTimersByTime(499);
    expect(late.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(late.signal.reason).toMatchObject({ name: 'TimeoutError' });

    const [one, other] = [new AbortController(), new AbortController()];
    const either = deadlineOf(1000, one.signal, other.signal);
    other.abort('left');
    one.abort('later');
    expect(either.signal.reason).toBe('left');
    expect(deadlineOf(1000, one.signal).signal.reason).toBe('later');
    deadlineOf(1000).clear();
    late.moved(1000);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

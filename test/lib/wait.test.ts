import { describe, expect, it } from 'vitest';
import { wakeup } from '#lib/wait.ts';

const never = new AbortController().signal;

describe('a wakeup', () => {
  it('resolves at once when it was woken before, and once only for several calls', async () => {
    const latch = wakeup();
    latch.wake();
    latch.wake();
    await latch.wait(60_000, never);
    const abort = new AbortController();
    const second = latch.wait(60_000, abort.signal);
    abort.abort(new Error('nobody woke it'));
    await expect(second).rejects.toThrow('nobody woke it');
  });

  it('resolves when it is woken while somebody waits, and after its time', async () => {
    const latch = wakeup();
    const waiting = latch.wait(60_000, never);
    latch.wake();
    await waiting;
    await latch.wait(1, never);
  });

  it('rejects with the reason of a signal that has aborted, pending or not', async () => {
    const latch = wakeup();
    latch.wake();
    await expect(latch.wait(1, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});

import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { unlessAborted, wakeup } from '#lib/wait.ts';

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

describe('work that may be left', () => {
  it('gives what the work gives, or why it was left, and leaves no listener on the signal', async () => {
    const abort = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), abort.signal)).toBe(1);
    await expect(unlessAborted(Promise.reject(new Error('failed')), abort.signal)).rejects.toThrow('failed');
    await Promise.resolve();
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    const left = unlessAborted(new Promise(() => undefined), abort.signal);
    abort.abort(new Error('stopped'));
    await expect(left).rejects.toThrow('stopped');
    await expect(unlessAborted(Promise.resolve(1), abort.signal)).rejects.toThrow('stopped');
  });
});

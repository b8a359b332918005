import { describe, expect, it } from 'vitest';
import { wakeup } from '#lib/wait.ts';

const never = new AbortController().signal;

describe('a wakeup', () => {
  it('wakes who waits', async () => {
    const { wake, wait } = wakeup();
    const waiting = wait(60_000, never);
    wake();
    await waiting;
  });

  it('is remembered when nobody waits, once however often it was called', async () => {
    const { wake, wait } = wakeup();
    wake();
    wake();
    await wait(60_000, never);
    let woken = false;
    const second = wait(60_000, never).then(() => {
      woken = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(woken).toBe(false);
    wake();
    await second;
  });

  it('ends by itself after the time', async () => {
    await wakeup().wait(1, never);
  });

  it('rejects with the reason of the signal, before and while it waits', async () => {
    const { wait } = wakeup();
    const own = new AbortController();
    const waiting = wait(60_000, own.signal);
    own.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(wait(60_000, own.signal)).rejects.toThrow('enough');
  });
});

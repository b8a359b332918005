import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CrashSite, startCrashSite } from './durable/crash-site.ts';

/** As `crash-points.test.ts`, for events the cloud refuses. A refused one is tried again after a minute. */
let site: CrashSite;
beforeAll(async () => {
  site = await startCrashSite();
});
afterAll(() => site?.close());

describe('a daemon that ends', () => {
  it('while it parks an event, and while a technician puts parked ones back in line, loses none', {
    timeout: 180_000,
  }, async () => {
    await site.refuse(true);
    let burglaries = 0;
    // Those of the first burglary are parked when one of the second is decided.
    const busy = async () => {
      if (burglaries < 2) await site.burglary();
      burglaries += 1;
      await pause(1000);
    };
    await site.runInto('park.decided', { busy, nth: 4, timeoutMs: 100_000 });
    const parked = async () => {
      const { outbox } = (await site.api('/api/v1/status')) as { outbox: { parked: number } };
      return outbox.parked;
    };
    await site.daemon.restart();
    const before = await parked();
    expect(before).toBeGreaterThan(0);
    await site.runInto('retry.rows', { busy: site.retryParked });
    await site.refuse(false);
    await site.daemon.restart();
    expect(await parked()).toBe(before);
    await site.retryParked();
    await site.nothingIsLost();
    expect(await parked()).toBe(0);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { fakeStatus } from '#lan/http/port.fake.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { sharedStatus } from '../../src/daemon/shared-status.ts';

/** As many documents as were made carry their number. */
const clock = manualClock();
let made: number;
let news: number | undefined;
let arming: string;
let failing: boolean;
let status: () => Promise<{ uptime_s: number }>;

beforeEach(() => {
  [made, news, arming, failing] = [0, 0, 'armed', false];
  status = sharedStatus(
    async () => {
      made += 1;
      if (failing) throw new Error('no view');
      return { ...fakeStatus, uptime_s: made };
    },
    {
      ...{ clock, news: () => news },
      arming() {
        if (arming === '') throw new Error('stopped');
        return arming;
      },
    },
  );
});

const number = async () => (await status()).uptime_s;

describe('the shared status document', () => {
  it('is one for all who ask within a twentieth of a second, while it is made too', async () => {
    expect(await Promise.all([number(), number()])).toEqual([1, 1]);
    clock.advance(49);
    expect(await number()).toBe(1);
    clock.advance(1);
    expect(await number()).toBe(2);
  });

  it('is made anew for whoever asks after the arming was published as another', async () => {
    const before = status();
    [news, arming] = [1, 'disarmed'];
    expect(await number()).toBe(2);
    expect((await before).uptime_s).toBe(1);
    expect(await number()).toBe(2);
  });

  it('is not made anew by news of which nobody may know', async () => {
    await number();
    news = 1;
    expect(await number()).toBe(1);
    news = 2;
    arming = 'disarmed';
    expect(await number()).toBe(2);
  });

  it('is not shared while nobody counts what is published, and a failure is not kept', async () => {
    news = undefined;
    expect([await number(), await number()]).toEqual([1, 2]);
    [news, failing] = [0, true];
    await expect(status()).rejects.toThrow('no view');
    failing = false;
    expect(await number()).toBe(4);
  });

  it('is refused while the site cannot be seen, and nothing is left under way', async () => {
    failing = true;
    const seen = arming;
    arming = '';
    await expect(status()).rejects.toThrow('stopped');
    expect(made).toBe(0);
    [arming, failing] = [seen, false];
    expect(await number()).toBe(1);
  });
});

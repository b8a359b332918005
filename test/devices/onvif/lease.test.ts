import { expect, it } from 'vitest';
import { leaseOf, longestPullMs } from '#devices/onvif/lease.ts';

const pullMs = 20_000;

it.each([30, 60, 180, 600, 3600])(
  'a pull point for %i s that cannot be renewed is replaced before the camera forgets it',
  (seconds) => {
    for (let beganAt = 0; beganAt < pullMs; beganAt += 500) {
      const lease = { ...leaseOf(seconds * 1000, 0), renewable: false };
      let now = beganAt;
      while (now < lease.replaceAt) now += Math.min(pullMs, longestPullMs(lease, now));
      expect(now).toBeLessThan(lease.endsAt);
    }
  },
);

it('one that is renewed is not asked for less', () => {
  const lease = leaseOf(60_000, 0);
  expect(longestPullMs(lease, 50_000)).toBe(30_000);
});

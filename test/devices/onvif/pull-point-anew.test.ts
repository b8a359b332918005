import { afterEach, expect, it } from 'vitest';
import { links, rig, until } from './harness.ts';
import { fault } from './scripted-camera.ts';

const site = rig(afterEach);

it('a pull point that cannot be renewed is replaced by another one with nothing asked in between', async () => {
  const one = await site.yard({
    grantedMs: 1200,
    before: ({ operation }) => (operation === 'Renew' ? fault('ActionNotSupported', '') : undefined),
  });
  await until(() => one.server.count('CreatePullPointSubscription') >= 3, 'the third pull point');
  const asked = one.server.seen.map(({ operation }) => operation);
  const ends = asked.flatMap((operation, at) => (operation === 'Unsubscribe' ? [at] : []));
  expect(ends.length).toBeGreaterThanOrEqual(2);
  for (const at of ends.slice(0, 2)) expect(asked[at + 1]).toBe('CreatePullPointSubscription');
  expect(one.server.count('GetDeviceInformation')).toBe(1);
  expect(one.model.live.size).toBeLessThanOrEqual(1);
  expect(links(one.signals)).toEqual([true]);
});

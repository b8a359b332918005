import { expect, it } from 'vitest';
import type { ArmingSyncShown } from '#cloud/sync/index.ts';
import type { SiteView } from '#site/model/index.ts';
import { armingSyncStatus } from '../../src/daemon/arming-sync.ts';

const shown: ArmingSyncShown = { mode: 'two-way', cloud: 'disarmed', site: 'unknown', agreed: false };
const quiet = { id: 'p1', state: 'disarmed', mode: null, stale: false };
const status = (partition: object, more: Partial<ArmingSyncShown> = {}) =>
  armingSyncStatus(
    {
      plan: { securityType: 3 },
      partitions: [
        { ...quiet, ...partition },
        { ...quiet, id: 'p2' },
      ],
    } as unknown as SiteView,
    { ...shown, ...more },
    { dealer_id: '1', id: '101' },
  );

it.each<[string, object, string]>([
  ['a fire in a disarmed site', { state: 'triggered' }, 'the alarm in p1 hides whether it is armed'],
  ['a panel that is away', { state: 'armed_away', stale: true }, 'nobody knows whether p1 is armed'],
  ['a partition nobody has heard of', { state: 'unknown' }, 'nobody knows whether p1 is armed'],
  ['an exit delay', { state: 'arming', mode: 'away' }, 'the exit delay of p1 runs'],
])('says why the cloud is not told during %s', (_what, partition, said) => {
  expect(status(partition).reasons).toEqual([expect.stringContaining(said)]);
  expect(status(partition, { reason: 'the cloud cannot be reached' }).reasons).toEqual(['the cloud cannot be reached']);
  expect(status(partition, { agreed: true }).reasons).toEqual([]);
  expect(status(partition, { mode: 'mirror' }).reasons).toEqual([]);
});

it('names the path to the site, for the call that activates it', () => {
  expect(status({})).toMatchObject({ dealer_id: '1', site_id: '101', reasons: [] });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { isEvent } from './gate.ts';
import { fireIn, type Rig, smoke, smokes, startRig } from './rig.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ broker: 'embedded', sections: smokes });
});
afterAll(() => rig?.close());

/** The states of the trouble as the LAN heard them. */
const told = () =>
  rig.lan.heard
    .filter(({ topic }) => topic === 'event/trouble')
    .map(({ payload }) => JSON.parse(payload) as { kind: string; status: string; source: string })
    .filter(({ kind, source }) => kind === 'comm_fail' && source === 'bridge:siteward')
    .map(({ status }) => status);

it('a cloud that permits nothing is a trouble of the site at once, stored, and over when it permits again', async () => {
  rig.gate.rule = (request) => (isEvent(request) ? { status: 403, body: '{"message":"not connected"}' } : undefined);
  await smoke(rig.lan, 2);
  await eventually('the trouble on the LAN', () => (told().includes('active') ? true : undefined));
  expect((await rig.cloud.events()).filter(fireIn('2'))).toEqual([]);
  rig.gate.rule = () => undefined;
  // Whoever has set the permission right does not wait for the next try.
  process.kill(rig.daemon.pid, 'SIGHUP');
  await rig.cloudHas('the event during the hold', fireIn('2'));
  await eventually('the restore on the LAN', () => (told().includes('restored') ? true : undefined));
  expect(told()).toEqual(['active', 'restored']);
  const pair = await eventually('both in the cloud', async () => {
    const found = (await rig.cloud.events()).filter(({ payload }) => payload.kind === 'comm_fail');
    return found.length === 2 ? found : undefined;
  });
  expect(pair.map(({ payload }) => payload)).toMatchObject([{ status: 'active' }, { status: 'restored' }]);
  expect(pair[0]?.payload).toMatchObject({
    contact_id: '350',
    data: { detail: expect.stringContaining('403') },
  });
});

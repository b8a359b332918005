import { expect, test } from 'vitest';
import type { DevicePlan, DeviceSyncShown, Wanted } from '#cloud/sync/index.ts';
import type { CloudDevices } from '#daemon/cloud-devices.ts';
import { cloudDevicesPort, cloudDevicesStatus, shownPlan } from '#daemon/cloud-devices-port.ts';
import { deviceHints } from '#daemon/device-advice.ts';
import { SitewardError } from '#errors.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { minimal, settings } from '../config/fixture.ts';

const cloud = `cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { env: CODE_A } }
  partner: { client_id: partner-1, client_secret: { env: CODE_B } }
  devices: manual
`;
const withCloud = () => settings(minimal.replace('id: "4711"', 'id: "4711", dealer_id: "17"') + cloud);
const wanted: Wanted = {
  devices: [
    { external_device_id: 'sw-1', device_type: 'bridge', name: 'Shop', furtherZones: [] },
    { external_device_id: 'yard', device_type: 'camera', name: 'Yard', furtherZones: [] },
    { external_device_id: 'gate', device_type: 'camera', name: 'Gate', furtherZones: [] },
  ],
  nvrs: [{ external_nvr_id: 'rec', name: 'Recorder', devices: [] }],
  reserved: ['9'],
};
const shown: DeviceSyncShown = {
  state: 'behind',
  inStepAt: 0,
  ids: { 'sw-1': '100', yard: '101' },
  left: { old: '99' },
  held: [
    { external_id: 'gate', kind: 'device', reason: 'refused', status: 400, message: 'name: too long' },
    { external_id: 'rec', kind: 'nvr', reason: 'waiting', message: 'the cloud is busy' },
  ],
};
const emptyPlan: DevicePlan = {
  ...{ create: [], update: [], unchanged: [], absent: [], zones: [] },
  ...{ nvrs: { create: [], update: [], attach: [] }, held: [] },
};
const done = { created: ['gate'], updated: [], nvrs: { created: [], updated: ['rec'], attached: [] }, shown };
const part = (replaced: Partial<CloudDevices> = {}) =>
  ({
    shown: () => shown,
    wanted: () => wanted,
    plan: async () => emptyPlan,
    sync: async () => done,
    ...replaced,
  }) as unknown as CloudDevices;
const by = { source: 'lan', client: 'account:ada', address: '192.0.2.7' } as const;
const { signal } = new AbortController();

function port(devices: CloudDevices | undefined, from = withCloud()) {
  const notes: AuditDraft[] = [];
  const made = cloudDevicesPort({
    house: { devices },
    settings: () => from,
    note: async (one) => void notes.push(one),
  });
  return { ...made, notes };
}

test('each device is listed with its id in the cloud and how far it is, those the configuration has no more behind', () => {
  const { items, ...head } = port(part()).list();
  expect(head).toEqual({ mode: 'manual', state: 'behind', in_step_at: '1970-01-01T00:00:00.000Z' });
  expect(items.map((one) => [one.external_id, one.kind, one.cloud_id, one.state])).toEqual([
    ['sw-1', 'bridge', '100', 'known'],
    ['yard', 'camera', '101', 'known'],
    ['gate', 'camera', null, 'refused'],
    ['rec', 'nvr', null, 'waiting'],
    ['old', null, '99', 'absent'],
  ]);
  expect(cloudDevicesStatus({ devices: part() }, withCloud())).toMatchObject({ wanted: 4, known: 2, held: 2 });
});

test('without a way to the site in the cloud it says what is missing, and does nothing', async () => {
  const none = port(undefined, settings(minimal));
  expect(none.list()).toMatchObject({ state: 'off', reason: expect.stringContaining('no cloud'), items: [] });
  const wish = { dry_run: false, again: false, register_lost: false };
  await expect(none.sync(wish, by, signal)).rejects.toMatchObject({ code: 'config_fixed' });
  await expect(none.plan(signal)).rejects.toMatchObject({ code: 'config_fixed' });
  await expect(port(undefined).plan(signal)).rejects.toMatchObject({ code: 'stopped' });
  expect(cloudDevicesStatus({ devices: undefined }, withCloud())).toBeUndefined();
});

test('who had the cloud told stands in the audit log, with what came of it; a dry run tells nobody', async () => {
  const some = port(part());
  expect(await some.sync({ dry_run: true, again: false, register_lost: false }, by, signal)).toMatchObject({
    dry_run: true,
    plan: {},
  });
  expect(some.notes).toEqual([]);
  expect(await some.sync({ dry_run: false, again: true, register_lost: false }, by, signal)).toMatchObject({
    done: { created: ['gate'] },
  });
  const failing = part({ sync: async () => Promise.reject(new SitewardError('cloud_not_found', 'no such site')) });
  const other = port(failing);
  await expect(other.sync({ dry_run: false, again: false, register_lost: false }, by, signal)).rejects.toMatchObject({
    code: 'cloud_not_found',
  });
  expect([...some.notes, ...other.notes]).toMatchObject([
    { actor_ref: 'account:ada', outcome: 'done', after: '1 created, 1 changed, 2 held' },
    { action: 'cloud_devices_sync', outcome: 'failed', reason: 'cloud_not_found' },
  ]);
});

test('safety 4: a plan shows no number of a zone for silent calls, and no change that is only of one', () => {
  const zones = (from: string, to: string) => ({ additional_zone_numbers: { from, to } });
  const update = [
    { device_id: '100', external_device_id: 'sw-1', changes: zones('1, 9', '1') },
    { device_id: '101', external_device_id: 'yard', changes: zones('3,9', '3,4') },
    { device_id: '102', external_device_id: 'gate', changes: { name: { from: '9', to: 'Gate' } } },
  ];
  const plan = shownPlan({ ...emptyPlan, update }, ['9']);
  expect(plan.update.map(({ external_device_id, changes }) => [external_device_id, changes])).toEqual([
    ['yard', zones('3', '3,4')],
    ['gate', { name: { from: '9', to: 'Gate' } }],
  ]);
  expect(shownPlan({ ...emptyPlan, update: update.slice(0, 1) }, ['9']).in_step).toBe(true);
  expect(shownPlan({ ...emptyPlan, update: update.slice(0, 1) }).in_step).toBe(false);
});

test('what needs somebody is a hint, what is tried again by itself is none', () => {
  const hints = deviceHints({ devices: part() }, 0);
  expect(hints).toMatchObject([
    { device: 'device gate', text: expect.stringMatching(/name: too long\..*siteward device sync/), values: ['400'] },
  ]);
  const many = Array.from({ length: 40 }, (_, n) => ({ ...shown.held[0], external_id: `c${n}` }));
  const all = deviceHints({ devices: part({ shown: () => ({ ...shown, held: many as typeof shown.held }) }) }, 0);
  expect(all.length).toBeLessThan(10);
});

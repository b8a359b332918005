import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudDeviceList, DevicePlanShown, StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { camera, cameraPassword, code, type Site, startSite } from '../harness/site.ts';
import { onTerminal } from './on-terminal.ts';
import { siteward } from './run-cli.ts';

const secret = 'correct horse battery';
const foreign = { device_type: 'camera', external_device_id: 'old-gate', name: 'Old gate', zone_number: '21' } as const;
const place = {
  ...{ site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' },
  devices: [foreign],
};
const dealer = { dealer_id: 17, external_dealer_id: 'active', sites: [place] };
const devicesPath = '/partner/v1/dealers/17/sites/4711/devices';

/** Of the configuration, as they are now. */
const lines = { cameras: '', nvrs: 'nvrs: []' };
let second: string | undefined;
let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    cameras: ['first', 'second'],
    siteYaml: 'id: "4711", dealer_id: "17", name: Shop',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    env: { PARTNER: secret },
    async prepare(cloud) {
      await cloud.control('dealers', { method: 'POST', body: dealer });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
    yaml({ cameras }) {
      second = cameras.second;
      lines.cameras = camera('yard', cameras.first, 'name: Yard, zone: "21"');
      return `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - { id: main, profile: pai, vars: { b: paradox }, zones: { "10": { type: perimeter }, "2": { type: entry_exit_1 }, "9": { type: panic_silent } } }
cameras:
${lines.cameras}
${lines.nvrs}
`;
    },
  });
}, 120_000);
afterAll(() => site?.close());

const env = { PARTNER: secret, HARNESS_CODE: code, CAMERA_PASSWORD: cameraPassword };
const device = (verb: string, ...args: string[]) => {
  const socket = verb === 'show' ? [] : ['--socket', site.socket];
  const where = ['plan', 'sync'].includes(verb) ? socket : ['--config', site.config, ...socket];
  return siteward(['device', verb, ...args, ...where], env);
};
const known = async () => (await site.api('/api/v1/cloud/devices')) as CloudDeviceList;
const status = async () => (await site.api('/api/v1/status')) as StatusDocument;
const posted = async () => {
  const { log } = (await site.cloud.control('log')) as { log: { method: string; path: string }[] };
  return log.filter(({ method, path }) => method !== 'GET' && path.startsWith(devicesPath)).length;
};
interface Row {
  readonly device_id: string;
  readonly external_device_id: string;
  readonly zone_number: string;
  readonly additional_zone_numbers?: string;
  readonly serial_number?: string;
  readonly name: string;
  readonly of_this_bridge: boolean;
}
async function rows(): Promise<Map<string, Row>> {
  const { code: ended, out } = await device('list', '--json');
  expect(ended).toBe(0);
  const found = out.split('\n').filter((line) => line !== '');
  return new Map(found.map((line) => JSON.parse(line) as Row).map((row) => [row.external_device_id, row]));
}
const inStep = (count: number) =>
  eventually('the cloud knows all devices', async () => {
    const { state, items } = await known();
    const there = items.filter((one) => one.state === 'known');
    return state === 'in_step' && there.length === count && items.length === count ? items : undefined;
  });
/** Takes another line into the configuration. */
function change(key: keyof typeof lines, next: string): void {
  const text = readFileSync(site.config, 'utf8');
  expect(text).toContain(lines[key]);
  writeFileSync(site.config, text.replace(lines[key], next));
  lines[key] = next;
  site.daemon.reload();
}
const recorder = (...channels: string[]) =>
  `nvrs: [ { id: rec, name: Recorder, url: "http://127.0.0.1:9/onvif/device_service", channels: [ ${channels
    .map((id, index) => `{ id: ${id}, position: ${index + 1} }`)
    .join(', ')} ] } ]`;

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('after the start the cloud knows the bridge and its cameras, and a number that was taken is given to none of them', async () => {
  await inStep(2);
  const found = await rows();
  expect(found.get('sw-proof')).toMatchObject({ name: 'Shop', zone_number: '2', additional_zone_numbers: '10' });
  expect(found.get('yard')).toMatchObject({ name: 'Yard', serial_number: expect.stringMatching(/\S/) });
  expect(found.get('old-gate')).toMatchObject({ zone_number: '21', name: 'Old gate', of_this_bridge: false });
  const numbers = [...found.values()].map(({ zone_number }) => zone_number);
  expect(new Set(numbers).size).toBe(3);
  // Of a silent hold-up (safety 4).
  expect(numbers).not.toContain('9');
  expect((await status()).cloud?.devices).toMatchObject({
    mode: 'automatic',
    state: 'in_step',
    wanted: 2,
    known: 2,
    held: 0,
  });
  const audit = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  expect(audit.out).toMatch(/"cloud_devices_told"[^\n]*yard/);
  const shown = await siteward(['status', '--socket', site.socket]);
  expect(shown.out).toContain('devices in the cloud: 2 of 2 known, in step');
}, 120_000);

test('told again, nothing is written, and the plan says so', async () => {
  const before = await posted();
  for (let time = 0; time < 2; time += 1) {
    const { code: ended, out } = await device('sync');
    expect([ended, out]).toEqual([0, expect.stringContaining('nothing was to be told')]);
  }
  const { code: ended, out } = await device('plan');
  expect(ended).toBe(0);
  expect(out).toMatch(/^0 to create, 0 to change, 2 as they are, 0 held, 1 left alone\n/);
  expect(out).toMatch(/left alone: .*nothing is deleted by itself\n +\d+ +old-gate +Old gate/);
  expect(await posted()).toBe(before);
}, 60_000);

test('a camera that is replaced keeps its id in the cloud, and is told as what it is now', async () => {
  const before = (await rows()).get('yard');
  change('cameras', camera('yard', second, 'name: Yard, zone: "21"'));
  const after = await eventually('the new camera is told', async () => {
    const row = (await rows()).get('yard');
    return row?.serial_number === before?.serial_number ? undefined : row;
  });
  expect(after).toMatchObject({ device_id: before?.device_id, zone_number: before?.zone_number });
  await inStep(2);
}, 90_000);

test('a recorder and its channel are told once, also where the reply was lost', async () => {
  await site.cloud.control('faults', {
    method: 'POST',
    body: { path: devicesPath, method: 'POST', mode: 'reset', when: 'after', count: 1 },
  });
  change('nvrs', recorder('door'));
  await inStep(4);
  const raw = await siteward(['api', 'list-devices', '17', '4711', '--json', '--config', site.config], env);
  const ids = (JSON.parse(raw.out) as Row[]).map((row) => row.external_device_id);
  expect(ids.toSorted()).toEqual(['door', 'old-gate', 'sw-proof', 'yard']);
  const { out } = await siteward(['nvr', 'list', '--json', '--socket', site.socket]);
  expect(JSON.parse(out)).toMatchObject({
    external_id: 'rec',
    kind: 'nvr',
    state: 'known',
    cloud_id: expect.any(String),
  });
}, 90_000);

test('what the cloud refuses is held with its reason, shown with what to do, and tried again when somebody says so', async () => {
  const refusal = { is_successful: false, status_code: 400, error_message: 'name: is not liked here' };
  await site.cloud.control('faults', {
    method: 'POST',
    body: {
      ...{ path: devicesPath, method: 'POST', mode: 'garbage', when: 'before', status: 201, count: -1 },
      headers: { 'content-type': 'application/json' },
      body: { success_count: 0, failure_count: 1, results: [{ ...refusal, req: { external_device_id: 'gate' } }] },
    },
  });
  change('nvrs', recorder('door', 'gate'));
  await eventually('it is held', async () =>
    (await known()).items.find(({ external_id, state }) => external_id === 'gate' && state === 'refused'),
  );
  const plan = await device('plan');
  expect(plan.code).toBe(1);
  expect(plan.out).toMatch(/held\n +gate: refused \(400\): name: is not liked here\n +Change what it names/);
  const { in_step, held } = JSON.parse((await device('plan', '--json')).out) as DevicePlanShown;
  expect([in_step, held]).toEqual([false, [expect.objectContaining({ external_id: 'gate', status: 400 })]]);
  const hint = (await status()).hints.find((one) => one.device === 'device gate');
  expect(hint?.text).toContain('name: is not liked here');
  expect((await device('sync')).code).toBe(1);
  const listed = await device('list');
  expect(listed.out).toMatch(/held\n +gate: refused \(400\): name: is not liked here\n +Change what it names/);
  // The daemon that starts anew knows it, and does not send it again.
  const before = await posted();
  await site.daemon.restart();
  await eventually('the cloud was asked', async () => ((await known()).state === 'behind' ? true : undefined));
  expect((await known()).items).toContainEqual(
    expect.objectContaining({ external_id: 'gate', state: 'refused', status: 400 }),
  );
  expect(await posted()).toBe(before);
  await site.cloud.control('faults', { method: 'DELETE' });
  const { code: ended, out } = await device('sync', '--again');
  expect([ended, out]).toEqual([0, expect.stringMatching(/created +gate/)]);
  await inStep(5);
}, 90_000);

test('what of the cloud is not of this bridge is changed by hand; its own is not', async () => {
  expect(await device('set', 'yard', '--name', 'Court')).toMatchObject({
    code: 65,
    err: expect.stringContaining('change its name'),
  });
  expect((await device('set', 'old-gate', '--zone', '2')).err).toContain('the zone number 2 is not free');
  expect((await device('set', 'old-gate', '--name', 'Gate', '--dry-run')).out).toMatch(/Old gate -> +Gate/);
  expect((await device('show', 'old-gate')).out).toContain('Old gate');
  expect(await device('set', 'old-gate', '--name', 'Gate')).toMatchObject({ code: 0 });
  expect((await rows()).get('old-gate')?.name).toBe('Gate');
  const audit = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  const { device_id: id } = (await rows()).get('old-gate') as Row;
  expect(audit.out).toContain(`"target":"cloud site 4711 ${id}","action":"cloud_device_changed"`);
}, 120_000);

test('what of the cloud is not of this bridge is deleted by hand; its own is not', async () => {
  expect(await device('delete', 'yard', '--yes', 'Proof')).toMatchObject({
    code: 65,
    err: expect.stringContaining('siteward camera remove yard'),
  });
  const unasked = await device('delete', 'old-gate');
  expect(unasked).toMatchObject({ code: 2, err: expect.stringMatching(/old-gate[\s\S]*--yes "Proof"/) });
  expect(await device('delete', 'old-gate', '--yes', 'old-gate')).toMatchObject({ code: 2 });
  expect((await rows()).has('old-gate')).toBe(true);
  const args = ['device', 'delete', 'old-gate', '--config', site.config, '--socket', site.socket];
  const typed = await onTerminal(args, [['Type Proof to go on:', 'Proof']], env);
  expect(typed).toMatchObject({ code: 0, shown: expect.stringContaining('1 device deleted') });
  expect((await rows()).has('old-gate')).toBe(false);
  expect(await device('show', 'old-gate')).toMatchObject({ code: 66 });
  // The number is free now, and is what the configuration says.
  expect(await device('sync')).toMatchObject({ code: 0 });
  expect((await rows()).get('yard')?.zone_number).toBe('21');
}, 120_000);

test('a site that is deleted in the cloud is said, and its protection goes on', async () => {
  const where = ['--config', site.config, '--socket', site.socket];
  expect(await siteward(['api', 'get-site', '17', '4711', ...where], env)).toMatchObject({ code: 0 });
  expect(await siteward(['api', 'delete-site', '17', '4711', '--yes', ...where], env)).toMatchObject({ code: 0 });
  const audit = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  const called = audit.out.split('\n').filter((line) => line.includes('"cloud_operation_called"'));
  expect(called).toEqual([expect.stringContaining('"target":"cloud site 4711 delete-site 17 4711"')]);
  const asked = await device('sync');
  expect(asked).toMatchObject({ code: 66, err: expect.stringContaining('site_gone') });
  expect((await status()).cloud?.devices).toMatchObject({ state: 'gone', known: 5 });
  expect((await known()).items.map(({ cloud_id }) => cloud_id)).not.toContain(null);
  await eventually('the trouble', async () => (await status()).troubles.find(({ kind }) => kind === 'site_gone'));
  // Its panel has never been heard.
  await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
  await eventually('it is armed', async () =>
    (await status()).partitions[0]?.state === 'armed_away' ? true : undefined,
  );
}, 120_000);

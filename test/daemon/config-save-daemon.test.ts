import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConfigSaved, cameraList, configShown, deviceList, partitionList } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { code, type Site, startSite } from '../harness/site.ts';

const password = 'harness-camera-password';

let site: Site;
let address: string;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    cameras: ['yard'],
    siteYaml: 'id: "4711", security_type: 3',
    yaml({ cameras }) {
      address = String(cameras.yard);
      return `
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ] # one
# None yet.
`;
    },
  });
});
afterAll(async () => {
  await site?.close();
});

const ask = (method: string, path: string, body?: unknown) => askSocket(site.socket, method, path, body);

const shown = async () => configShown.parse((await ask('GET', '/api/v1/config')).body);
const change = async (changes: unknown, more: object = {}) =>
  ask('POST', '/api/v1/config/changes', { version: (await shown()).version, changes, ...more });
const devices = async () => deviceList.parse((await ask('GET', '/api/v1/devices')).body).items.map(({ id }) => id);
const untilIt = (is: string) =>
  eventually(is, async () => {
    const { items } = partitionList.parse((await ask('GET', '/api/v1/partitions')).body);
    expect(items.map(({ state }) => state)).toEqual([is]);
    return true;
  });
const secrets = () => {
  const folder = join(site.folder, 'secrets');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};
const camera = () => ({
  id: 'yard',
  url: address,
  username: 'siteward',
  password: { secret: password },
  partition: 'p1',
  zone: '21',
});

test('a camera is saved, taken and seen; its password stands nowhere but in its own file', async () => {
  const before = readFileSync(site.config, 'utf8');
  const adding = [{ do: 'add', section: 'cameras', entry: camera() }];
  const dry = await change(adding, { dry_run: true });
  expect(dry).toMatchObject({ status: 200, body: { written: false, sections: ['cameras'] } });
  expect(await devices()).not.toContain('yard');
  const { status, body } = await change(adding);
  expect([status, body]).toEqual([200, expect.objectContaining({ written: true, taken: true, sections: ['cameras'] })]);
  expect((body as ConfigSaved).version).toBe((await shown()).version);
  expect(await devices()).toContain('yard');
  await eventually('the camera', async () => {
    const { items } = cameraList.parse((await ask('GET', '/api/v1/cameras')).body);
    return items.some(({ id, events }) => id === 'yard' && events === true) || undefined;
  });
  const after = readFileSync(site.config, 'utf8');
  expect(after.startsWith(before)).toBe(true);
  const path = join(site.folder, 'secrets', 'camera-yard');
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual([`${password}\n`, 0o600]);
  expect(readFileSync(`${site.config}.bak`, 'utf8')).toBe(before);
  const { body: audit } = await ask('POST', '/api/v1/audit/entries', { limit: 50 });
  expect(audit).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ action: 'config_saved', after: 'cameras' })]),
  });
  const told = JSON.stringify([dry, body, audit, await shown(), site.daemon.lines()]) + after;
  expect(told).not.toContain(password);
});

test('what would be wrong is told field by field; a file that was changed meanwhile stays', async () => {
  const wrong = await change([
    { do: 'change', section: 'cameras', id: 'yard', members: { zone_type: 'x' } },
    { do: 'set', section: 'media', members: { snapshots: 99 } },
  ]);
  expect(wrong.status).toBe(400);
  const { code: said, errors } = wrong.body as { code: string; errors?: { field: string }[] };
  expect([said, errors?.map(({ field }) => field)]).toEqual([
    'config_invalid',
    ['cameras[yard].zone_type', 'media.snapshots'],
  ]);
  const { version } = await shown();
  const text = `${readFileSync(site.config, 'utf8')}# by hand\n`;
  writeFileSync(site.config, text);
  const changes = [{ do: 'set', section: 'site', members: { name: 'Shop' } }];
  expect(await ask('POST', '/api/v1/config/changes', { version, changes })).toMatchObject({
    status: 409,
    body: { code: 'config_changed' },
  });
  expect(readFileSync(site.config, 'utf8')).toBe(text);
  expect(await change(changes)).toMatchObject({ status: 200, body: { taken: true } });
});

test('while armed it is refused', async () => {
  expect(await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code })).toMatchObject({
    outcome: 'done',
  });
  await untilIt('armed_away');
  expect(await change([{ do: 'remove', section: 'cameras', id: 'yard' }])).toMatchObject({
    status: 409,
    body: { code: 'config_refused' },
  });
  expect(await ask('POST', '/api/v1/danger/forget-cloud', { confirm: 'proof' })).toMatchObject({
    status: 409,
    body: { code: 'config_refused' },
  });
  await site.lan.ask('disarm', { partition: 'p1', code });
  await untilIt('disarmed');
});

test('a camera that goes takes its password with it; the cloud is forgotten, and what waits for it is kept', async () => {
  expect(await change([{ do: 'remove', section: 'cameras', id: 'yard' }])).toMatchObject({ body: { taken: true } });
  expect([await devices(), secrets()]).toEqual([expect.not.arrayContaining(['yard']), []]);
  expect(await ask('POST', '/api/v1/danger/forget-cloud', { confirm: 'shop' })).toMatchObject({
    status: 400,
    body: { code: 'request_invalid', errors: [{ field: 'confirm' }] },
  });
  expect(await ask('POST', '/api/v1/danger/forget-cloud', { confirm: 'proof' })).toMatchObject({
    status: 200,
    body: { sections: ['cloud'], written: true, taken: true },
  });
  expect((await shown()).config).not.toHaveProperty('cloud');
  expect(await ask('POST', '/api/v1/danger/forget-cloud', { confirm: 'proof' })).toMatchObject({
    status: 409,
    body: { code: 'danger_refused' },
  });
  const { body } = await ask('GET', '/api/v1/status');
  expect(body).toMatchObject({ links: expect.arrayContaining([expect.objectContaining({ kind: 'cloud', up: null })]) });
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cameraPassword, ownerCode, partnerSecret, type SetupRig, setupRig } from './setup-rig.ts';

let rig: SetupRig;
beforeAll(async () => {
  rig = await setupRig();
}, 120_000);
afterAll(() => rig?.close());

function writeAnswers(): void {
  writeFileSync(
    join(rig.folder, 'answers.yaml'),
    `site: { external_id: shop-6, name: Shop, timezone: Europe/Berlin, dealer_id: "1" }
bridge: { external_id: sw-shop-6 }
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
settings:
  mqtt: { broker: embedded, listen: "127.0.0.1:${rig.mqttPort}" }
  http: { control_socket: ${rig.socket} }
  store: { dir: ${join(rig.folder, 'state')} }
cloud:
  base_url: ${rig.url}
  auth_url: ${rig.url}
  client_id: bridge-6
  partner_client_id: partner-9
  partner_secret_file: ${rig.secret('partner', partnerSecret)}
cameras:
  - { address: "${rig.camera}", id: yard, name: Yard, zone: "21", partition: p1, user: siteward, password_file: ${rig.secret('camera', cameraPassword)} }
users: [ { id: anna, name: Anna, role: owner, code_file: ${rig.secret('code', ownerCode)} } ]
monitoring: { station: "201", account: "4711" }
activate: true
test: { code_file: ${join(rig.folder, 'code')} }
`,
  );
}

interface Told {
  readonly step: string;
  readonly state: string;
  readonly words: string;
  readonly later: string;
  readonly did: boolean;
}

const setup = async (...more: readonly string[]) => {
  const args = ['setup', '--config', rig.config, '--socket', rig.socket, '--answers', join(rig.folder, 'answers.yaml')];
  const ran = await rig.run([...args, '--non-interactive', '--json', ...more]);
  const told = ran.out.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Told] : []));
  return { ...ran, told, step: (id: string) => told.find(({ step }) => step === id) };
};

const sitesPath = '/partner/v1/dealers/1/sites';
const plant = (...faults: readonly object[]) => Promise.all(faults.map((fault) => rig.control('faults', fault)));
const clear = () => fetch(`${rig.url}/__sandbox/faults`, { method: 'DELETE' });
interface Row {
  readonly method: string;
  readonly path: string;
  readonly status?: number;
}
const log = async (method: string, path: RegExp): Promise<readonly Row[]> =>
  ((await rig.control('log')) as { log: readonly Row[] }).log.filter(
    (row) => row.method === method && path.test(row.path),
  );
const sites = async () =>
  (
    (await rig.control('sites')) as {
      sites: {
        external_site_id: string;
        site_id: number;
        is_activated: number;
        monitoring_station_id?: number;
        account_number?: string;
      }[];
    }
  ).sites.filter((one) => one.external_site_id === 'shop-6');
const siteId = (): string => parse(readFileSync(rig.config, 'utf8')).site.id;
const devices = async (): Promise<readonly string[]> => {
  const { out } = await rig.run(['api', 'list-devices', '1', siteId(), '--config', rig.config, '--json']);
  return (JSON.parse(out) as { external_device_id: string }[]).map((one) => one.external_device_id).sort();
};

test('whatever the service answers, setup says what is wrong, goes on afterwards, and makes nothing twice', {
  timeout: 500_000,
}, async () => {
  writeAnswers();
  mkdirSync(join(rig.folder, 'state'), { recursive: true });
  await setup('--only', 'site');
  await rig.register('bridge-6');
  await rig.startDaemon();

  // A storm of 429: told as such, and nothing behind it is tried.
  await plant({ path: `${sitesPath}*`, mode: 'status', status: 429, headers: { 'retry-after': '600' }, count: -1 });
  const storm = await setup();
  expect(storm.code).toBe(1);
  expect(storm.step('cloud_site')).toMatchObject({
    state: 'failed',
    words: expect.stringMatching(/429.*left alone for 10 min: run this again then$/),
  });
  for (const id of ['devices', 'monitoring', 'activation']) expect(storm.step(id)?.state, id).toBe('waiting');
  expect(storm.step('users')?.state).toBe('done');
  await clear();

  // A wrapped list; a site that is created behind a lost answer; bulk results that are mixed, shuffled and contradict their counts.
  const yard = { external_device_id: 'yard' };
  const results = [
    { is_successful: false, status_code: 500, error_message: 'planted', req: yard },
    { is_successful: true, req: { external_device_id: 'sw-shop-6' }, res: {} },
  ];
  const bulk = { path: `${sitesPath}/*`, method: 'POST', mode: 'status', status: 200, when: 'after' };
  await plant(
    { path: sitesPath, method: 'GET', mode: 'status', status: 200, body: { data: [] } },
    { path: sitesPath, method: 'POST', mode: 'reset', when: 'after' },
    { ...bulk, body: { success_count: 7, failure_count: 0, results } },
  );
  const lost = await setup('--only', 'cloud_site');
  expect(lost.step('cloud_site')?.state).toBe('done');
  const [site] = await sites();
  expect(siteId()).toBe(String(site?.site_id));
  const sitePath = `${sitesPath}/${siteId()}`;

  const registered = await setup('--only', 'devices');
  expect(registered.step('devices')?.state).toBe('done');
  // Every fault was met, by setup or by the daemon, which registers by itself.
  expect(await rig.control('faults')).toMatchObject({ faults: [] });
  expect(await devices()).toEqual(['sw-shop-6', 'yard']);

  const toggled = {
    path: `${sitePath}/activation-status`,
    method: 'PATCH',
    mode: 'status',
    status: 200,
    body: { is_activated: 0 },
  };
  // Then the rest, against a page of a portal, a site that seems to be gone, lost answers, and an activation that goes the wrong way.
  await plant(
    { path: sitePath, method: 'GET', mode: 'status', status: 404 },
    {
      path: `${sitePath}/devices`,
      method: 'GET',
      mode: 'garbage',
      body: '<html>log in</html>',
      headers: { 'content-type': 'text/html' },
      count: -1,
    },
    { path: `${sitePath}/monitoring-bindings`, method: 'PUT', mode: 'reset', when: 'after' },
  );
  const hindered = await setup();
  expect(hindered.code).toBe(1);
  expect(hindered.step('devices')).toMatchObject({ state: 'failed', words: expect.stringContaining('portal') });
  expect(hindered.step('activation')?.state).toBe('waiting');
  for (const { step, words } of hindered.told.filter(({ state }) => state === 'failed'))
    expect(words, step).toMatch(/\. (Run this again|Look for|Compare|Have the operator)/);
  const bound = (await log('PUT', /\/monitoring-bindings$/)).length;
  // The activation is to meet its own.
  await clear();
  await plant(toggled);
  const whole = await setup();
  expect(whole.told.filter(({ state }) => state !== 'done' && state !== 'skipped')).toEqual([]);
  expect(whole.code).toBe(0);
  expect(await rig.control('faults')).toMatchObject({ faults: [] });

  // A list whose ids are text, and wrapped: the same site.
  const row = { site_id: siteId(), external_site_id: 'shop-6', name: 'Shop' };
  await plant(
    { path: sitePath, method: 'GET', mode: 'status', status: 404 },
    { path: sitesPath, method: 'GET', mode: 'status', status: 200, body: { data: [row] } },
  );
  expect((await setup('--only', 'cloud_site')).step('cloud_site')).toMatchObject({ state: 'done' });
  expect(siteId()).toBe(String(site?.site_id));
  await clear();

  // A site that is gone for good is told, and none is made in its place.
  await plant(
    { path: sitePath, method: 'GET', mode: 'status', status: 404, count: -1 },
    { path: sitesPath, method: 'GET', mode: 'status', status: 200, body: { data: [] }, count: -1 },
  );
  const gone = await setup('--only', 'cloud_site');
  expect(gone.step('cloud_site')).toMatchObject({
    state: 'failed',
    words: expect.stringMatching(/has no site \d+ of dealer 1 any more.*write "id: unknown".*Compare site\.dealer_id/),
  });
  expect(gone.code).toBe(1);
  await clear();

  // A change whose results are short.
  const text = readFileSync(rig.config, 'utf8');
  writeFileSync(rig.config, text.replace('name: Yard', 'name: Yard two'));
  await plant({
    ...bulk,
    path: `${sitePath}/devices`,
    method: 'PUT',
    body: { success_count: 1, failure_count: 0, results: [] },
  });
  const renamed = await setup();
  expect(renamed.code).toBe(0);
  expect(await rig.control('faults')).toMatchObject({ faults: [] });

  const again = await setup();
  expect(again.code).toBe(0);
  expect(again.told.filter(({ did }) => did)).toEqual([]);
  expect(await sites()).toMatchObject([{ is_activated: 1, monitoring_station_id: 201, account_number: '4711' }]);
  expect(await log('POST', /\/sites$/)).toHaveLength(1);
  expect(await log('PUT', /\/monitoring-bindings$/)).toHaveLength(bound);
  expect(await devices()).toEqual(['sw-shop-6', 'yard']);
  expect((await rig.run(['api', 'list-devices', '1', siteId(), '--config', rig.config, '--json'])).out).toContain(
    'Yard two',
  );
});

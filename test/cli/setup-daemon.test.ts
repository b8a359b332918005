import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cameraPassword, ownerCode, partnerSecret, type SetupRig, setupRig } from './setup-rig.ts';

let rig: SetupRig;
beforeAll(async () => {
  rig = await setupRig();
}, 120_000);
afterAll(() => rig?.close());

const siteName = 'Shop <b>&"x"';

/** Of an installer, of a second owner, and of an auditor. */
const otherCodes = ['48613907', '59724018', '60835129'] as const;
const inAMonth = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);

function writeAnswers(): string {
  const file = join(rig.folder, 'answers.yaml');
  writeFileSync(
    file,
    `site: { external_id: shop-7, name: '${siteName}', timezone: Europe/Berlin, dealer_id: "1" }
bridge: { external_id: sw-shop-7 }
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
settings:
  mqtt: { broker: embedded, listen: "127.0.0.1:${rig.mqttPort}" }
  http: { control_socket: ${rig.socket} }
  store: { dir: ${join(rig.folder, 'state')} }
cloud:
  base_url: ${rig.url}
  auth_url: ${rig.url}
  partner_client_id: partner-9
  partner_secret_file: ${rig.secret('partner', partnerSecret)}
panels: [ { id: sensors, profile: zigbee2mqtt } ]
cameras:
  - { address: "${rig.camera}", id: yard, name: Yard, zone: "21", partition: p1, user: siteward, password_file: ${rig.secret('camera', cameraPassword)}, pictures: always }
zones: [ { panel: sensors, number: "1", type: perimeter, name: Window, key: window, partition: p1 } ]
speakers: [ { id: gate, driver: "null" } ]
users:
  - { id: ines, name: Ines, role: installer, valid_until: "${inAMonth}", code_file: ${rig.secret('code-ines', otherCodes[0])} }
  - { id: anna, name: Anna, role: owner, code_file: ${rig.secret('code', ownerCode)} }
  - { id: bert, name: Bert, role: owner, code_file: ${rig.secret('code-bert', otherCodes[1])} }
monitoring: { station: "201", account: "4711" }
activate: true
test: { code_file: ${join(rig.folder, 'code')} }
`,
  );
  return file;
}

interface Told {
  readonly step: string;
  readonly state: string;
  readonly words: string;
  readonly did: boolean;
}

const setup = async (more: readonly string[] = [], until?: string) => {
  // The socket is the one that the configuration names, from the step on that writes it.
  const args = ['setup', '--config', rig.config, '--answers', join(rig.folder, 'answers.yaml')];
  const ran = await rig.run([...args, '--non-interactive', '--json', ...more], until);
  const told = ran.out
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Told);
  return { ...ran, told, states: Object.fromEntries(told.map(({ step, state }) => [step, state])) };
};

const secrets = () => [cameraPassword, partnerSecret, ownerCode, ...otherCodes, privateLine()];
/** As the service has them. */
const devicesAt = async (siteId: string) => {
  const ran = await rig.run(['api', 'list-devices', '1', siteId, '--config', rig.config, '--json']);
  return { devices: JSON.parse(ran.out) as { external_device_id: string }[] };
};
const privateLine = () =>
  readFileSync(join(rig.folder, 'secrets', 'cloud-events-private-key'), 'utf8').split('\n')[3] ?? 'none';
const sitesNow = async () =>
  ((await rig.control('sites')) as { sites: { external_site_id: string; is_activated: number; site_id: number }[] })
    .sites;

test('a dry run writes nothing, and answers that cannot be are named', { timeout: 120_000 }, async () => {
  writeAnswers();
  const dry = await setup(['--dry-run']);
  // Each step as it would be with what those before would have written.
  expect(dry.told.filter(({ state }) => state === 'failed')).toEqual([]);
  expect(dry.states).toMatchObject({
    ...{ site: 'planned', key: 'open', panels: 'planned', cameras: 'planned', recorders: 'skipped', zones: 'planned' },
    ...{ speakers: 'planned', daemon: 'open', token: 'waiting', users: 'waiting' },
  });
  expect(dry.told.find(({ step }) => step === 'cameras')?.words).toContain('yard');
  const known = await setup(['--dry-run', '--set', 'cloud.client_id=bridge-7']);
  expect(known.states).toMatchObject({ key: 'planned', network: 'planned', token: 'planned', cloud_site: 'planned' });
  for (const [name, value] of [
    ['site.timezone', 'Mars/Phobos'],
    ['site.external_id', 'a\u001bb'],
  ]) {
    const refused = await setup(['--dry-run', '--set', `${name}=${value}`]);
    expect(refused.told[0], name).toMatchObject({ step: 'site', state: 'failed' });
    expect(refused.states).toMatchObject({ key: 'waiting', panels: 'waiting' });
  }
  expect(existsSync(rig.config)).toBe(false);
  expect(existsSync(join(rig.folder, 'secrets'))).toBe(false);
  const wrong = await setup(['--set', 'users.0.role=king', '--set', 'site.security_type=all']);
  expect(wrong).toMatchObject({ code: 2, err: expect.stringMatching(/site\.security_type.*users\.0\.role/s) });
  const zone = await setup(['--set', 'site.timezone=Mars/Olympus']);
  expect(zone.told[0]).toMatchObject({
    step: 'site',
    state: 'failed',
    words: expect.stringContaining('is not a time zone'),
  });
  expect(existsSync(rig.config)).toBe(false);
});

test('a site is commissioned without a person, stopped in the middle, and gone on with', {
  timeout: 400_000,
}, async () => {
  const first = await setup();
  expect(first.code).toBe(1);
  expect(first.states).toMatchObject({
    ...{
      site: 'done',
      key: 'open',
      token: 'waiting',
      panels: 'done',
      cameras: 'done',
      zones: 'done',
      speakers: 'done',
    },
    ...{ daemon: 'open', users: 'waiting', test: 'waiting' },
  });
  const progress = join(rig.folder, 'state', 'setup.json');
  expect(statSync(progress).mode & 0o777).toBe(0o600);
  expect(Object.keys(JSON.parse(readFileSync(progress, 'utf8')).steps)).not.toContain('key');

  await rig.register('bridge-7');
  await rig.startDaemon();
  // Killed as soon as the cloud stands in the file, when the site was created, and when its people are there.
  const killed: Awaited<ReturnType<typeof setup>>[] = [];
  for (const step of ['key', 'cloud_site', 'users']) {
    const ran = await setup(['--set', 'cloud.client_id=bridge-7'], `"step":"${step}"`);
    expect(ran.code).toBeNull();
    killed.push(ran);
  }
  expect(parse(readFileSync(rig.config, 'utf8')).cloud.events.client_id).toBe('bridge-7');

  const out = join(rig.folder, 'report.html');
  const last = await setup(['--set', 'cloud.client_id=bridge-7', '--report', out]);
  // What the answers do not name is left out.
  const left = last.told.filter(({ state }) => state !== 'done');
  expect(left.map(({ step, state }) => [step, state])).toEqual([
    ['recorders', 'skipped'],
    ['api_keys', 'skipped'],
  ]);
  expect(last.code).toBe(0);
  const site = (await sitesNow()).filter((one) => one.external_site_id === 'shop-7');
  expect(site).toHaveLength(1);
  expect(site[0]).toMatchObject({ is_activated: 1, monitoring_station_id: 201, account_number: '4711' });
  expect(parse(readFileSync(rig.config, 'utf8')).site.id).toBe(String(site[0]?.site_id));
  const { events } = (await rig.control('events')) as { events: { event_id: string }[] };
  const arrived = last.told.find(({ step }) => step === 'test')?.words ?? '';
  expect(events.map(({ event_id: id }) => id).filter((id) => arrived.includes(id))).toHaveLength(1);

  const { devices } = await devicesAt(String(site[0]?.site_id));
  expect(devices.map(({ external_device_id: id }) => id).sort()).toEqual(['sw-shop-7', 'yard']);

  const html = readFileSync(out, 'utf8');
  expect(statSync(out).mode & 0o777).toBe(0o600);
  expect(html).toContain('Shop &lt;b&gt;&amp;&quot;x&quot;');
  expect(html).not.toContain('<b>');
  expect(html).toMatch(/data:image\/jpeg;base64,\/9j\//);
  expect(html).not.toMatch(/https?:\/\/(?!127\.0\.0\.1)/);
  // What was left out is not missing, and what does not work is told: nothing was heard of the panel yet.
  const section = (title: string) => html.split(`<h2>${title}</h2>`)[1]?.split('<h2>')[0] ?? 'no such section';
  expect(section('Missing')).toContain('Nothing.');
  expect(section('Left out')).toContain('Recorders (NVR)');
  expect(section('What is not well now')).toContain('<td>warning</td>');
  // It was activated in this run: the daemon has looked again.
  expect(section('What is not well now')).not.toMatch(/site_inactive|not activated/);
  expect(section('What is not well now')).toContain('<td>troubles (panel sensors)</td>');
  expect(section('Panels')).toMatch(/<td>sensors<\/td><td>zigbee2mqtt<\/td><td>\w/);
  expect(section('Cameras')).toMatch(/<td>yard<\/td><td>Yard<\/td><td>\w.*<td>answers<\/td>/);
  expect(section('People')).toContain(`<td>until ${inAMonth}</td>`);
  expect(section('Steps')).toMatch(/<td>\d{4}-\d\d-\d\d \d\d:\d\d<\/td>/);
  expect(html).toContain('Times are those of Europe/Berlin, ');
  expect(last.err).toContain('troubles (panel sensors): ');
  for (const part of ['sw-shop-7', 'Window', '<td>yard</td>', 'anna', 'gate', 'personal data', 'Installer, date'])
    expect(html).toContain(part);
  for (const text of [
    html,
    readFileSync(progress, 'utf8'),
    last.out,
    last.err,
    first.out,
    first.err,
    ...killed.map((ran) => ran.out),
  ])
    for (const secret of secrets()) expect(text).not.toContain(secret);

  // The first owner agrees to the next and to the installer; later one who is there already does.
  const rolesOf = async () => {
    const { out } = await rig.run(['user', 'list', '--socket', rig.socket, '--json']);
    const users = out
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { id: string; role: string }]));
    return users.map(({ id, role }) => `${id} ${role}`).sort();
  };
  const people = ['anna owner', 'bert owner', 'ines installer'];
  expect(await rolesOf()).toEqual(people);
  const auditor = { id: 'otto', name: 'Otto', role: 'auditor', code_file: rig.secret('code-otto', otherCodes[2]) };
  const more = Object.entries(auditor).flatMap(([name, value]) => ['--set', `users.3.${name}=${value}`]);
  const disagreed = ['--set', `consent.code_file=${join(rig.folder, 'code-ines')}`, '--only', 'users'];
  const refused = await setup([...more, ...disagreed]);
  expect(refused.states).toMatchObject({ users: 'failed' });
  expect(await rolesOf()).toEqual(people);
  const audited = await setup([...more, '--only', 'users']);
  expect(audited.states).toMatchObject({ users: 'done' });
  expect(await rolesOf()).toEqual([...people, 'otto auditor']);
  for (const secret of secrets()) expect(refused.out + refused.err + audited.out + audited.err).not.toContain(secret);

  // A report that is there is refused before anything is looked at.
  const taken = await setup(['--report', out]);
  expect(taken).toMatchObject({ told: [], err: expect.stringContaining(`${out} is there already`) });
  expect(readFileSync(out, 'utf8')).toBe(html);

  const again = await setup(['--set', 'cloud.client_id=bridge-7']);
  expect(again.code).toBe(0);
  expect(again.told.filter(({ did }) => did)).toEqual([]);
  expect((await sitesNow()).filter((one) => one.external_site_id === 'shop-7')).toHaveLength(1);
});

test('a site without a cloud is whole without one', { timeout: 120_000 }, async () => {
  const folder = join(rig.folder, 'alone');
  mkdirSync(folder);
  const config = join(folder, 'siteward.yaml');
  const settings = ['store.dir', join(folder, 'state'), 'http.control_socket', join(folder, 'control.sock')] as const;
  const set = (name: string, value: string) => ['--set', `${name}=${value}`];
  const ran = await rig.run([
    ...[
      'setup',
      '--config',
      config,
      '--socket',
      settings[3],
      '--non-interactive',
      '--only',
      'site',
      '--only',
      'key',
      '--only',
      'network',
    ],
    ...[...set('site.external_id', 'alone'), ...set('site.timezone', 'Europe/Berlin')],
    ...[...set(`settings.${settings[0]}`, settings[1]), ...set(`settings.${settings[2]}`, settings[3])],
  ]);
  expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('left out: the answers name no cloud') });
  expect(ran.out).toContain('later: siteward cloud registration');
  expect(existsSync(join(folder, 'secrets'))).toBe(false);
  expect(parse(readFileSync(config, 'utf8'))).toMatchObject({
    site: { external_id: 'alone' },
    partitions: [{ id: 'p1' }],
  });
});

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort, member } from '#sandbox/demo/processes.ts';
import { type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { recorderChannel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { program } from '../harness/program.ts';
import { cameraPassword, ownerCode, partnerSecret, type SetupRig, setupRig } from './setup-rig.ts';

const [nvrPassword, hornPassword, accountPassword] = [
  'rig-nvr-password',
  'rig-horn-password',
  'rig gate wall password',
];

let rig: SetupRig;
let recorder: ScriptedCamera;
beforeAll(async () => {
  rig = await setupRig();
  recorder = await startCamera(recorderModel({ channels: [recorderChannel(1), recorderChannel(2)] }).script);
}, 120_000);
afterAll(async () => {
  await rig?.close();
  await recorder?.close();
});

/** Questions in their order, and what is typed; a function is called first. One that is not asked each time is left out where the next one comes. */
type Dialogue = readonly (readonly [question: string, typed: string, first?: (() => Promise<void>) | 'maybe'])[];

/** `siteward setup` on a terminal, with a person at it. */
async function typing(dialogue: Dialogue, more: readonly string[] = []) {
  const args = ['setup', '--config', rig.config, '--socket', rig.socket, '--answers', join(rig.folder, 'paths.yaml')];
  const terminal = join(import.meta.dirname, 'terminal.py');
  const child = spawn('python3', [terminal, process.execPath, program, ...args, ...more], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [shown, from] = ['', 0];
  child.stdout.on('data', (bytes) => {
    shown += stripVTControlCharacters(String(bytes));
  });
  for (const [index, [question, typed, first]] of dialogue.entries()) {
    const next = first === 'maybe' ? dialogue[index + 1]?.[0] : undefined;
    const place = (text = question) => shown.indexOf(text, from);
    await vi
      .waitUntil(() => place() >= 0 || (next !== undefined && place(next) >= 0), { timeout: 60_000, interval: 50 })
      .catch(() => expect(shown.slice(from), shown).toContain(question));
    if (next !== undefined && place(next) >= 0 && (place() < 0 || place(next) < place())) continue;
    from = place() + question.length;
    if (typeof first === 'function') await first();
    child.stdin.write(typed);
  }
  return { code: await ended, shown };
}

const enter = '\r';
const yes = ['do it now', enter] as const;

test('a person types it, ends it with Ctrl-C, and goes on', { timeout: 400_000 }, async () => {
  writeFileSync(
    join(rig.folder, 'paths.yaml'),
    `settings:
  mqtt: { broker: embedded, listen: "127.0.0.1:${rig.mqttPort}" }
  http: { control_socket: ${rig.socket}, listen: "127.0.0.1:${await freePort()}" }
  store: { dir: ${join(rig.folder, 'state')} }
`,
  );
  const begun = await typing([
    ['help explains, skip leaves the step out', ''],
    ['your own id of the site', `help${enter}`],
    ['This is the step "Site and box"', ''],
    ['your own id of the site', `skip${enter}`],
    ['this step cannot be left out', ''],
    ['your own id of the site', `shop-9${enter}`],
    ['time zone of the site', `Europe/Nowhere${enter}`],
    ['no such time zone', ''],
    ['time zone of the site', `Europe/Berlin${enter}`],
    ['name of the site', `Shop nine${enter}`],
    ['id of this box', `sw-shop-9${enter}`],
    ['name of its first partition', enter],
    ['would: write', ''],
    ['site shop-9, Shop nine', ''],
    ['time zone Europe/Berlin', ''],
    ['partition p1, Shop nine', ''],
    yes,
    ['client id that the operator gave', `bridge-9${enter}`, () => rig.register('bridge-9')],
    ['address of the service', `${rig.url}${enter}`],
    ['address of its token server', enter],
    yes,
    ['client id for the partner interface', `later${enter}`],
    ['open: put off', ''],
    ['profile of the panel', `Later${enter}`],
    ['open: put off', ''],
    ['look for cameras', '\u0003'],
  ]);
  expect(begun.code).toBe(1);
  expect(begun.shown).toContain('goes on where it stopped');
  expect(parse(readFileSync(rig.config, 'utf8'))).toMatchObject({
    site: { external_id: 'shop-9', name: 'Shop nine', timezone: 'Europe/Berlin' },
    bridge: { external_id: 'sw-shop-9' },
    partitions: [{ id: 'p1', name: 'Shop nine' }],
    cloud: { base_url: rig.url, auth_url: rig.url, events: { client_id: 'bridge-9' } },
  });

  // Its own broker is not there yet: nothing can be heard on it.
  await typing(
    [
      ['siteward can listen which one fits once it runs', ''],
      ['profile of the panel; nothing for none', `learn${enter}`],
      ['one of the profiles above', ''],
      ['profile of the panel', '\u0003'],
    ],
    ['--only', 'panels'],
  );

  await rig.startDaemon();
  const heardWindow = async () => {
    const panel = rig.panel(['--kind', 'zigbee', '--device', 'window:contact']);
    await panel.until((text) => member(text, 'kind'), 'connect');
    panel.send('close window');
    panel.send('open window');
  };
  // What the service has not shown is not in the configuration.
  const nothingWritten = async () =>
    expect(parse(readFileSync(rig.config, 'utf8')).site).not.toHaveProperty('dealer_id');
  const out = join(rig.folder, 'report.html');
  const gone = await typing(
    [
      ['client id for the partner interface', `partner-9${enter}`],
      ['id of the dealer', `/tmp/nope${enter}`],
      ['the number that the service gave', ''],
      ['id of the dealer', `2${enter}`],
      ['its client secret', `${partnerSecret}${enter}`],
      yes,
      ['see dealer 2: is site.dealer_id', '', nothingWritten],
      ['ask this step once more', enter],
      ['id of the dealer', `1${enter}`],
      yes,
      ['profile of the panel', `learn${enter}`],
      ['for how many seconds', `10${enter}`],
      ['listening on', '', heardWindow],
      ['profile: zigbee2mqtt', ''],
      yes,
      ['look for cameras', `${rig.camera}${enter}`],
      ['its id', `yard${enter}`],
      ['what people call it', `Yard${enter}`],
      ['zone number', `21${enter}`],
      ['its user', enter],
      ['when pictures of it may be taken', enter],
      yes,
      ['password of user siteward', `wrong-${cameraPassword}${enter}`],
      ['type its password once more', enter],
      ['password of user siteward', `${cameraPassword}${enter}`],
      ['address of a recorder', `${recorder.url}${enter}`],
      ['its id', enter],
      ['what people call it', `Recorder${enter}`],
      ['its user', enter],
      yes,
      ['password of user siteward', `${nvrPassword}${enter}`],
      ['name of channel 1 (VideoSource_1)', `Door${enter}`],
      ['zone number', `31${enter}`],
      ['when pictures of it may be taken', `never${enter}`],
      ['one of alarm, armed, always', ''],
      ['when pictures of it may be taken', `always${enter}`],
      ['name of channel 2', `-${enter}`],
      ['id of a speaker', `horn${enter}`],
      ['what it is', `horn${enter}`],
      ['address that takes the sound', enter],
      ['write it as http', ''],
      ['address that takes the sound', `http://127.0.0.2:9/play${enter}`],
      ['its user', `siteward${enter}`],
      ['its password', `${hornPassword}${enter}`],
      ['id of a speaker; nothing ends', enter],
      yes,
      ['id of the owner', `90210${enter}`],
      ['the first a letter', ''],
      ['id of the owner', `anna${enter}`],
      ['name of that person', `Anna${enter}`],
      ['code of anna', `12${enter}`],
      ['the code must be', ''],
      ['code of anna', `${ownerCode}${enter}`],
      ['once more', `${ownerCode}1${enter}`],
      ['not the same', ''],
      ['code of anna', `${ownerCode}${enter}`],
      ['once more', `${ownerCode}${enter}`],
      yes,
      ['program that gets an API key', `Wall tablet${enter}`],
      ['what it may', enter],
      ['file for the key', `${join(rig.folder, 'tablet.key')}${enter}`],
      ['Nobody has claimed this bridge', ''],
      ['id of the account', `ines${enter}`],
      ['its password', `${accountPassword}${enter}`],
      ['once more', `${accountPassword}${enter}`],
      ['owner of the site, or its installer', enter],
      yes,
      ['Devices at the service', ''],
      ['do it now', enter, 'maybe'],
      ['station 201', ''],
      ['id of the monitoring station', `999${enter}`],
      ['one of the stations: ', ''],
      ['id of the monitoring station', `201${enter}`],
      ['account number', enter],
      ['account number', `4711${enter}`],
      yes,
      ['Activation', ''],
      yes,
      ['Test event', ''],
      yes,
      ['code of a user', `${ownerCode}${enter}`],
    ],
    ['--report', out],
  );
  expect(parse(readFileSync(rig.config, 'utf8')).panels).toMatchObject([
    { profile: 'zigbee2mqtt', zones: { 1: { key: 'window' } } },
  ]);
  const { nvrs, speakers } = parse(readFileSync(rig.config, 'utf8'));
  expect(nvrs).toMatchObject([
    { id: 'nvr', channels: [{ id: 'nvr-1', name: 'Door', zone: '31', partition: 'p1', pictures: 'always' }] },
  ]);
  expect(nvrs[0].channels).toHaveLength(1);
  expect(speakers).toMatchObject([
    { id: 'horn', driver: 'http', push: { url: 'http://127.0.0.2:9/play' }, username: 'siteward', auth: 'digest' },
  ]);
  expect(readFileSync(speakers[0].password.file, 'utf8')).toBe(`${hornPassword}\n`);
  const key = readFileSync(join(rig.folder, 'tablet.key'), 'utf8').trim();
  expect(key).toMatch(/^sw_/);
  expect(gone.shown).toContain('reached the cloud');
  expect(gone.shown).toContain('Nothing is open. Whether all of it works tells "siteward doctor".');
  expect(gone.code).toBe(0);
  expect(readFileSync(out, 'utf8')).toContain('<td>Wall tablet</td><td>state events</td><td>ines</td>');
  // `pictures` is `alarm` unless set: without one there is none, and the report says so.
  expect(readFileSync(out, 'utf8')).toContain('No picture');
  for (const secret of [cameraPassword, partnerSecret, ownerCode, nvrPassword, hornPassword, accountPassword, key]) {
    expect(begun.shown + gone.shown).not.toContain(secret);
    expect(readFileSync(out, 'utf8')).not.toContain(secret);
  }
  expect(existsSync(join(rig.folder, 'secrets', 'cloud-partner-client-secret'))).toBe(true);
  const { sites } = (await rig.control('sites')) as { sites: { external_site_id: string; is_activated: number }[] };
  expect(sites.find((one) => one.external_site_id === 'shop-9')).toMatchObject({ is_activated: 1 });
});

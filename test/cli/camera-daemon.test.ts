import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Settings } from '#config/index.ts';
import type { CameraEntry, CameraMessage } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { makeCertificate } from '../devices/onvif/make-certificate.ts';
import {
  cameraModel,
  motion,
  type ScriptedCamera,
  type Seen,
  soap,
  startCamera,
} from '../devices/onvif/scripted-camera.ts';
import { pictureNumbers, type RtspServer, startRtspServer } from '../harness/rtsp-server.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';
import { askedOnly, siteward } from './run-cli.ts';

let site: Site;
let stream: RtspServer;
beforeAll(async () => {
  stream = await startRtspServer({ user: { username: 'siteward', password: 'harness-camera-password' } });
  site = await startSite({
    broker: 'embedded',
    cameras: ['yard', 'lobby', 'hall'],
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
cameras:
  # Looks at the yard.
${camera('yard', cameras.yard, 'name: Yard, zone: "21", pictures: armed')}
${camera('lobby', cameras.lobby, 'inputs: { "1": { zone: "22", zone_type: panic_silent } }')}
${camera('hall', cameras.hall, `pictures: always, snapshot_url: "${stream.url.replace('rtsp', 'http')}", stream_url: "${stream.url}"`)}
`,
  });
  await eventually(
    'the cameras',
    async () => ((await listed()).every(({ events }) => events === true) ? true : undefined),
    {
      timeoutMs: 60_000,
    },
  );
}, 120_000);
afterAll(async () => {
  await site?.close();
  await stream?.stop();
});

const opened: ScriptedCamera[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const run = (args: readonly string[], input = '') =>
  siteward(['camera', ...args], { SITEWARD_SOCKET: site.socket }, input);
const lines = <T>(out: string): T[] =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
const listed = async () => lines<CameraEntry>((await run(['list', '--json'])).out);
const one = async (id: string) => (await listed()).find((entry) => entry.id === id);

test('the list shows each camera with what the daemon knows', async () => {
  const [yard, lobby] = await listed();
  expect(yard).toMatchObject({
    ...{ id: 'yard', kind: 'camera', name: 'Yard', zone: '21', partitions: ['p1'], pictures: 'armed' },
    ...{ reachable: true, authenticated: true, events: true, troubles: [] },
  });
  expect(yard?.model).not.toBe('');
  expect(lobby).not.toHaveProperty('zone');
  expect(lobby).not.toHaveProperty('last_event');
  const { out } = await run(['list']);
  expect(out).toMatch(/^yard +Yard +events arrive/m);
  expect(out).toContain('clock right');
});

test('what a camera says is shown with what is made of it; of one that may call silently nothing is', async () => {
  site.cameras.yard?.send('motion on');
  const seen = await eventually(
    'the motion',
    async () => {
      const { out } = await run(['events', 'yard', '--json', '--for', '0s']);
      return lines<CameraMessage>(out).find(({ signals }) =>
        signals.some(({ state, replay }) => state === 'on' && !replay),
      );
    },
    { timeoutMs: 30_000 },
  );
  expect(seen).toMatchObject({ outcome: 'signal', signals: [{ device: 'camera yard', detection: 'motion' }] });
  expect(seen.topic).toContain('Motion');
  const following = run(['events', 'yard', '--for', '20s']);
  site.cameras.yard?.send('motion off');
  const { out, code: exit } = await following;
  expect(exit).toBe(0);
  expect(out).toMatch(/=> camera yard: motion off/);
  expect(await run(['events', 'lobby', '--for', '0s'])).toMatchObject({ code: 65, out: '' });
  expect(await run(['events', 'gone', '--for', '0s'])).toMatchObject({ code: 66 });
}, 120_000);

test('a picture is taken where the setting allows one, and each is in the audit log', async () => {
  const file = join(site.folder, 'yard.jpg');
  const refused = await run(['snapshot', 'yard', '--out', file]);
  expect(refused).toMatchObject({ code: 65, err: expect.stringContaining('pictures: armed') });
  expect(existsSync(file)).toBe(false);
  await siteward(['arm', 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  await site.lan.shows('partition/p1/state', 'armed_away', 30_000);
  const taken = await run(['snapshot', 'yard', '--out', file, '--json']);
  expect(taken).toMatchObject({ code: 0, err: '' });
  const picture = readFileSync(file);
  expect([picture[0], picture[1], statSync(file).mode & 0o777]).toEqual([0xff, 0xd8, 0o600]);
  expect(JSON.parse(taken.out)).toEqual({ camera: 'yard', file, bytes: picture.length });
  expect(await one('yard')).toHaveProperty('last_picture');
  expect(await run(['snapshot', 'yard', '--out', file])).toMatchObject({
    code: 1,
    err: expect.stringContaining('replace it with --force'),
  });
  expect(await run(['snapshot', 'lobby', '--out', `${file}2`])).toMatchObject({ code: 65 });
  await siteward(['disarm', 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  const { out } = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  expect(out).toContain('"camera yard"');
}, 60_000);

test('of a camera that serves no picture one of its stream is taken', async () => {
  const file = join(site.folder, 'hall.jpg');
  const before = stream.numberNow();
  expect(await run(['snapshot', 'hall', '--out', file])).toMatchObject({ code: 0, err: '' });
  const [number = 0] = await pictureNumbers(file);
  expect(number).toBeGreaterThanOrEqual(before);
}, 60_000);

/** A camera with a serial number of its own. */
const numbered = (serial: string) =>
  cameraModel({
    before: ({ operation }) =>
      operation === 'GetDeviceInformation'
        ? {
            body: soap(
              `<tds:GetDeviceInformationResponse><tds:Manufacturer>Example</tds:Manufacturer><tds:Model>007</tds:Model><tds:SerialNumber>${serial}</tds:SerialNumber></tds:GetDeviceInformationResponse>`,
            ),
          }
        : undefined,
  });

test('a camera is added, replaced and removed while siteward runs, and is the one it was', async () => {
  const model = numbered('SN-0815');
  const first = await startCamera(model.script);
  opened.push(first);
  const before = readFileSync(site.config, 'utf8');
  const added = await run(['add', first.url, '--id', 'gate', '--zone', '23', '--config', site.config, '--reload']);
  expect(added).toMatchObject({
    code: 0,
    err: expect.stringMatching(askedOnly),
    out: expect.stringContaining('siteward has taken it'),
  });
  await eventually('its events', async () => ((await one('gate'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  model.queue.push(motion(true));
  await eventually(
    'its motion',
    async () =>
      lines<CameraMessage>((await run(['events', 'gate', '--json', '--for', '0s'])).out).length > 0 ? true : undefined,
    { timeoutMs: 30_000 },
  );
  // The same device under another address: the daemon knows its serial number.
  const alias = await startCamera(model.script);
  opened.push(alias);
  const same = await run(['add', alias.url, '--id', 'other', '--config', site.config]);
  expect(same).toMatchObject({
    code: 65,
    err: expect.stringContaining('this is gate, which has the same serial number'),
  });

  const made = makeCertificate();
  const next = cameraModel();
  const second = await startCamera(next.script, 0, made);
  opened.push(second);
  const asked = first.seen.length;
  const replaced = await run(['replace', 'gate', second.url, '--config', site.config, '--reload']);
  expect(replaced).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
  await eventually('the new one', async () => ((await one('gate'))?.url === second.url ? true : undefined), {
    timeoutMs: 30_000,
  });
  await eventually('its events', async () => ((await one('gate'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  expect(await one('gate')).toMatchObject({ zone: '23', url: second.url });
  // Nothing of the new one is told to the old one: only its own pull point is ended there.
  const after = first.seen.slice(asked).map(({ operation }) => operation);
  expect(after.filter((operation) => operation !== 'Unsubscribe' && operation !== 'PullMessages')).toEqual([]);
  expect(model.live.size).toBe(0);

  const removed = await run(['remove', 'gate', '--yes', '--config', site.config, '--reload']);
  expect(removed).toMatchObject({ code: 0, err: '' });
  expect(await one('gate')).toBeUndefined();
  expect(readFileSync(site.config, 'utf8')).toBe(before);
  await eventually('the goodbye', async () => (next.live.size === 0 ? true : undefined), { timeoutMs: 10_000 });
}, 180_000);

test('a camera that was taken out of the file is added under another id before the daemon has taken that', async () => {
  const camera = await startCamera(numbered('SN-0815').script);
  opened.push(camera);
  const before = readFileSync(site.config, 'utf8');
  const at = ['--config', site.config];
  expect(await run(['add', camera.url, '--id', 'old', ...at, '--reload'])).toMatchObject({ code: 0 });
  await eventually('its events', async () => ((await one('old'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  expect(await run(['add', camera.url.replace('127.0.0.1', 'localhost'), '--id', 'new', ...at])).toMatchObject({
    code: 65,
    err: expect.stringContaining('this is old, which has the same serial number'),
  });
  expect(await run(['remove', 'old', '--yes', ...at])).toMatchObject({ code: 0 });
  expect(await one('old')).toBeDefined();
  expect(await run(['add', camera.url, '--id', 'new', ...at, '--reload'])).toMatchObject({ code: 0 });
  await eventually('its events', async () => ((await one('new'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  expect(await run(['remove', 'new', '--yes', ...at, '--reload'])).toMatchObject({ code: 0 });
  expect(readFileSync(site.config, 'utf8')).toBe(before);
}, 120_000);

test('a camera that got another address is recognised as the one that is missing', async () => {
  const { script } = numbered('SN-4711');
  const first = await startCamera(script);
  const before = readFileSync(site.config, 'utf8');
  expect(await run(['add', first.url, '--id', 'dhcp', '--config', site.config, '--reload'])).toMatchObject({ code: 0 });
  await eventually('its events', async () => ((await one('dhcp'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  const second = await startCamera(script);
  opened.push(second);
  const discover = (...more: string[]) =>
    run(['discover', `127.0.0.1:${second.port}`, '--for', '1s', '--config', site.config, ...more]);
  // While it answers there as well, it is only another way to it.
  const both = await discover();
  expect(both.out).toContain('dhcp, at another address');
  expect(both.out).not.toMatch(/camera (replace|test)/);
  await first.close();
  await eventually('its absence', async () => ((await one('dhcp'))?.reachable === false ? true : undefined), {
    timeoutMs: 60_000,
  });
  const { out } = await discover();
  expect(out).toContain(`siteward camera replace dhcp ${second.url} --reload`);
  expect(out).toContain('DHCP reservation');
  const json = await discover('--json');
  expect(lines(json.out)).toMatchObject([{ configured: null, same_as: 'dhcp' }]);
  writeFileSync(site.config, before);
  site.daemon.reload();
  await eventually('its end', async () => ((await one('dhcp')) === undefined ? true : undefined), {
    timeoutMs: 30_000,
  });
}, 180_000);

test('a certificate that changed is refused until a person accepts it', async () => {
  const model = cameraModel();
  const certificates = [makeCertificate(), makeCertificate()];
  const first = await startCamera(model.script, 0, certificates[0]);
  const entry = `  - { id: pinned, url: "${first.url}" }\n`;
  const before = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, before.replace('  # Looks at the yard.\n', `  # Looks at the yard.\n${entry}`));
  site.daemon.reload();
  await eventually('its events', async () => ((await one('pinned'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  await first.close();
  const second = await startCamera(model.script, first.port, certificates[1]);
  opened.push(second);
  const refused = await eventually(
    'the refusal',
    async () => {
      const now = await one('pinned');
      return now?.events === false && now.reason?.includes('another certificate') ? now : undefined;
    },
    { timeoutMs: 60_000 },
  );
  expect(refused.reason).toContain('siteward camera trust pinned');
  expect(refused.certificate_refused).toBe(true);
  expect((await run(['list'])).out).toMatch(/^pinned +OTHER CERTIFICATE/m);
  expect(second.seen).toEqual([]);
  const nobody = await run(['trust', 'pinned']);
  expect([nobody.code, nobody.out]).toEqual([2, '']);
  for (const at of [0, 1]) expect(nobody.err).toContain(certificates[at]?.fingerprint);
  expect(await run(['trust', 'pinned', '--fingerprint', `${certificates[0]?.fingerprint}`])).toMatchObject({
    code: 65,
  });
  expect(second.seen).toEqual([]);
  const trusted = await run(['trust', 'pinned', '--json', '--fingerprint', `${certificates[1]?.fingerprint}`]);
  expect(JSON.parse(trusted.out)).toEqual({ trusted: 'pinned', fingerprint: certificates[1]?.fingerprint });
  await eventually('its events again', async () => ((await one('pinned'))?.events === true ? true : undefined), {
    timeoutMs: 60_000,
  });
  expect(await run(['trust', 'gone'])).toMatchObject({ code: 66 });
  writeFileSync(site.config, before);
  site.daemon.reload();
  await eventually('its end', async () => ((await one('pinned')) === undefined ? true : undefined), {
    timeoutMs: 30_000,
  });
}, 180_000);

test('a certificate that the configuration names is changed there', async () => {
  const model = cameraModel();
  const [old, next] = [makeCertificate(), makeCertificate()];
  const first = await startCamera(model.script, 0, old);
  const before = readFileSync(site.config, 'utf8');
  const args = ['--config', site.config, '--reload'];
  await run(['add', first.url, '--id', 'named', ...args]);
  const named = () => (parse(readFileSync(site.config, 'utf8')) as Settings).cameras.find(({ id }) => id === 'named');
  expect(named()?.tls_fingerprint).toBe(old.fingerprint);
  await first.close();
  const second = await startCamera(model.script, first.port, next);
  opened.push(second);
  await eventually(
    'the refusal',
    async () => ((await one('named'))?.reason?.includes('camera trust named --reload') ? true : undefined),
    { timeoutMs: 60_000 },
  );
  const wrong = await run(['trust', 'named', '--fingerprint', makeCertificate().fingerprint, ...args]);
  expect(wrong).toMatchObject({ code: 65, out: '' });
  expect([named()?.tls_fingerprint, second.seen]).toEqual([old.fingerprint, []]);
  const trusted = await run(['trust', 'named', '--fingerprint', next.fingerprint.toLowerCase(), ...args]);
  expect(trusted).toMatchObject({ code: 0, out: expect.stringContaining('siteward has taken it') });
  expect(named()?.tls_fingerprint).toBe(next.fingerprint);
  await eventually('its events', async () => ((await one('named'))?.events === true ? true : undefined), {
    timeoutMs: 60_000,
  });
  expect((await one('named'))?.certificate_refused).toBeUndefined();
  expect(await run(['remove', 'named', '--yes', ...args])).toMatchObject({ code: 0 });
  expect(readFileSync(site.config, 'utf8')).toBe(before);
}, 180_000);

test('a camera that is replaced at its address is the one that is meant', async () => {
  let serial = 'OLD-00001';
  const names = () => ({
    body: soap(
      `<tds:GetDeviceInformationResponse><tds:Manufacturer>Example</tds:Manufacturer><tds:Model>M7</tds:Model><tds:FirmwareVersion>1</tds:FirmwareVersion><tds:SerialNumber>${serial}</tds:SerialNumber><tds:HardwareId>1</tds:HardwareId></tds:GetDeviceInformationResponse>`,
    ),
  });
  let isAway = false;
  const place = await startCamera(
    cameraModel({
      before: ({ operation }) => {
        if (isAway) return { reset: true };
        return operation === 'GetDeviceInformation' ? names() : undefined;
      },
    }).script,
  );
  opened.push(place);
  const before = readFileSync(site.config, 'utf8');
  const args = ['--config', site.config, '--reload'];
  await run(['add', place.url, '--id', 'swap', ...args]);
  const events = (is: boolean) =>
    eventually('its events', async () => ((await one('swap'))?.events === is ? true : undefined), {
      timeoutMs: 60_000,
    });
  await events(true);
  isAway = true;
  await events(false);
  [isAway, serial] = [false, 'NEW-00002'];
  const replaced = await run(['replace', 'swap', place.url, ...args]);
  expect(replaced).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
  expect(replaced.out).toContain('swap is Example M7 serial NEW-00002 from now on');
  await events(true);
  const now = await one('swap');
  expect(now).toMatchObject({ serial: 'NEW-00002', hints: [] });
  expect(now?.troubles.filter(({ kind }) => kind.includes('tamper'))).toEqual([]);
  const unsaid = await run(['replace', 'swap', place.url, '--config', site.config]);
  expect(unsaid.err).toContain('siteward camera trust swap');
  await run(['remove', 'swap', '--yes', ...args]);
  expect(readFileSync(site.config, 'utf8')).toBe(before);
}, 180_000);

test('while siteward rests after a refused password, a test of that camera tries none', async () => {
  let isOpen = true;
  const tried = ({ headers }: Seen) => headers.authorization !== undefined;
  const challenge = { 'www-authenticate': 'Digest realm="x", nonce="n", qop="auth"' };
  const guarded = await startCamera(
    cameraModel({
      before: (request) => {
        if (request.operation === 'GetSystemDateAndTime' || (isOpen && tried(request))) return undefined;
        return { status: 401, headers: challenge };
      },
    }).script,
  );
  opened.push(guarded);
  const before = readFileSync(site.config, 'utf8');
  const args = ['--config', site.config];
  const user = ['--user', 'siteward', '--password-stdin'];
  await run(['add', guarded.url, '--id', 'guarded', ...user, ...args, '--reload'], 'word');
  await eventually('its events', async () => ((await one('guarded'))?.events === true ? true : undefined), {
    timeoutMs: 30_000,
  });
  isOpen = false;
  await eventually('the refusal', async () => ((await one('guarded'))?.authenticated === false ? true : undefined), {
    timeoutMs: 60_000,
  });
  await eventually('the rest', async () => (await one('guarded'))?.login_held_s, { timeoutMs: 60_000 });
  const tries = () => guarded.seen.filter(tried).length;
  const from = tries();
  const tested = await run(['test', 'guarded', ...args]);
  expect(tested).toMatchObject({ code: 77, out: '', err: expect.stringContaining('--anyway') });
  expect(tested.err).toMatch(/for another 1[0-5] min.*\(camera_auth\)/);
  const held = [
    await run(['test', guarded.url, ...user, ...args], 'another'),
    await run(['test', 'guarded', ...user, ...args], 'another'),
    await run(['replace', 'guarded', guarded.url, ...user, ...args], 'another'),
  ];
  for (const ran of held) expect(ran).toMatchObject({ code: 77, err: expect.stringContaining('for another 1') });
  expect(tries()).toBe(from);
  expect(await run(['test', 'guarded', '--anyway', ...args])).toMatchObject({ code: 77 });
  expect(tries()).toBe(from + 2);
  expect(await run(['replace', 'guarded', guarded.url, '--anyway', ...user, ...args], 'another')).toMatchObject({
    code: 77,
  });
  expect(tries()).toBe(from + 4);
  await run(['remove', 'guarded', '--yes', ...args, '--reload']);
  expect(readFileSync(site.config, 'utf8')).toBe(before);
}, 180_000);

test('a file that siteward does not take is told with --reload', async () => {
  const plain = await startCamera(cameraModel().script);
  opened.push(plain);
  const before = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, before.replace('external_id: sw-proof', 'external_id: sw-other'));
  const ran = await run(['add', plain.url, '--id', 'late', '--config', site.config, '--reload']);
  expect(ran.code).toBe(78);
  expect(ran.err).toMatch(/the change is written, but .*: bridge.external_id cannot change/);
  expect(parse(readFileSync(site.config, 'utf8')).cameras).toHaveLength(4);
  writeFileSync(site.config, before);
  site.daemon.reload();
}, 60_000);

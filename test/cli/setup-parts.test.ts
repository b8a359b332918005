import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { openListener } from '#cli/setup/own-listener.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { freePort } from '#sandbox/demo/processes.ts';
import { type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { recorderChannel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { certificate } from '../harness/certificate.ts';
import { type SetupRig, setupRig } from './setup-rig.ts';

/** A picture that JPEG can make little of. */
async function noise(width: number, height: number): Promise<Uint8Array> {
  const grain = `nullsrc=s=${width}x${height},geq=random(1)*255:128:128`;
  const args = [
    '-loglevel',
    'error',
    '-f',
    'lavfi',
    '-i',
    grain,
    '-frames:v',
    '1',
    '-q:v',
    '4',
    '-f',
    'image2',
    'pipe:1',
  ];
  return (await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 })).stdout;
}
const run = promisify(execFile);

let rig: SetupRig;
let recorder: ScriptedCamera;
let port: number;
beforeAll(async () => {
  rig = await setupRig();
  const large = await noise(2560, 1440);
  expect(large.length).toBeGreaterThan(512 * 1024);
  const model = recorderModel({
    channels: [recorderChannel(1, { picture: large }), recorderChannel(2), recorderChannel(3)],
  });
  recorder = await startCamera(model.script);
  port = await freePort();
}, 120_000);
afterAll(async () => {
  await rig?.close();
  await recorder?.close();
});

const passwords = { recorder: 'rig-nvr-password', horn: 'rig-horn-password', account: 'rig gate wall password' };
const keyFile = () => join(rig.folder, 'tablet.key');

function writeAnswers(): void {
  writeFileSync(
    join(rig.folder, 'answers.yaml'),
    `site: { external_id: shop-8, timezone: Europe/Berlin }
bridge: { external_id: sw-shop-8 }
partitions: [ { id: p1, name: Shop } ]
settings:
  mqtt: { broker: embedded, listen: "127.0.0.1:${rig.mqttPort}" }
  http: { control_socket: ${rig.socket}, listen: "127.0.0.1:${port}" }
  store: { dir: ${join(rig.folder, 'state')} }
recorders:
  - address: "${recorder.url}"
    id: rec
    name: Recorder
    user: siteward
    password_file: ${rig.secret('nvr', passwords.recorder)}
    channels:
      - { position: 1, name: Door, zone: "31", partition: p1, pictures: always }
      - { position: 3, id: rec-back }
speakers:
  - { id: horn, driver: http, push: { url: "http://127.0.0.2:9/play" }, username: siteward, password_file: ${rig.secret('horn', passwords.horn)} }
  - { id: back, driver: onvif, camera: rec-back }
account: { id: ines, role: installer, password_file: ${rig.secret('account', passwords.account)} }
api_keys: [ { name: Wall tablet, scopes: [ state, events ], file: ${keyFile()} } ]
`,
  );
}

const setup = async (more: readonly string[] = [], until?: string) => {
  const args = ['setup', '--config', rig.config, '--socket', rig.socket, '--answers', join(rig.folder, 'answers.yaml')];
  const ran = await rig.run([...args, '--non-interactive', '--json', ...more], until);
  const told = ran.out
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as { step: string; state: string; words: string; did: boolean });
  return { ...ran, told, states: Object.fromEntries(told.map(({ step, state }) => [step, state])) };
};
const written = () => parse(readFileSync(rig.config, 'utf8'));
const agent = new Agent({ connect: { rejectUnauthorized: false } });
afterAll(() => agent.destroy());
const statusWith = async (key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}` };
  const { statusCode, body } = await request(`https://127.0.0.1:${port}/api/v1/status`, { dispatcher: agent, headers });
  await body.dump();
  return statusCode;
};

test('recorders, speakers on the network and keys of programs are taken from the answers, each once', {
  timeout: 240_000,
}, async () => {
  writeAnswers();
  // A channel that there is not, and a speaker that cannot be: nothing of either is written.
  const wrong = await setup(['--set', 'recorders.0.channels.1.position=4', '--set', 'speakers.0.rate=7']);
  expect(wrong.states).toMatchObject({ site: 'done', recorders: 'failed' });
  expect(wrong.told.find(({ step }) => step === 'recorders')?.words).toContain(
    'rec has 3 channels; there is none at position 4',
  );
  expect(written()).not.toHaveProperty('nvrs');
  expect(existsSync(join(rig.folder, 'secrets'))).toBe(false);

  const first = await setup(['--set', 'speakers.0.rate=7']);
  expect(first.states).toMatchObject({ recorders: 'done', speakers: 'failed', daemon: 'open', api_keys: 'waiting' });
  expect(existsSync(join(rig.folder, 'secrets', 'speaker-horn'))).toBe(false);
  expect(written().nvrs).toEqual([
    {
      ...{ id: 'rec', name: 'Recorder', url: recorder.url, username: 'siteward' },
      password: { file: join(rig.folder, 'secrets', 'camera-rec') },
      channels: [
        { id: 'rec-1', source: 'VideoSource_1', name: 'Door', zone: '31', partition: 'p1', pictures: 'always' },
        { id: 'rec-back', source: 'VideoSource_3' },
      ],
    },
  ]);

  await rig.startDaemon();
  const next = await setup();
  expect(next.told.filter(({ state }) => state === 'failed')).toEqual([]);
  expect(next.states).toMatchObject({ recorders: 'done', speakers: 'done', daemon: 'done', api_keys: 'done' });
  expect(written().speakers).toMatchObject([
    { id: 'horn', driver: 'http', password: { file: join(rig.folder, 'secrets', 'speaker-horn') } },
    { id: 'back', driver: 'onvif', camera: 'rec-back' },
  ]);
  expect(written().speakers[0]).not.toHaveProperty('password_file');
  expect(readFileSync(join(rig.folder, 'secrets', 'speaker-horn'), 'utf8')).toBe(`${passwords.horn}\n`);

  const keyOf = () => readFileSync(keyFile(), 'utf8').trim();
  const key = keyOf();
  expect(key).toMatch(/^sw_[0-9a-z]{8}_[\w-]{43}$/);
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  expect(await statusWith(key)).toBe(200);
  const listed = async () => JSON.parse((await rig.run(['access', 'list', '--socket', rig.socket, '--json'])).out);
  expect(await listed()).toMatchObject({
    people: [{ id: 'ines', role: 'installer' }],
    keys: [{ name: 'Wall tablet', scopes: ['state', 'events'], created_by: 'ines' }],
    sessions: [],
  });

  // Of the camera that allows one a picture, made smaller; of the other the reason.
  const out = join(rig.folder, 'report.html');
  const again = await setup(['--report', out]);
  const html = readFileSync(out, 'utf8');
  const [, base64 = '', ...others] = html.split('data:image/jpeg;base64,');
  expect(others).toEqual([]);
  expect(readJpeg(Buffer.from(base64.slice(0, base64.indexOf('"')), 'base64'))).toMatchObject({
    width: 1280,
    height: 720,
  });
  const why = expect.stringMatching(/of rec-back allows pictures only with an alarm/);
  expect([html, again.err]).toEqual([why, why]);
  for (const text of ['rec-1: Door', 'No picture: &quot;pictures: alarm&quot; of rec-back', 'Wall tablet'])
    expect(html).toContain(text);
  for (const secret of [...Object.values(passwords), key]) expect(html).not.toContain(secret);
  expect(again.told.filter(({ did }) => did)).toEqual([]);
  expect(keyOf()).toBe(key);

  // Ended between the two: the key that nobody has goes, another one is made, by the account that is there now.
  writeFileSync(keyFile(), '');
  expect((await setup(['--only', 'api_keys'])).states).toMatchObject({ api_keys: 'done' });
  const { keys } = (await listed()) as { keys: { id: string }[] };
  expect(keyOf()).not.toBe(key);
  expect(await statusWith(keyOf())).toBe(200);
  // The first one was used, and may be somebody's.
  expect(keys).toHaveLength(2);
  const other = await setup([
    '--only',
    'api_keys',
    '--set',
    `api_keys.1={name: Gate, scopes: [state], file: ${keyFile()}}`,
  ]);
  expect(other.told.find(({ step }) => step === 'api_keys')).toMatchObject({
    state: 'failed',
    words: expect.stringContaining('is there already'),
  });
  expect(((await listed()) as { keys: unknown[] }).keys).toHaveLength(2);

  const progress = readFileSync(join(rig.folder, 'state', 'setup.json'), 'utf8');
  for (const { out, err } of [wrong, first, next, again, other])
    for (const secret of [...Object.values(passwords), key, keyOf()])
      expect(out + err + progress).not.toContain(secret);
});

test('a password goes to nobody who only listens in the place of siteward', async () => {
  const { cert, key } = certificate(rig.folder);
  let asked = 0;
  const server = createServer({ cert, key }, (_, response) => {
    asked += 1;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using listener = openListener({ listen, fingerprint: 'AB:'.repeat(31).concat('AB') }, {});
  const login = listener.client.login({
    body: { id: 'ines', password: passwords.account },
    signal: AbortSignal.timeout(10_000),
  });
  await expect(login).rejects.toMatchObject({ code: 'control_unreachable' });
  expect(asked).toBe(0);
});

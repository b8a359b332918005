import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CameraEntry, CameraMessage } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { person, type RecorderModel, recorderChannel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { type Site, startSite } from '../harness/site.ts';
import { askedOnly, siteward } from './run-cli.ts';

let site: Site;
let model: RecorderModel;
let recorder: ScriptedCamera;
beforeAll(async () => {
  model = recorderModel({ channels: [recorderChannel(1), recorderChannel(2), recorderChannel(3)] });
  recorder = await startCamera(model.script);
  site = await startSite({ broker: 'embedded', yaml: () => 'partitions: [ { id: p1, name: Shop } ]\n# The end.' });
}, 120_000);
afterAll(async () => {
  await site?.close();
  await recorder?.close();
});

const run = (...args: string[]) => siteward(['camera', ...args], { SITEWARD_SOCKET: site.socket });
const adding = (...more: string[]) => run('add', recorder.url, '--id', 'rec', '--config', site.config, ...more);
const lines = <T>(out: string): T[] =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
const listed = async () => lines<CameraEntry>((await run('list', '--json')).out);

test('a recorder is offered with its channels, added with them, watched, and removed with them', async () => {
  const before = readFileSync(site.config, 'utf8');
  const asked = await adding();
  expect(asked).toMatchObject({ code: 65, out: '' });
  expect(asked.err).toContain('(VideoSource_1, VideoSource_2, VideoSource_3): say --nvr to add it with its 3 channels');
  expect(await adding('--nvr', '--zone', '21')).toMatchObject({ code: 2, err: expect.stringContaining('channels') });
  expect(readFileSync(site.config, 'utf8')).toBe(before);

  const added = await adding('--nvr', '--name', 'Recorder', '--reload');
  expect(added).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
  expect(added.out).toMatch(/channels +VideoSource_1 1920x1080, VideoSource_2 1920x1080/);
  expect(readFileSync(site.config, 'utf8')).toBe(`${before}nvrs:
  - id: rec
    name: Recorder
    url: ${recorder.url}
    channels:
      - { id: rec-1, source: VideoSource_1 }
      - { id: rec-2, source: VideoSource_2 }
      - { id: rec-3, source: VideoSource_3 }
`);
  const all = await eventually(
    'the recorder',
    async () => {
      const now = await listed();
      return now.length === 4 && now.every(({ events, state }) => events === true && state !== 'unknown')
        ? now
        : undefined;
    },
    { timeoutMs: 60_000 },
  );
  expect(all).toMatchObject([
    { id: 'rec', kind: 'nvr', name: 'Recorder', reachable: true },
    { id: 'rec-1', kind: 'channel', nvr: 'rec', state: 'bound', source: 'VideoSource_1', mapping: 'exact' },
    { id: 'rec-2', kind: 'channel', nvr: 'rec', source: 'VideoSource_2' },
    { id: 'rec-3', kind: 'channel', nvr: 'rec', source: 'VideoSource_3' },
  ]);

  model.queue.push(person(2));
  const seen = await eventually(
    'the person',
    async () => lines<CameraMessage>((await run('events', 'rec-2', '--json', '--for', '0s')).out).at(-1),
    { timeoutMs: 30_000 },
  );
  expect(seen.signals).toEqual([{ device: 'camera rec-2', detection: 'person', state: 'on', replay: false }]);
  expect((await run('events', 'rec-1', '--json', '--for', '0s')).out).toBe('');
  expect((await run('events', 'rec', '--json', '--for', '0s')).out).toContain('camera rec-2');

  expect(await run('remove', 'rec-2', '--yes', '--config', site.config)).toMatchObject({
    code: 65,
    err: expect.stringContaining('a channel of the recorder rec'),
  });
  model.channels = [recorderChannel(1), recorderChannel(2)];
  const replaced = await run('replace', 'rec', recorder.url, '--config', site.config);
  expect(replaced).toMatchObject({ code: 0, err: expect.stringContaining('no picture for rec-3') });
  expect((await run('remove', 'rec', '--yes', '--config', site.config, '--reload')).code).toBe(0);
  expect(await listed()).toEqual([]);
  expect(readFileSync(site.config, 'utf8')).toBe(`${before}nvrs: []\n`);
}, 180_000);

test('of a recorder that is replaced no picture or stream address of the old one stays, and who is named by place is told', async () => {
  const file = join(site.folder, 'moved.yaml');
  const given = join(site.folder, 'moved-password');
  writeFileSync(given, 'secret');
  writeFileSync(
    file,
    `site: { id: "1", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Shop } ]
store: { dir: ${join(site.folder, 'moved')} }
nvrs:
  - id: old
    url: http://192.0.2.9/onvif/device_service
    channels:
      - { id: door, source: VideoSource_1, snapshot_url: "http://192.0.2.9:8080/1.jpg", stream_url: "rtsp://192.0.2.77/1" }
      - { id: hall, position: 2, snapshot_url: "http://192.0.2.77/2.jpg", stream_url: "rtsp://192.0.2.9/2" }
      - { id: roof, position: 9, stream_url: "rtsps://192.0.2.9:322/9" }
`,
  );
  const password = ['--user', 'u', '--password-file', given];
  const ran = await run('replace', 'old', recorder.url, '--config', file, ...password);
  expect(ran.code).toBe(0);
  expect(ran.err).toMatch(/no picture for roof;[\s\S]*hall will be doubted/);
  const now = readFileSync(file, 'utf8');
  expect(now).not.toContain('192.0.2.9');
  expect(now).toContain('http://192.0.2.77/2.jpg');
  expect(now).toContain('rtsp://192.0.2.77/1');
});

test.skipIf(process.getuid?.() !== 0)(
  'written by root, the password is readable for the user of the state directory',
  async () => {
    const folder = join(site.folder, 'other');
    mkdirSync(join(folder, 'state'), { recursive: true });
    chownSync(join(folder, 'state'), 4711, 4712);
    const file = join(folder, 'siteward.yaml');
    writeFileSync(
      file,
      `site: { id: "1", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Shop } ]
store: { dir: ${join(folder, 'state')} }
`,
    );
    const given = join(folder, 'given');
    writeFileSync(given, 'secret');
    const password = ['--user', 'u', '--password-file', given];
    const ran = await run('add', recorder.url, '--id', 'rec', '--config', file, '--nvr', ...password);
    expect(ran).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
    for (const path of [join(folder, 'secrets'), join(folder, 'secrets', 'camera-rec')])
      expect(statSync(path)).toMatchObject({ uid: 4711, gid: 4712 });
  },
);

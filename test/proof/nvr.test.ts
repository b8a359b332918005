import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { notification, type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { digitalInput, person, picture, type RecorderModel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { code, type Site, startSite } from '../harness/site.ts';

/** A real daemon, cloud and control socket, and a recorder of eight channels over its own socket. */
let model: RecorderModel;
let recorder: ScriptedCamera;
let site: Site;

beforeAll(async () => {
  model = recorderModel({ holdMs: 200 });
  model.queue.push(digitalInput('In_1', false, 'Initialized'));
  recorder = await startCamera(model.script);
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
supervision: { cameras: { report_after: 0s } }
nvrs:
  - id: rec
    url: ${recorder.url}
    channels:
      - { id: door, source: VideoSource_1, zone: "31" }
      - { id: yard, source: VideoSource_2, zone: "32", zone_type: 24h_burglary }
      - { id: lane, position: 3 }
    inputs: { In_1: { zone: "41", zone_type: perimeter } }
`,
  });
  await site.lan.shows('link/nvr/rec', 'online', 60_000);
}, 120_000);

afterAll(async () => {
  await site?.close();
  await recorder?.close();
});

const history = async (
  what: string,
  found: (event: Awaited<ReturnType<Site['history']>>[number]['event']) => boolean,
) =>
  eventually(what, async () => (await site.history()).find(({ event }) => found(event))?.event, { timeoutMs: 90_000 });
const count = async (kind: string) =>
  (await site.history()).filter(({ event }) => event.class === 'trouble' && event.kind === kind).length;
const hashes = (number: number) => createHash('sha256').update(picture(number)).digest('hex');
const changed = notification({ topic: 'tns1:Media/ProfileChanged', source: { Token: 'x' } });

it('a person in a channel opens its zone and is an alarm with its picture; in another channel it is not', async () => {
  await site.lan.shows('camera/yard/availability', 'online');
  await site.lan.shows('camera/lane/availability', 'online');
  const { cameras } = (await site.api('/api/v1/status')) as StatusDocument;
  expect(cameras.map(({ kind, id, up }) => [kind, id, up])).toEqual([
    ['nvr', 'rec', true],
    ['camera', 'door', true],
    ['camera', 'yard', true],
    ['camera', 'lane', true],
  ]);
  model.queue.push(person(3), person(7));
  await history('the person in the lane', ({ camera, kind }) => camera === 'lane' && kind === 'person');
  expect((await site.history()).filter(({ event }) => event.class === 'alarm')).toEqual([]);
  model.queue.push(person(2));
  const alarm = await history('the alarm', (event) => event.class === 'alarm');
  expect(alarm).toMatchObject({ zone: '32', camera: 'yard', source: 'camera:yard' });
  expect(((await site.api('/api/v1/status')) as StatusDocument).zones.open).toEqual(['32']);
  const sent = await eventually(
    'the picture in the cloud',
    async () => (await site.cloud.uploads()).find(({ event_id: id }) => id === alarm.event_id),
    { timeoutMs: 60_000 },
  );
  expect(sent.sha256).toBe(hashes(2));
  model.queue.push(person(2, false));
  await site.lan.shows('zone/32/state', 'OFF');
}, 120_000);

it('a contact wired to the recorder is a zone of the site', async () => {
  await site.lan.shows('zone/41/state', 'OFF');
  const order = (verb: string) => siteward([verb, 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  // Ends the alarm of the story before.
  await order('disarm');
  expect(await order('arm')).toMatchObject({ code: 0, err: '' });
  await site.lan.shows('partition/p1/state', 'armed_away', 30_000);
  model.queue.push(digitalInput('In_1', true));
  await history('its alarm', ({ class: name, zone }) => name === 'alarm' && zone === '41');
  await order('disarm');
  await site.lan.shows('partition/p1/state', 'disarmed', 30_000);
}, 120_000);

it('a channel that vanishes is a trouble of that camera alone, and comes back by itself', async () => {
  const all = model.channels;
  model.channels = all.filter(({ source }) => source !== 'VideoSource_2');
  // Asked at most each half minute, and told when it has lasted as long.
  const say = setInterval(() => model.queue.push(changed), 2000);
  try {
    await history('the loss', (event) => event.kind === 'video_loss' && event.status === 'active');
    const hints = ((await site.api('/api/v1/status')) as StatusDocument).hints;
    expect(hints.map(({ device, text }) => `${device}: ${text}`)).toContain(
      'nvr rec: channel yard is not there: the recorder lists no source VideoSource_2',
    );
    model.channels = all;
    await history('its end', (event) => event.kind === 'video_loss' && event.status === 'restored');
  } finally {
    clearInterval(say);
  }
  expect(
    (await site.history()).filter(({ event }) => event.kind === 'video_loss').map(({ event }) => event.camera),
  ).toEqual(['yard', 'yard']);
  expect(await count('device_offline')).toBe(0);
}, 240_000);

it('a recorder that is away is one trouble, also over a restart of the daemon, and its channels are heard again', async () => {
  const { script } = recorder;
  recorder.script = () => ({ reset: true });
  await history('the loss', (event) => event.kind === 'device_offline' && event.status === 'active');
  for (const id of ['door', 'yard', 'lane']) await site.lan.shows(`camera/${id}/availability`, 'offline');
  await site.daemon.restart();
  recorder.script = script;
  await site.lan.shows('link/nvr/rec', 'online', 90_000);
  await history('the return', (event) => event.kind === 'device_offline' && event.status === 'restored');
  expect(
    (await site.history()).filter(({ event }) => event.kind === 'device_offline').map(({ event }) => event.source),
  ).toEqual(['nvr:rec', 'nvr:rec']);
  const before = (await site.history()).filter(({ event }) => event.zone === '32' && event.class === 'alarm').length;
  model.queue.push(person(2));
  await eventually(
    'the alarm after the restart',
    async () =>
      (await site.history()).filter(({ event }) => event.zone === '32' && event.class === 'alarm').length > before
        ? true
        : undefined,
    { timeoutMs: 60_000 },
  );
}, 240_000);

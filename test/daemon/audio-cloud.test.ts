import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { writeWav } from '#devices/audio/wav.ts';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { keyPair } from '../cloud/support.ts';
import { until } from '../harness/until.ts';
import { type AudioSite, audioSite, heardFiles } from './audio-rig.ts';

const { signal } = new AbortController();
const apiKey = 'api-key-which-nobody-sees';
let sandbox: SandboxCloud;
let siteId: string;
beforeAll(async () => {
  sandbox = await startCloud({ listen: { host: '127.0.0.1', port: 0 }, clients: [], dealers: defaultSeed().dealers });
  siteId = String(sandbox.sites()[0]?.site_id);
  sandbox.issueToken('api_key', { lifetimeS: 3600, token: apiKey });
  Object.assign(process.env, { AUDIO_EVENT_KEY: keyPair().pem.reveal(), AUDIO_API_KEY: apiKey });
});
afterAll(() => sandbox.close());

const speakers = 'speakers: [ { id: gate, driver: capture, cloud_device_id: DEVICE }, { id: hall, driver: "null" } ]\n';
const cloud = () => `cloud:
  base_url: ${sandbox.url}
  auth_url: ${sandbox.url}
  ext_base_url: ${sandbox.url}
  events: { client_id: bridge-1, private_key: { env: AUDIO_EVENT_KEY } }
  api_key: { env: AUDIO_API_KEY }
`;
const allowed = 'audio: { via_cloud: true }\n';

interface Started extends AudioSite {
  readonly dir: string;
  readonly lines: string[];
}

async function started(yaml: string, dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'))): Promise<Started> {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const site = audioSite(dir, { siteId, log });
  onTestFinished(async () => {
    await site.slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const device = String(await aDevice());
  await site.start(yaml.replace('DEVICE', `"${device}"`));
  site.house.catalogue?.retryNow();
  return { ...site, dir, lines };
}

/** An id of the service for a device of the site. */
async function aDevice(): Promise<string> {
  const answer = await fetch(`${sandbox.url}/ext/v1/sites/${siteId}/audio-messages/msg-test/play`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${apiKey}` } },
  });
  const { data } = (await answer.json()) as { data: { devices: { device_id: string }[] } };
  return data.devices[0]?.device_id ?? '';
}

const listed = ({ port }: AudioSite) =>
  until(() => port.messages().some(({ source }) => source === 'cloud'), 'the messages of the service');
const calls = () => sandbox.log().filter((line) => line.path.endsWith('/msg-intruder/play'));
const audits = async ({ house }: AudioSite) =>
  ((await house.store?.audit({ limit: 20 })) ?? []).filter(({ action }) => action === 'audio_play');

describe('messages of the service at a daemon', () => {
  it('are listed beside ours; what stands for one of them is played here', async () => {
    const site = await started(`${speakers}${cloud()}`);
    await listed(site);
    const ids = site.port.messages().map(({ audio_message_id, source }) => [audio_message_id, source]);
    expect(ids).toContainEqual(['msg-intruder', 'cloud']);
    expect(ids).toContainEqual(['alarm.siren', 'builtin']);
    await site.house.audio?.library.match('alarm.siren', 'msg-intruder');
    const before = calls().length;
    const playback = await site.port.play({ audio_message_id: 'msg-intruder', volume: 20 }, 'local', signal);
    expect(playback).toMatchObject({ audio_message_id: 'msg-intruder', name: 'Siren' });
    await until(() => heardFiles(site.dir, 'gate').length === 1, 'the sound');
    expect(calls()).toHaveLength(before);
  });

  it('are not played by the service unless the configuration allows it', async () => {
    const site = await started(`${speakers}${cloud()}`);
    await listed(site);
    const before = calls().length;
    await expect(site.port.play({ audio_message_id: 'msg-intruder' }, 'local', signal)).rejects.toMatchObject({
      code: 'audio_unavailable',
      message: expect.stringContaining('audio.via_cloud'),
      facts: { field: 'audio_message_id' },
    });
    expect(calls()).toHaveLength(before);
    await until(async () => (await audits(site)).length === 1, 'the audit entry');
    expect(await audits(site)).toMatchObject([{ outcome: 'refused', reason: 'audio_unavailable' }]);
  });

  it('are played by the service where it is allowed, on the devices that are meant, and audited', async () => {
    const site = await started(`${speakers}${cloud()}${allowed}`);
    await listed(site);
    const wish = { audio_message_id: 'msg-intruder', volume: 35, target_devices: ['gate'] };
    const playback = await site.port.play(wish, 'client:kp1', signal);
    expect(playback).toMatchObject({ status: 'playing', volume: 35, devices: [{ device_id: 'gate' }] });
    expect(calls().at(-1)?.note).toContain('volume 35');
    expect(heardFiles(site.dir, 'gate')).toEqual([]);
    expect(site.port.playbacks()).toEqual([]);
    await expect(site.port.cancel({ playback: playback.playback_id }, true, 'local')).rejects.toMatchObject({
      code: 'audio_refused',
    });
    // Never all instead of one.
    const before = calls().length;
    for (const target of ['hall', 'nowhere'])
      await expect(site.port.play({ ...wish, target_devices: [target] }, 'client:kp1', signal)).rejects.toMatchObject({
        code: 'audio_invalid',
        facts: { field: 'target_devices' },
      });
    expect(calls()).toHaveLength(before);
    await until(async () => (await audits(site)).length === 3, 'the audit entries');
    expect((await audits(site)).at(-1)).toMatchObject({
      ...{ source: 'lan', client_id: 'kp1', target: 'message msg-intruder', outcome: 'done' },
      after: 'the service: gate',
    });
  });

  it('are asked for once by one id, also where the message was imported meanwhile', async () => {
    const site = await started(`${speakers}${cloud()}${allowed}`);
    await listed(site);
    const wish = { playback_id: 'the-same-id', audio_message_id: 'msg-intruder' };
    sandbox.plant({ path: `/ext/v1/sites/${siteId}/*`, method: 'POST', mode: 'reset', when: 'after' });
    const before = calls().length;
    const first = await site.port.play(wish, 'local', signal);
    expect(first).toMatchObject({ status: 'failed', devices: [{ reason: 'connection_lost' }] });
    expect(await site.port.play(wish, 'local', signal)).toEqual(first);
    await site.house.audio?.library.match('alarm.siren', 'msg-intruder');
    expect(await site.port.play(wish, 'local', signal)).toEqual(first);
    expect(calls()).toHaveLength(before + 1);
    expect(heardFiles(site.dir, 'gate')).toEqual([]);
    await expect(site.port.play({ ...wish, audio_message_id: 'test.tone1k' }, 'local', signal)).rejects.toMatchObject({
      code: 'audio_refused',
      facts: { reason: 'id_conflict' },
    });
    await until(async () => (await audits(site)).length > 0, 'the audit entry');
    expect((await audits(site)).at(-1)).toMatchObject({ outcome: 'refused', reason: 'connection_lost' });
  });

  it('are known after a restart without a service, and the key stands nowhere', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
    const site = await started(`${speakers}${cloud()}${allowed}`, dir);
    await listed(site);
    await until(async () => await site.house.store?.memory('audio').get('catalogue'), 'the kept list');
    const before = site.port.messages();
    await site.slots.stop();
    sandbox.plant({ path: '/ext/*', mode: 'reset', count: -1 });
    onTestFinished(() => sandbox.clearFaults());
    const lines: string[] = [];
    const next = audioSite(dir, { siteId, log: pino({ level: 'trace' }, { write: (line) => void lines.push(line) }) });
    onTestFinished(() => next.slots.stop());
    await next.start(`${speakers}${cloud()}${allowed}`.replace('DEVICE', '"7"'));
    await listed(next);
    expect(next.port.messages()).toEqual(before);
    const played = await next.port.play({ audio_message_id: 'msg-intruder' }, 'local', signal);
    expect(played.status).toBe('failed');
    const said = JSON.stringify([site.lines, lines, next.slots.health(), played]) + (await next.slots.metrics());
    expect(said).not.toContain(apiKey);
    expect(said).toContain('msg-intruder');
  });

  it('without a key or an address there are none, and that is no trouble', async () => {
    const bare = cloud().replace(/ {2}(ext_base_url|api_key).*\n/g, '');
    const site = await started(`${speakers}${bare}${allowed}`);
    expect(site.port.messages().some(({ source }) => source === 'cloud')).toBe(false);
    expect(site.slots.health().every(({ state }) => state === 'ok')).toBe(true);
    await expect(site.port.play({ audio_message_id: 'msg-intruder' }, 'local', signal)).rejects.toMatchObject({
      code: 'audio_unknown',
    });
  });
});

describe('a message in several languages', () => {
  it('is heard in the language that was asked for, that of the site, or English', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
    const site = audioSite(dir, { language: 'de-DE' });
    onTestFinished(async () => {
      await site.slots.stop();
      rmSync(dir, { recursive: true, force: true });
    });
    await site.start('speakers: [ { id: hall, driver: "null" } ]\n');
    const tone = (hertz: number) =>
      writeWav({
        ...{ rate: 48_000, channels: 1 },
        samples: Int16Array.from({ length: 24_000 }, (_, at) => Math.round(Math.sin((at * hertz) / 7_639) * 20_000)),
      });
    for (const [key, hertz] of Object.entries({ 'hint.de': 500, 'hint.en': 600, 'only.en': 700 }))
      await site.house.audio?.library.import({ source: [tone(hertz)], fields: { name: key, key } }, signal);
    const heard = async (id: string) =>
      (await site.port.play({ audio_message_id: id, volume: 1 }, 'local', signal)).name;
    expect(await heard('hint.en')).toBe('hint.en');
    expect(await heard('hint')).toBe('hint.de');
    expect(await heard('hint.fr')).toBe('hint.de');
    expect(await heard('only')).toBe('only.en');
    expect(await heard('only.de')).toBe('only.en');
    await expect(heard('nothing')).rejects.toMatchObject({ code: 'audio_unknown' });
  });
});

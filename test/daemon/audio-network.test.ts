import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PlaybackShown } from '#site/model/index.ts';
import { quiet } from '../cloud/support.ts';
import { startBackchannelServer } from '../devices/audio/drivers/backchannel-server.ts';
import { type Habit, startHttpDevice, well } from '../devices/audio/drivers/http-device.ts';
import { cameraModel, startCamera } from '../devices/onvif/scripted-camera.ts';
import { memoryLog, until } from '../lan/mqtt/harness.ts';
import { type AudioSite, audioSite } from './audio-rig.ts';

const user = { username: 'siteward', password: 'correct horse' };
const account = 'username: siteward, password: { env: SPEAKER_PASSWORD }';
const challenge = 'Digest realm="horn", nonce="n1", qop="auth", algorithm=MD5';
const { signal } = new AbortController();

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function started(
  yaml: string,
  { dir = folder(), password = user.password, log = quiet } = {},
): Promise<AudioSite> {
  process.env.SPEAKER_PASSWORD = password;
  const site = audioSite(dir, { log });
  onTestFinished(() => site.slots.stop());
  await site.start(yaml);
  return site;
}

const known = ({ port }: AudioSite, id: string) => port.playbacks().find(({ playback_id }) => playback_id === id);
const ended = (site: AudioSite, id: string): Promise<PlaybackShown> =>
  until(
    () => {
      const found = known(site, id);
      return found !== undefined && !['queued', 'playing'].includes(found.status) ? found : undefined;
    },
    'the end of the playback',
    15_000,
  );
const play = async ({ port }: AudioSite, key = 'test.tone1k', repeat = 1) =>
  (await port.play({ audio_message_id: key, volume: 100, repeat }, 'local', signal)).playback_id;

async function backchannel() {
  const server = await startBackchannelServer({ user, encoding: 'alaw' });
  onTestFinished(() => server.stop());
  const yaml = `speakers: [ { id: gate, driver: onvif, url: "${server.url()}", ${account} } ]\n`;
  return { ...server, yaml };
}

/** A device that is sent sounds by HTTP, as a process of its own. */
async function horn() {
  const script = join(import.meta.dirname, '..', 'devices', 'audio', 'drivers', 'http-speaker.ts');
  const child = spawn(process.execPath, [script, join(folder(), 'out.raw')], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [port] = await once(child.stdout, 'data');
  const url = `http://127.0.0.1:${String(port).trim()}`;
  return {
    yaml: `speakers: [ { id: horn, driver: http, push: { url: "${url}/play" }, status: { url: "${url}/state" } } ]\n`,
    freeze: () => void child.kill('SIGSTOP'),
    kill: () => void child.kill('SIGKILL'),
  };
}

describe('speakers on the network', () => {
  it('are heard: the backchannel of a device that is no camera here, and takes A-law alone', async () => {
    const server = await backchannel();
    const site = await started(server.yaml);
    const end = await ended(site, await play(site, 'test.tone1k', 2));
    expect(end).toMatchObject({ status: 'completed', devices: [{ device_id: 'gate', delivered: 'sent' }] });
    await until(() => server.heard().bursts.length === 2, 'what was heard');
    expect(await site.slots.metrics()).toMatch(/siteward_audio_start_seconds_count\{driver="onvif"\} 1/);
  });

  it('are heard: that of a camera, by its account', async () => {
    const server = await backchannel();
    const camera = await startCamera(cameraModel().script);
    onTestFinished(() => camera.close());
    const site = await started(
      `cameras: [ { id: yard, url: "${camera.url}", ${account}, stream_url: "${server.url()}" } ]
speakers: [ { id: gate, driver: onvif, camera: yard } ]\n`,
    );
    const end = await ended(site, await play(site));
    expect(end).toMatchObject({ status: 'completed', devices: [{ device_id: 'gate', delivered: 'sent' }] });
    await until(() => server.heard().bursts.length === 1, 'what was heard');
    expect(site.port.speakers()).toMatchObject([{ up: true, detail: expect.stringContaining('alaw') }]);
  });

  it('are sent sounds by HTTP, with the account of the camera', async () => {
    const device = await startHttpDevice((request, response) => {
      const isProven = /^Digest username="siteward"/.test(request.headers.authorization ?? '');
      if (isProven) response.end();
      else response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    onTestFinished(() => device.stop());
    const camera = await startCamera(cameraModel().script);
    onTestFinished(() => camera.close());
    const site = await started(
      `cameras: [ { id: yard, url: "${camera.url}", ${account} } ]
speakers: [ { id: gate, driver: http, camera: yard, push: { url: "${device.url}/play" } } ]\n`,
    );
    expect(await ended(site, await play(site))).toMatchObject({ status: 'completed' });
    // 1 s at 8 kHz, and nothing of it in the question for the challenge.
    expect(device.seen.map(({ body }) => body.length)).toEqual([0, 8_000]);
  });

  it.each([
    ['onvif', 'frozen', 'timeout'],
    ['onvif', 'killed', 'connection_lost'],
    ['http', 'frozen', 'timeout'],
    ['http', 'killed', 'connection_lost'],
  ] as const)('have failed with the reason: %s, %s while it plays', async (driver, how, reason) => {
    const device = driver === 'http' ? await horn() : await backchannel();
    const site = await started(device.yaml);
    const id = await play(site, 'alarm.siren', 2);
    await until(() => known(site, id)?.status === 'playing', 'the sound');
    device[how === 'frozen' ? 'freeze' : 'kill']();
    expect(await ended(site, id)).toMatchObject({ status: 'failed', devices: [{ reason }] });
  });

  it('are silenced by a disarm, also those that play by themselves (safety 9)', async () => {
    const device = await startHttpDevice(well);
    onTestFinished(() => device.stop());
    const site = await started(
      `speakers: [ { id: bell, driver: http, trigger: { url: "${device.url}/play" }, stop: { url: "${device.url}/stop" } } ]\n`,
    );
    const siren = site.house.audio?.library.find('alarm.siren');
    if (siren === undefined) throw new Error('there is no siren');
    const { key, name, sha256, category } = siren;
    site.house.audio?.play({
      ...{ id: 'b1', category, volume: 70, repeat: 5, requestedBy: 'rule:night' },
      message: { id: key, key, name, sha256 },
      alarm: { cause: 'burglary', id: 'i1', partition: 'p1' },
    });
    await until(() => known(site, 'b1')?.status === 'playing', 'the sound');
    site.house.audio?.hush('p1');
    expect(await ended(site, 'b1')).toMatchObject({ status: 'cancelled', devices: [{ reason: 'disarmed' }] });
    expect(device.seen.map(({ line }) => line)).toEqual(['GET /play', 'GET /stop']);
  });

  it('have failed where nothing is there, and are a trouble of the site', async () => {
    const yaml = `speakers:
  - { id: gate, driver: onvif, url: "rtsp://127.0.0.1:1/a" }
  - { id: horn, driver: http, push: { url: "http://127.0.0.1:1/a" } }
supervision: { cameras: { report_after: 0s } }\n`;
    const site = await started(yaml);
    const end = await ended(site, await play(site));
    expect(end.devices).toMatchObject([{ reason: 'not_found' }, { reason: 'not_found' }]);
    await until(() => site.house.controller?.view().troubles.length === 2, 'the troubles');
  });
});

describe('the account of a speaker', () => {
  const never: Habit = (_, response) => void response.writeHead(401, { 'www-authenticate': challenge }).end();

  it('is tried twice in all with a wrong password: by all speakers there, and over restarts', async () => {
    const device = await startHttpDevice(never);
    onTestFinished(() => device.stop());
    const tries = () => device.seen.filter(({ headers }) => headers.authorization !== undefined).length;
    const one = (id: string) =>
      `  - { id: ${id}, driver: http, ${account}, push: { url: "${device.url}/${id}" }, status: { url: "${device.url}/state" } }\n`;
    const yaml = `speakers:\n${one('horn')}${one('bell')}supervision: { cameras: { report_after: 0s } }\n`;
    const dir = folder();
    const password = 'wrong horse';
    const { log, lines } = memoryLog();
    const site = await started(yaml, { dir, password, log });
    const end = await ended(site, await play(site));
    expect(end.devices).toMatchObject([{ reason: 'auth' }, { reason: 'auth' }]);
    await until(() => site.house.controller?.view().troubles.length === 2, 'the troubles');
    await ended(site, await play(site));
    expect(tries()).toBe(2);
    expect(site.slots.health().find(({ name }) => name === 'audio')?.reason).toMatch(
      /speaker bell: .*[Cc]orrect (them|username and password)/,
    );
    const told = [site.port.playbacks(), site.port.speakers(), site.slots.health(), await site.slots.metrics(), lines];
    expect(lines.join()).toContain('a speaker did not play');
    expect(JSON.stringify(told)).not.toContain(password);
    await site.slots.stop();

    const next = await started(yaml, { dir, password });
    expect((await ended(next, await play(next))).devices).toMatchObject([{ reason: 'auth' }, { reason: 'auth' }]);
    expect(tries()).toBe(2);

    // A corrected password is tried at once.
    device.change((request, response) => {
      if (request.headers.authorization === undefined) never(request, response);
      else response.end();
    });
    process.env.SPEAKER_PASSWORD = user.password;
    await next.reload(yaml);
    expect(await ended(next, await play(next))).toMatchObject({ status: 'completed' });
  });
});

describe('a start after a kill', () => {
  it('silences a device that may play on, before it plays anything', async () => {
    const device = await startHttpDevice(well);
    onTestFinished(() => device.stop());
    const at = (path: string) => `url: "${device.url}/${path}"`;
    const yaml = `speakers: [ { id: gate, driver: http, trigger: { ${at('play/{message}')} }, stop: { ${at('stop')} } } ]\n`;
    const dir = folder();
    const script = join(import.meta.dirname, 'audio-child.ts');
    const child = spawn(process.execPath, [script, dir, yaml], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const gone = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await gone;
    const site = await started(yaml, { dir });
    expect(await ended(site, 'waiting-announcement')).toMatchObject({ status: 'completed' });
    expect(device.seen.map(({ line }) => line)).toEqual([
      'GET /play/alarm.siren',
      'GET /stop',
      'GET /play/announcement.chime',
    ]);
  });
});

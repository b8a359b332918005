import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AlarmMark } from '#devices/audio/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { Command, CommandResult, PlaybackShown } from '#site/model/index.ts';
import { alarmSound } from '../../src/daemon/alarm-sound.ts';
import { measureWav } from '../harness/sound.ts';
import { until } from '../lan/mqtt/harness.ts';
import { type AudioSite, audioSite, heardFiles } from './audio-rig.ts';

const gate = 'speakers: [ { id: gate, driver: capture } ]\n';
const { signal } = new AbortController();

async function started(yaml = gate): Promise<AudioSite & { readonly dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
  const site = audioSite(dir);
  onTestFinished(async () => {
    await site.slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await site.start(yaml);
  return { ...site, dir };
}

const ended = ({ port }: AudioSite, id: string): Promise<PlaybackShown> =>
  until(() => {
    const found = port.playbacks().find(({ playback_id }) => playback_id === id);
    return found !== undefined && !['queued', 'playing'].includes(found.status) ? found : undefined;
  }, 'the end of the playback');

describe('messages on the speakers of a daemon', () => {
  it('are heard as they were asked for, and stand in the journal', async () => {
    const site = await started();
    const answer = await site.port.play({ audio_message_id: 'test.tone1k', volume: 100, repeat: 2 }, 'local', signal);
    expect(answer.status).toBe('playing');
    const end = await ended(site, answer.playback_id);
    expect(end).toMatchObject({ status: 'completed', devices: [{ device_id: 'gate', delivered: 'heard' }] });
    const [file = ''] = heardFiles(site.dir, 'gate');
    const [heard] = measureWav(file);
    // 1 s, -12 dB of full scale at its loudest, twice with half a second between.
    expect(heard?.bursts).toHaveLength(2);
    expect(heard?.durationMs).toBeCloseTo(2_500, -2);
    expect(heard?.rmsDb).toBeCloseTo(-15, 0);
    const rows = (await site.house.store?.playbacks()) ?? [];
    expect(rows.map(({ record }) => JSON.parse(record ?? ''))).toMatchObject([
      { id: answer.playback_id, requestedBy: 'local', parts: [{ status: 'completed' }] },
    ]);
    expect(await site.slots.metrics()).toContain(
      'siteward_audio_sounds_total{driver="capture",category="test",status="completed",reason=""} 1',
    );
    expect(await site.slots.metrics()).toMatch(/siteward_audio_start_seconds_count\{driver="capture"\} 1/);
  });

  it.each([
    ['an unknown message', { audio_message_id: 'nobody' }, 'audio_unknown', 'audio_message_id'],
    ['a volume between', { audio_message_id: 'test.tone1k', volume: 70.5 }, 'audio_invalid', 'volume'],
    ['no repeat at all', { audio_message_id: 'test.tone1k', repeat: 0 }, 'audio_invalid', 'repeat'],
    ['no speaker', { audio_message_id: 'test.tone1k', target_devices: [] }, 'audio_invalid', 'target_devices'],
    [
      'an unknown speaker',
      { audio_message_id: 'test.tone1k', target_devices: ['x'] },
      'audio_unknown',
      'target_devices',
    ],
    ['a misspelt key', { audio_message_id: 'test.tone1k', volumne: 3 }, 'audio_invalid', 'volumne'],
  ])('are refused with the field named: %s', async (_name, wish, code, field) => {
    const site = await started();
    await expect(site.port.play(wish, 'local', signal)).rejects.toMatchObject({ code, facts: { field } });
    expect(site.port.playbacks()).toEqual([]);
  });

  it('are ended by a cancel, and what was heard of them is told', async () => {
    const site = await started();
    const { playback_id } = await site.port.play({ audio_message_id: 'alarm.siren', repeat: 5 }, 'local', signal);
    const [cancelled] = await site.port.cancel({ playback: playback_id }, false, 'local');
    expect(cancelled?.playback_id).toBe(playback_id);
    const end = await ended(site, playback_id);
    expect(end).toMatchObject({ status: 'cancelled', devices: [{ reason: 'user' }] });
    expect(end.devices[0]?.played_ms).toBeGreaterThan(0);
    // Of the samples of five times three seconds, however long they took.
    const [file = ''] = heardFiles(site.dir, 'gate');
    const heardMs = measureWav(file)[0]?.lengthMs;
    expect(heardMs).toBeGreaterThan(0);
    expect(heardMs).toBeLessThan(15_000);
  });
});

function play({ house }: AudioSite, id: string, key: string, alarm?: AlarmMark): void {
  const message = house.audio?.library.find(key);
  if (message === undefined) throw new Error(`no message ${key}`);
  const { name, sha256, category } = message;
  const answer = house.audio?.play({
    ...{ id, category, volume: 70, repeat: 5, requestedBy: 'rule:test' },
    message: { id: key, key, name, sha256 },
    ...(alarm !== undefined && { alarm }),
  });
  expect(answer?.outcome).toBe('accepted');
}

const statusOf = ({ port }: AudioSite, id: string) =>
  port.playbacks().find(({ playback_id }) => playback_id === id)?.status;

const sounds = (site: AudioSite, id: string) => until(() => statusOf(site, id) === 'playing', `${id} sounds`);

function command({ house }: AudioSite, verb: 'arm' | 'disarm', code: Command['code']): Promise<CommandResult> {
  return new Promise((resolve) =>
    house.controller?.submit(
      {
        ...{ id: randomUUID(), verb, partition: 'p1', issuedAt: Date.now(), source: 'lan', client: 'keypad' },
        ...{ actor: 'user anna', code, bodyHash: randomUUID() },
        ...(verb === 'arm' && { mode: 'away' as const, skipExitDelay: true }),
      },
      (result) => {
        if (result.final) resolve(result);
      },
    ),
  );
}

const burglary = { cause: 'burglary', id: 'i1', partition: 'p1' } as const;
const two = 'speakers: [ { id: gate, driver: capture }, { id: hall, driver: "null" } ]\n';

describe('the sound of an alarm', () => {
  it.each(['ok', 'duress'] as const)(
    'of a burglary ends with the disarm (%s), that of a fire goes on',
    async (code) => {
      const site = await started(two);
      await command(site, 'arm', 'ok');
      play(site, 'the-burglary', 'alarm.siren', burglary);
      await sounds(site, 'the-burglary');
      expect(await command(site, 'disarm', code)).toMatchObject({ outcome: 'done' });
      const end = await ended(site, 'the-burglary');
      expect(end).toMatchObject({ status: 'cancelled', devices: [{ reason: 'disarmed' }, { reason: 'disarmed' }] });
      const [file = ''] = heardFiles(site.dir, 'gate');
      expect(measureWav(file)[0]?.durationMs).toBeLessThan(3_000 * 5);

      play(site, 'the-fire', 'alarm.siren', { cause: 'fire', id: 'i2' });
      await sounds(site, 'the-fire');
      await command(site, 'arm', 'ok');
      await command(site, 'disarm', code);
      expect(statusOf(site, 'the-fire')).toBe('playing');
    },
  );

  it('is neither made nor ended by what nobody may notice, and no figure tells of it (safety 4)', async () => {
    const site = await started(two);
    play(site, 'the-alarm', 'alarm.siren', burglary);
    await sounds(site, 'the-alarm');
    const figures = async () =>
      (await site.slots.metrics()).split('\n').filter((line) => line.startsWith('siteward_audio_'));
    const before = { playbacks: site.port.playbacks(), figures: await figures() };
    const told = await new Promise<CommandResult>((resolve) =>
      site.house.controller?.panic({ id: 'call-1', kind: 'silent', source: 'lan', client: 'keypad' }, resolve),
    );
    expect(told).toMatchObject({ outcome: 'done' });
    expect({ playbacks: site.port.playbacks(), figures: await figures() }).toEqual(before);
  });
});

describe('messages of the site', () => {
  it('are imported, played and removed, each with who did it in the audit log; none while it plays', async () => {
    const site = await started();
    const wav = await readFile(heardOf(await recorded(site), site));
    const fields = { name: 'Gate closed', language: 'en-US' };
    const sound = async function* () {
      yield wav;
    };
    const made = await site.port.import({ sound: sound(), fileName: 'gate.wav', fields }, 'client:kp1', signal);
    expect(made).toMatchObject({ key: 'gate-closed', source: 'imported', category: 'custom' });
    expect(site.port.messages().map(({ key }) => key)).toContain('gate-closed');
    const playing = await site.port.play({ audio_message_id: 'gate-closed' }, 'client:kp1', signal);
    await expect(site.port.remove('gate-closed', 'local')).rejects.toMatchObject({ code: 'audio_refused' });
    expect(await ended(site, playing.playback_id)).toMatchObject({ status: 'completed', requested_by: 'client:kp1' });
    await site.port.remove('gate-closed', 'local');
    await expect(site.port.play({ audio_message_id: 'gate-closed' }, 'local', signal)).rejects.toMatchObject({
      code: 'audio_unknown',
    });
    const entries = (await site.house.store?.audit({ limit: 20 })) ?? [];
    const told = entries.filter(({ action }) => action.startsWith('audio_')).reverse();
    expect(told).toMatchObject([
      { action: 'audio_play', source: 'cli', target: 'message test.tone1k', outcome: 'done' },
      { action: 'audio_import', source: 'lan', client_id: 'kp1', target: 'message gate-closed' },
      { action: 'audio_play', source: 'lan', client_id: 'kp1', after: 'all' },
      { action: 'audio_remove', source: 'cli', target: 'message gate-closed' },
    ]);
  });
});

it('a client that asks without end does not fill the audit log, and each of its alarms stands there', async () => {
  const site = await started('speakers: [ { id: gate, driver: "null" } ]\n');
  const play = (key: string, by = 'client:desk') => site.port.play({ audio_message_id: key }, by, signal);
  for (let nth = 0; nth < 12; nth += 1) {
    const { playback_id } = await play('test.tone1k');
    await site.port.cancel({ playback: playback_id }, false, 'client:desk');
  }
  const { playback_id } = await play('alarm.siren');
  await site.port.cancel({ playback: playback_id }, false, 'client:desk');
  await play('test.tone1k', 'client:other');
  const entries = (await site.house.store?.audit({ limit: 100 })) ?? [];
  const told = entries.filter(({ action }) => action.startsWith('audio_')).reverse();
  expect(told.map(({ client_id }) => client_id)).toEqual([...Array(7).fill('desk'), 'other']);
  expect(told.slice(5, 7)).toMatchObject([{ target: 'message alarm.siren' }, { action: 'audio_cancel' }]);
});

it('over the network the sound of an alarm ends with the code of somebody who may disarm; wrong ones lock', async () => {
  const site = await started('speakers: [ { id: gate, driver: "null" } ]\n');
  const mayEnd = alarmSound({ house: site.house, clock: systemClock() });
  const key = { source: 'lan', client: 'key:a1', address: '192.0.2.7' } as const;
  await expect(mayEnd(undefined, key, signal)).rejects.toMatchObject({ code: 'code_refused' });
  await mayEnd('2580', key, signal);
  const forced = site.house.controller?.view().seq;
  await mayEnd('2581', key, signal);
  expect(site.house.controller?.view().seq).toBe(forced);
  for (let nth = 0; nth < 3; nth += 1) await expect(mayEnd('9999', key, signal)).rejects.toThrow();
  await expect(mayEnd('2580', key, signal)).rejects.toThrow('too many wrong codes');
  await mayEnd('2580', { ...key, client: 'key:b2' }, signal);
});

/** What a speaker heard of the test tone makes a file to import. */
async function recorded(site: AudioSite): Promise<string> {
  const { playback_id } = await site.port.play({ audio_message_id: 'test.tone1k', volume: 100 }, 'local', signal);
  await ended(site, playback_id);
  return 'gate';
}
const heardOf = (speaker: string, { dir }: { readonly dir: string }) => heardFiles(dir, speaker).at(-1) ?? '';

describe('a start after a kill', () => {
  it('fails what sounded, plays nothing of it again, and nothing of a burglary in a partition that is disarmed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const script = join(import.meta.dirname, 'audio-child.ts');
    const child = spawn(process.execPath, [script, dir, gate], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const id = await new Promise<string>((resolve) =>
      child.stdout.setEncoding('utf8').on('data', (text: string) => resolve(text.trim())),
    );
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    const before = heardFiles(dir, 'gate');
    expect(before).toHaveLength(1);

    const site = audioSite(dir);
    onTestFinished(() => site.slots.stop());
    await site.start(gate);
    expect(await ended(site, id)).toMatchObject({ status: 'failed', devices: [{ reason: 'interrupted' }] });
    expect(await ended(site, 'waiting-burglary')).toMatchObject({
      status: 'cancelled',
      devices: [{ reason: 'disarmed' }],
    });
    expect(await ended(site, 'waiting-announcement')).toMatchObject({ status: 'completed' });
    // One more file: the announcement that waited.
    expect(heardFiles(dir, 'gate')).toHaveLength(2);
  });
});

describe('a reload', () => {
  it('plays on where a speaker stayed as it was, and ends what one that is gone was playing', async () => {
    const site = await started(two);
    const { playback_id } = await site.port.play({ audio_message_id: 'alarm.siren' }, 'local', signal);
    const less = 'audio: { memory: 4MB }\n';
    expect(await site.reload(`${gate.replace('capture', 'capture, name: Gate')}${less}`)).toEqual([]);
    const end = await ended(site, playback_id);
    expect(end.devices).toMatchObject([
      { device_id: 'gate', status: 'completed' },
      { device_id: 'hall', status: 'failed', reason: 'not_found' },
    ]);
    expect(site.port.speakers()).toMatchObject([{ device_id: 'gate', name: 'Gate' }]);
    await expect(
      site.port.play({ audio_message_id: 'test.tone1k', target_devices: ['hall'] }, 'local', signal),
    ).rejects.toMatchObject({ code: 'audio_unknown' });
  });
});

describe('a speaker that is away', () => {
  const by = (probe: string) =>
    `speakers: [ { id: yard, driver: command, command: [cat], probe: [test, -e, ${probe}] } ]\naudio: { probe: 10s }\nsupervision: { cameras: { report_after: 0s } }\n`;
  const troubles = ({ house }: AudioSite) =>
    house.controller?.view().troubles.map(({ kind, source }) => ({ kind, source }));

  it('is a trouble of the site until it is taken out of the configuration, and health says why', async () => {
    const site = await started(by('/nowhere'));
    const trouble = { kind: 'device_offline', source: { kind: 'speaker', id: 'yard' } };
    await until(() => (troubles(site)?.length ?? 0) > 0, 'the trouble');
    expect(troubles(site)).toEqual([trouble]);
    expect(site.port.speakers()).toMatchObject([{ device_id: 'yard', up: false }]);
    expect(site.slots.health().find(({ name }) => name === 'audio')).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('speaker yard'),
    });
    await site.reload('');
    expect(troubles(site)).toEqual([]);
    expect(site.slots.health().find(({ name }) => name === 'audio')).toMatchObject({ state: 'ok' });
  });

  it('is well again as soon as it answers', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-probe-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const mark = join(dir, 'there');
    const site = await started(by(mark));
    await until(() => (troubles(site)?.length ?? 0) > 0, 'the trouble');
    mkdirSync(dir, { recursive: true });
    writeFileSync(mark, '');
    await until(() => troubles(site)?.length === 0, 'the end of the trouble', 20_000);
    expect(site.port.speakers()).toMatchObject([{ up: true }]);
  });
});

describe('a stop of siteward', () => {
  it('ends what sounds, says so at the next start, and plays what waited then', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audio-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const site = audioSite(dir);
    onTestFinished(() => site.slots.stop());
    await site.start(gate);
    play(site, 'sounds', 'alarm.siren');
    play(site, 'waits', 'announcement.chime');
    await sounds(site, 'sounds');
    await site.slots.stop();
    const [file = ''] = heardFiles(dir, 'gate');
    expect(measureWav(file)[0]?.lengthMs).toBeLessThan(3_000 * 5);

    const next = audioSite(dir);
    onTestFinished(() => next.slots.stop());
    await next.start(gate);
    expect(await ended(next, 'sounds')).toMatchObject({ status: 'failed', devices: [{ reason: 'shutdown' }] });
    expect(await ended(next, 'waits')).toMatchObject({ status: 'completed' });
  });
});

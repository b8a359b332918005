import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Audio, createAudio, type SpeakerCondition } from '#devices/audio/index.ts';
import { audioOptions } from '#devices/audio/options.ts';
import { ruleOptions } from '#devices/audio/rules/options.ts';
import { systemClock } from '#lib/clock.ts';
import { isoTime, type PlaybackRow, type PlaybackShown, type SiteEvent } from '#site/model/index.ts';
import { quiet } from '../../cloud/support.ts';
import { until } from '../../lan/mqtt/harness.ts';
import { none, startHttpDevice } from './drivers/http-device.ts';
import { wavOf } from './library/fixtures.ts';
import { speakerOf } from './speaker-of.ts';

interface Rig {
  readonly audio: Audio;
  readonly dir: string;
  readonly metrics: Registry;
  /** What is on disk, by id. */
  readonly rows: Map<string, string>;
  /** How many rows each write held. */
  readonly writes: number[];
  readonly shown: PlaybackShown[];
  readonly told: (SpeakerCondition & { readonly id: string })[];
  /** The disk: takes rows, does not answer, or refuses. */
  disk: 'well' | 'hangs' | 'fails';
  play(id: string, more?: { speakers?: string[]; key?: string; repeat?: number }): void;
  status(id: string): string | undefined;
  reasons(id: string): readonly (string | undefined)[];
}

const newDir = () => mkdtempSync(join(tmpdir(), 'siteward-audio-'));

async function rig(
  speakers: readonly object[],
  audioYaml: object = {},
  dir = newDir(),
  rules: readonly object[] = [],
): Promise<Rig> {
  const metrics = new Registry();
  const rows = new Map<string, string>();
  const writes: number[] = [];
  const shown: PlaybackShown[] = [];
  const told: Rig['told'] = [];
  const release: (() => void)[] = [];
  const put = (changed: readonly PlaybackRow[]) => {
    for (const { id, record } of changed) {
      if (record === null) rows.delete(id);
      else rows.set(id, record);
    }
  };
  const audio = createAudio({
    plan: {
      speakers: speakers.map(speakerOf),
      audio: audioOptions.parse(audioYaml),
      timezone: 'Europe/Berlin',
      rules: rules.map((one) => ruleOptions.parse(one)),
    },
    dir,
    ports: {
      journal: {
        playbacks: async () => [...rows].map(([id, record]) => ({ id, record })),
        async setPlaybacks(changed) {
          writes.push(changed.length);
          if (made.disk === 'fails') throw new Error('the disk is full');
          if (made.disk === 'hangs') await new Promise<void>((resolve) => release.push(resolve));
          put(changed);
        },
      },
      disarmed: () => [],
      access: (all) => new Map(all.map(({ id }) => [id, { address: async () => '', login: none, trust: {} }])),
      onSpeaker: (id, condition) => void told.push({ id, ...condition }),
    },
    onChanged: (playback) => void shown.push(playback),
    ...{ clock: systemClock(), quality: () => 'synced', log: quiet, metrics },
  });
  const find = (id: string) => audio.playbacks().find(({ playback_id }) => playback_id === id);
  const made: Rig = {
    ...{ audio, dir, metrics, rows, writes, shown, told, disk: 'well' },
    play(id, { speakers, key = 'test.tone1k', repeat = 1 } = {}) {
      const message = audio.library.find(key);
      if (message === undefined) throw new Error(`no message ${key}`);
      const { sha256, name, category } = message;
      const answer = audio.play({
        ...{ id, category, volume: 50, repeat, requestedBy: 'local', message: { id: key, key, name, sha256 } },
        ...(speakers !== undefined && { speakers }),
      });
      expect(answer.outcome).toBe('accepted');
    },
    status: (id) => find(id)?.status,
    reasons: (id) => find(id)?.devices.map(({ reason }) => reason) ?? [],
  };
  onTestFinished(async () => {
    for (const free of release) free();
    await audio.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await audio.start(new AbortController().signal);
  return made;
}

const over = (on: Rig, id: string) =>
  until(() => !['queued', 'playing'].includes(on.status(id) ?? 'queued'), `the end of ${id}`);
const figure = async ({ metrics }: Rig, name: string) =>
  (await metrics.metrics())
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.split(' ')
    .at(-1);

describe('what is written down', () => {
  it('is on disk before the first sample, and shows after it is', async () => {
    const on = await rig([{ id: 'gate', driver: 'null' }]);
    on.play('one');
    await until(() => on.status('one') === 'playing', 'the sound');
    expect(JSON.parse(on.rows.get('one') ?? '{}')).toMatchObject({ parts: [{ begun: true }] });
    await over(on, 'one');
    await until(() => on.shown.at(-1)?.status === 'completed', 'what shows');
    expect(on.shown.map(({ status }) => status)).toEqual(['queued', 'playing', 'completed']);
    expect(JSON.parse(on.rows.get('one') ?? '{}')).toMatchObject({ parts: [{ status: 'completed' }] });
    expect(await figure(on, 'siteward_audio_undurable_total')).toBe('0');
  });

  it.each(['hangs', 'fails'] as const)('holds up no sound when the disk %s, and comes to it later', async (disk) => {
    const on = await rig([{ id: 'gate', driver: 'null' }]);
    on.disk = disk;
    on.play('one');
    await over(on, 'one');
    expect(on.status('one')).toBe('completed');
    expect(await figure(on, 'siteward_audio_undurable_total')).toBe('1');
    await until(() => on.shown.at(-1)?.status === 'completed', 'it shows without a disk');
    if (disk === 'hangs') return;
    expect(on.audio.health()).toMatchObject({ state: 'degraded' });
    on.disk = 'well';
    await until(() => on.rows.has('one'), 'the row');
    expect(JSON.parse(on.rows.get('one') ?? '{}')).toMatchObject({ parts: [{ status: 'completed' }] });
    expect(on.audio.health()).toMatchObject({ state: 'ok' });
  });

  it('costs the disk few writes, however many requests come at once', async () => {
    const on = await rig([{ id: 'gate', driver: 'null' }]);
    for (let number = 0; number < 16; number += 1) on.play(`n${number}`);
    await until(() => on.rows.size === 16, 'the rows');
    // The first alone, or with those of its turn; then all that came meanwhile.
    expect(on.writes.length).toBeLessThanOrEqual(3);
    on.audio.cancel('all', true);
    await until(() => [...on.rows.values()].every((row) => row.includes('cancelled')), 'the ends');
  });
});

describe('a speaker that does not play', () => {
  it('has failed with its reason, holds up no other, and is a trouble after three times', async () => {
    const on = await rig([
      { id: 'frozen', driver: 'command', command: ['sleep', '60'] },
      { id: 'broken', driver: 'command', command: ['false'] },
      { id: 'gate', driver: 'null' },
    ]);
    await until(() => on.told.length === 3, 'the first look at each');
    on.play('one', { repeat: 3 });
    await over(on, 'one');
    expect(on.status('one')).toBe('failed');
    expect(on.reasons('one')).toEqual(['timeout', 'device_error', undefined]);
    for (const id of ['two', 'three']) {
      on.play(id, { speakers: ['broken'] });
      await over(on, id);
    }
    await until(() => on.told.some(({ id, up }) => id === 'broken' && up === false), 'the trouble');
    on.play('four', { speakers: ['broken'], key: 'announcement.chime' });
    expect(on.reasons('four')).toEqual(['unhealthy']);
    expect(on.audio.speakers().map(({ id, up }) => [id, up])).toContainEqual(['broken', false]);
    expect(on.audio.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('speaker broken') });
    expect(await figure(on, 'siteward_audio_speaker_up{speaker="broken"}')).toBe('0');
    expect(await figure(on, 'siteward_audio_speaker_up{speaker="gate"}')).toBe('1');
  });
});

describe('a speaker that does not take the order to be silent', () => {
  async function bell(answers: { stop: number }) {
    const device = await startHttpDevice(({ line }, response) => {
      if (line !== 'GET /stop' || answers.stop !== 0)
        response.writeHead(line === 'GET /stop' ? answers.stop : 200).end();
    });
    onTestFinished(() => device.stop());
    const [trigger, stop] = ['play', 'stop'].map((path) => ({ url: `${device.url}/${path}` }));
    const on = await rig([{ id: 'bell', driver: 'http', trigger, stop }]);
    const stops = () => device.seen.filter(({ line }) => line === 'GET /stop').length;
    const condition = () => on.audio.speakers()[0];
    return { on, stops, condition };
  }

  it.each([
    ['refuses', 500],
    ['does not answer', 0],
  ])('is told again until it does, and a trouble until then: it %s', async (_, status) => {
    const answers = { stop: status };
    const { on, stops, condition } = await bell(answers);
    await until(() => condition()?.up === true, 'it is there');
    on.play('one', { repeat: 60 });
    await until(() => on.status('one') === 'playing', 'the sound');
    on.audio.cancel({ playback: 'one' }, true);
    await over(on, 'one');
    expect([on.status('one'), on.reasons('one')]).toEqual(['failed', ['timeout']]);
    await until(() => stops() > 1, 'it is told again');
    expect(condition()).toMatchObject({ up: false, detail: expect.stringContaining('may sound on') });
    expect(on.told.at(-1)).toMatchObject({ id: 'bell', up: false });
    answers.stop = 200;
    await until(() => condition()?.up === true, 'it is silent');
    expect(on.told.at(-1)).toMatchObject({ id: 'bell', up: true });
  });

  it('is told no more once it plays something else, and is well when that has ended', async () => {
    const { on, stops, condition } = await bell({ stop: 500 });
    on.play('one', { repeat: 60 });
    await until(() => on.status('one') === 'playing', 'the sound');
    on.audio.cancel({ playback: 'one' }, true);
    await until(() => stops() > 1, 'it is told again');
    on.play('two', { repeat: 3 });
    await until(() => on.status('two') === 'playing', 'another sound');
    const before = stops();
    await over(on, 'two');
    expect([on.status('two'), stops()]).toEqual(['completed', before]);
    await until(() => condition()?.up === true, 'it is well');
  });
});

describe('an alarm of the site', () => {
  const gate = [{ id: 'gate', driver: 'null' }];
  const fields = { name: 'Leave', language: 'en-US', category: 'alarm' } as const;
  /** Until every alarm is ready at the rate of the speaker, in 16 bits. */
  async function alarmsReady(on: Rig): Promise<void> {
    const alarms = on.audio.library.list().filter(({ category }) => category === 'alarm');
    const seconds = alarms.reduce((sum, { duration_seconds }) => sum + duration_seconds, 0);
    for (let bytes = 0; bytes < (seconds - 0.01) * 48_000 * 2; await pause(10))
      bytes = Number(await figure(on, 'siteward_audio_cache_bytes'));
  }
  const loseDisk = (on: Rig) => {
    on.disk = 'hangs';
    rmSync(join(on.dir, 'audio'), { recursive: true });
  };

  it('is ready as soon as it is imported, and after a start: it needs no disk', async () => {
    const on = await rig(gate);
    const source = async function* () {
      yield wavOf();
    };
    await on.audio.library.import({ source: source(), fields }, new AbortController().signal);
    on.audio.messagesChanged();
    await alarmsReady(on);
    const kept = newDir();
    cpSync(on.dir, kept, { recursive: true });
    loseDisk(on);
    on.play('one', { key: 'leave' });
    await over(on, 'one');
    expect(on.status('one')).toBe('completed');

    const next = await rig(gate, {}, kept);
    await alarmsReady(next);
    loseDisk(next);
    next.play('two', { key: 'leave' });
    await over(next, 'two');
    expect(next.status('two')).toBe('completed');
  });
});

describe('a message that a rule plays', () => {
  const gate = [{ id: 'gate', driver: 'null' }];
  const rule = (kind: string) => ({ id: 'r', on: { kind }, play: { message: 'voice' } });
  const event = (kind: string): SiteEvent => ({
    ...{ event_id: randomUUID(), event_type: kind, kind, seq: 1, source: 'panel:main', partition: 'p1' },
    class: kind === 'chime' ? 'system' : 'alarm',
    status: 'active',
    at: isoTime(Date.now()),
    data: { version: 1, epoch: 1, clock: 'synced' },
  });
  /** A state directory that holds the message. */
  async function withVoice(): Promise<string> {
    const on = await rig(gate);
    const source = async function* () {
      yield wavOf();
    };
    await on.audio.library.import({ source: source(), fields: { name: 'Voice' } }, new AbortController().signal);
    const kept = newDir();
    cpSync(on.dir, kept, { recursive: true });
    return kept;
  }
  const lose = (dir: string) => {
    const folder = join(dir, 'audio');
    for (const name of readdirSync(folder)) if (name.endsWith('.wav')) writeFileSync(join(folder, name), 'RIFF');
  };
  const played = (on: Rig) => until(() => on.audio.playbacks().find(isOver), 'its end');
  const isOver = ({ status }: PlaybackShown) => !['queued', 'playing'].includes(status);

  it('as an alarm needs no disk, whatever its own category is', async () => {
    const on = await rig(gate, {}, await withVoice(), [rule('burglary_perimeter')]);
    // The siren, and what the rule plays, at the rate of the speaker in 16 bits.
    const seconds = on.audio.library
      .list()
      .filter(({ key, category }) => category === 'alarm' || key === 'voice')
      .reduce((sum, { duration_seconds }) => sum + duration_seconds, 0);
    const isReady = async () => Number(await figure(on, 'siteward_audio_cache_bytes')) >= (seconds - 0.01) * 96_000;
    while (!(await isReady())) await pause(10);
    lose(on.dir);
    on.audio.decided(event('burglary_perimeter'), undefined);
    expect(await played(on)).toMatchObject({ status: 'completed', devices: [{ played_ms: 1_000 }] });
  });

  it.each(['burglary_perimeter', 'chime'])('and cannot be read is a problem at once, and with %s', async (kind) => {
    const dir = await withVoice();
    lose(dir);
    const on = await rig(gate, {}, dir, [rule(kind)]);
    await until(() => on.audio.health().state === 'degraded', 'the problem');
    expect(on.audio.health()).toMatchObject({ reason: expect.stringContaining('voice') });
    on.audio.decided(event(kind), undefined);
    const { status, devices } = await played(on);
    if (kind === 'chime') expect([status, devices[0]?.reason]).toEqual(['failed', 'message_gone']);
    else {
      const { duration_seconds = 0 } = on.audio.library.find('alarm.siren') ?? {};
      expect([status, devices[0]?.played_ms]).toEqual(['completed', Math.round(duration_seconds * 1_000)]);
    }
  });
});

describe('the highest first', () => {
  it('cuts what is below it, which begins anew', async () => {
    const on = await rig([{ id: 'gate', driver: 'null' }]);
    on.play('words', { key: 'announcement.chime', repeat: 2 });
    await until(() => on.status('words') === 'playing', 'the announcement');
    on.play('alarm', { key: 'alarm.siren' });
    await until(() => on.status('alarm') === 'playing', 'the alarm');
    expect(on.reasons('words')).toEqual(['preempted']);
    await over(on, 'words');
    expect([on.status('alarm'), on.status('words')]).toEqual(['completed', 'completed']);
    expect(await figure(on, 'siteward_audio_preempted_total')).toBe('1');
    expect(await figure(on, 'siteward_audio_stop_seconds_count{driver="null"}')).toBe('1');
  });
});

describe('other settings', () => {
  it('make speakers anew that changed, and leave the others at their sound', async () => {
    const [gate, hall] = [
      { id: 'gate', driver: 'null' },
      { id: 'hall', driver: 'null' },
    ];
    const on = await rig([gate, hall]);
    on.play('one', { repeat: 2 });
    await until(() => on.status('one') === 'playing', 'the sound');
    const plan = (all: readonly object[]) => ({
      speakers: all.map(speakerOf),
      audio: audioOptions.parse({}),
      timezone: 'Europe/Berlin',
    });
    on.audio.reconfigure(plan([gate, { ...hall, enabled: false }, { id: 'yard', driver: 'null' }]));
    expect(on.audio.speakers().map(({ id }) => id)).toEqual(['gate', 'yard']);
    await over(on, 'one');
    expect(on.reasons('one')).toEqual([undefined, 'not_found']);
    on.play('two');
    await over(on, 'two');
    expect(on.status('two')).toBe('completed');
  });

  it('have speakers of one card take turns', async () => {
    const card = (id: string, device: string) => ({ id, driver: 'alsa', device });
    const on = await rig([card('a', 'plughw:CARD=none,DEV=0'), card('b', 'hw:none')]);
    on.play('one');
    await over(on, 'one');
    // There is no such card; what counts is that neither was told that the other is busy.
    expect(on.reasons('one')).not.toContain('busy');
  });
});

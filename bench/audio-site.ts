import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { type Audio, createAudio, type SpeakerOptions } from '#devices/audio/index.ts';
import { audioOptions, speakerOptions } from '#devices/audio/options.ts';
import { systemClock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import type { PlaybackShown } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';

const { signal } = new AbortController();
export const never = signal;
const readyMs = 10_000;

/** The player of a site over its store, on these speakers. */
export interface AudioSite {
  /** Begins an alarm; resolves when it sounds, with how long each driver took from the request to its first sample. */
  begin(repeat?: number): Promise<{ readonly id: string; readonly tookMs: ReadonlyMap<string, number> }>;
  /** Ends it, and whatever else plays; resolves with how it was. */
  end(id: string): Promise<PlaybackShown>;
  shown(id: string): PlaybackShown | undefined;
  close(): Promise<void>;
}

/** `urls`: of those whose driver is onvif, by their ids. */
export async function openAudioSite(
  speakers: readonly object[],
  urls: ReadonlyMap<string, string> = new Map(),
): Promise<AudioSite> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-bench-'));
  const metrics = new Registry();
  const log = pino({ level: 'silent' });
  const clock = systemClock();
  const store = openStore({ dir, clock, log, metrics: new Registry() });
  await store.start(signal);
  const audio: Audio = createAudio({
    plan: { speakers: speakers.map(speakerOf), audio: audioOptions.parse({}), timezone: 'UTC' },
    dir,
    ports: {
      journal: { playbacks: () => store.playbacks(), setPlaybacks: (rows, alarm) => store.setPlaybacks(rows, alarm) },
      disarmed: () => [],
      access: () =>
        new Map(
          [...urls].map(([id, url]) => [
            id,
            { address: async () => url, login: { credentials: () => undefined }, trust: {} },
          ]),
        ),
      onSpeaker: () => undefined,
    },
    onChanged: () => undefined,
    ...{ clock, quality: () => 'synced', log, metrics },
  });
  await audio.start(signal);
  await until(() => audio.speakers().every(({ up }) => up === true), 'the speakers');
  const shown = (id: string) => audio.playbacks().find(({ playback_id }) => playback_id === id);

  /** What a driver took together until now, milliseconds. */
  async function tookInAll(): Promise<ReadonlyMap<string, number>> {
    const values = (await metrics.getSingleMetric('siteward_audio_start_seconds')?.get())?.values ?? [];
    const sums = values.filter((one) => 'metricName' in one && `${one.metricName}`.endsWith('_sum'));
    return new Map(sums.map(({ labels, value }) => [`${labels.driver}`, value * 1000]));
  }

  return {
    shown,
    async begin(repeat = 5) {
      const message = audio.library.find('alarm.siren');
      if (message === undefined) throw new Error('there is no siren');
      const before = await tookInAll();
      const { key, name, sha256 } = message;
      const answer = audio.play({
        ...{ id: randomUUID(), category: 'alarm', volume: 70, repeat, requestedBy: 'local' },
        message: { id: key, key, name, sha256 },
      });
      if (answer.outcome !== 'accepted') throw new Error(`the alarm was ${answer.outcome}`);
      const id = answer.playback.playback_id;
      await until(() => shown(id)?.devices.every(({ status }) => status !== 'queued'), 'the sound');
      const failed = shown(id)?.devices.find(({ status }) => status !== 'playing');
      if (failed !== undefined) throw new Error(`${failed.device_id} has ${failed.status}: ${failed.reason}`);
      const after = await tookInAll();
      return { id, tookMs: new Map([...after].map(([driver, ms]) => [driver, ms - (before.get(driver) ?? 0)])) };
    },
    async end(id) {
      audio.cancel('all', true);
      return until(() => {
        const found = shown(id);
        return found?.status === 'playing' ? undefined : found;
      }, 'the end');
    },
    async close() {
      await audio.stop();
      await store.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function speakerOf(options: object): SpeakerOptions {
  const { password: _, ...rest } = speakerOptions.parse(options);
  return rest;
}

async function until<T>(check: () => T | undefined | false, what: string): Promise<T> {
  const end = performance.now() + readyMs;
  for (;;) {
    const found = check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${readyMs} ms: ${what}`);
    await sleep(1, signal);
  }
}

/** A PulseAudio of its own with one sink that has a clock and no card; undefined where it is not installed. */
export async function openPulse(): Promise<{ server: string; close(): Promise<void> } | undefined> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-bench-pulse-'));
  const socket = join(dir, 'native');
  const file = join(dir, 'server.pa');
  writeFileSync(
    file,
    `load-module module-native-protocol-unix socket=${socket} auth-anonymous=1
load-module module-null-sink norewinds=1 sink_name=hall rate=48000 channels=2
`,
  );
  const env = { ...process.env, HOME: dir, XDG_RUNTIME_DIR: dir, XDG_CONFIG_HOME: dir };
  const args = ['-n', '-F', file, '--daemonize=no', '--exit-idle-time=-1', '--use-pid-file=no', '--disable-shm=yes'];
  const child = spawn('pulseaudio', args, { stdio: 'ignore', env });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const close = async () => {
    child.kill('SIGKILL');
    await gone;
    rmSync(dir, { recursive: true, force: true });
  };
  if ((await Promise.race([gone.then(() => 'gone'), sleep(1000, signal)])) !== 'gone')
    return { server: `unix:${socket}`, close };
  await close();
  return undefined;
}

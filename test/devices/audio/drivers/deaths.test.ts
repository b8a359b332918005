import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { SpeakerDriver } from '#devices/audio/driver.ts';
import { createAlsaDriver } from '#devices/audio/drivers/alsa.ts';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import { createPulseDriver } from '#devices/audio/drivers/pulse.ts';
import { never } from '#lib/wait.ts';
import { childrenNamed, createAlsaDevice, playersRunning } from './alsa-device.ts';
import { joined } from './heard.ts';
import { startPulseServer } from './pulse-server.ts';
import { tone } from './tone.ts';

const now = () => performance.timeOrigin + performance.now();

/** A daemon that plays and is killed; resolves with how long after the first sample, at most. */
async function playAndKill(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  sounds: () => Promise<boolean>,
): Promise<number> {
  const file = join(import.meta.dirname, 'daemon.ts');
  const daemon = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const firstAt = Promise.withResolvers<number>();
  createInterface({ input: daemon.stdout }).once('line', (line) => firstAt.resolve(Number(line)));
  const first = await firstAt.promise;
  await vi.waitUntil(sounds, { timeout: 10_000, interval: 5 });
  await pause(300);
  const gone = new Promise((resolve) => daemon.once('exit', resolve));
  daemon.kill('SIGKILL');
  await gone;
  return now() - first;
}

describe('where the daemon is killed, the speaker is silent within half a second', () => {
  it.each(['alsa', 'command'])('%s', async (kind) => {
    const card = createAlsaDevice();
    try {
      const playedMs = await playAndKill([kind, card.device], card.env, card.sounds);
      const { soundingMs } = await card.heard();
      expect(soundingMs).toBeGreaterThan(0);
      expect(soundingMs).toBeLessThan(playedMs + 500);
    } finally {
      card.close();
    }
  });

  it('pulse', async () => {
    const pulse = await startPulseServer({ sinks: ['gate'] });
    try {
      const recording = await pulse.record('gate');
      const playedMs = await playAndKill(['pulse', 'gate', pulse.server], process.env, async () => recording.sounds());
      await vi.waitUntil(async () => (await pulse.pactl('list', 'short', 'sink-inputs')) === '', { timeout: 10_000 });
      const { soundingMs } = joined([await recording.heard()]);
      expect(soundingMs).toBeGreaterThan(0);
      expect(soundingMs).toBeLessThan(playedMs + 500);
    } finally {
      await pulse.stop();
    }
  });
});

describe('where the player is killed, the sound has failed', () => {
  async function playAndEnd(driver: SpeakerDriver, name: string, signal: NodeJS.Signals): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const played = driver.play(tone({ ms: 20_000 }), { signal: never(), onFirstSample: () => begun.resolve() });
    played.catch(() => undefined);
    await begun.promise;
    for (const pid of childrenNamed(name)) process.kill(pid, signal);
    await expect(played).rejects.toMatchObject({ failure: 'device_error' });
    expect(playersRunning()).toEqual([]);
  }

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('aplay by %s', async (signal) => {
    const card = createAlsaDevice();
    try {
      await playAndEnd(
        createAlsaDriver({ device: card.device, players: createPlayers({ env: card.env }) }),
        'aplay',
        signal,
      );
    } finally {
      card.close();
    }
  });

  it('paplay by any signal', async () => {
    const pulse = await startPulseServer({ sinks: ['gate'] });
    const driver = createPulseDriver({ sink: 'gate', server: pulse.server, players: createPlayers() });
    try {
      for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) await playAndEnd(driver, 'paplay', signal);
    } finally {
      await pulse.stop();
    }
  });
});

describe('many sounds', () => {
  it('that are cut, fail and end leave no file open, no player and no listener', async () => {
    const card = createAlsaDevice();
    const players = createPlayers({ env: card.env });
    const [there, missing] = ['swallows', 'nowhere'].map((device) => createAlsaDriver({ device, players }));
    const warned = vi.fn();
    process.on('warning', warned);
    const lifelong = new AbortController().signal;
    const files = () => readdirSync('/proc/self/fd').length;
    async function round(): Promise<void> {
      const stop = new AbortController();
      const signal = AbortSignal.any([stop.signal, lifelong]);
      const cut = there?.play(tone({ ms: 5000 }), { signal, onFirstSample: () => stop.abort() });
      const failed = missing?.play(tone(), { signal: lifelong, onFirstSample: () => undefined });
      const probed = there?.probe(lifelong);
      await Promise.allSettled([cut, failed, probed]);
    }
    try {
      await round();
      const before = files();
      for (let count = 0; count < 30; count += 1) await round();
      await vi.waitFor(() => expect(files()).toBeLessThanOrEqual(before), { timeout: 5_000 });
      expect(players.running).toBe(0);
      expect(playersRunning()).toEqual([]);
      expect(warned).not.toHaveBeenCalled();
    } finally {
      process.off('warning', warned);
      card.close();
    }
  });

  it('are heard at the same time on as many speakers', async () => {
    const sinks = ['gate', 'yard', 'hall', 'office'];
    const pulse = await startPulseServer({ sinks });
    const players = createPlayers();
    try {
      const recordings = await Promise.all(sinks.map((sink) => pulse.record(sink)));
      const drivers = sinks.map((sink) => createPulseDriver({ sink, server: pulse.server, players }));
      const sound = { ms: 700, repeat: 2, gapMs: 600 };
      await Promise.all(
        drivers.map((driver) => driver.play(tone(sound), { signal: never(), onFirstSample: () => undefined })),
      );
      for (const recording of recordings) {
        const heard = joined([await recording.heard()]);
        expect(heard.bursts).toHaveLength(2);
        expect(Math.abs(heard.soundingMs - 1400)).toBeLessThan(50);
      }
    } finally {
      await pulse.stop();
    }
  });
});

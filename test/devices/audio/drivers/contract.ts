import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DriverFailure, SoundFormat, SpeakerDriver } from '#devices/audio/driver.ts';
import { mostAheadMs } from '#devices/audio/pace.ts';
import { never } from '#lib/wait.ts';
import type { Measured } from '../../../harness/sound.ts';
import { type ToneOptions, tone, toneDb } from './tone.ts';

/** A driver, with a device behind it which tells what was heard. */
export interface Rig {
  readonly driver: SpeakerDriver;
  /** A driver of the same kind whose device is not there. */
  readonly missing: SpeakerDriver;
  /** Whether anything was heard yet. */
  sounds(): Promise<boolean>;
  /** All that was heard since the rig was made. */
  heard(): Promise<Measured>;
  /** Processes and files of the driver. */
  leftovers(): Promise<readonly string[]>;
  /** The device is lost. */
  die(): Promise<void>;
  /** The device takes nothing more, and says nothing. */
  freeze(): Promise<void>;
  close(): Promise<void>;
}

export interface Kind {
  readonly make: () => Promise<Rig>;
  /** The driver sends the samples itself. */
  readonly paced: boolean;
  readonly delivered: 'heard' | 'sent' | 'accepted';
  /** What it takes; without it 16 bits at 48 kHz, one or two channels. */
  readonly format?: SoundFormat;
  readonly failures?: { readonly missing?: DriverFailure; readonly die?: DriverFailure };
}

/** Two samples of a packet more or less. */
const exactMs = 25;
const packetMs = 20;

/** What every driver does, whatever is behind it. How long something was heard is counted in the samples that came out. */
export function driverContract(name: string, kind: Kind): void {
  const { format } = kind;
  const { encoding, rate } = format ?? { encoding: 's16le', rate: 48_000 };
  describe(`driver ${name}`, () => {
    let rig: Rig;
    beforeEach(async () => {
      rig = await kind.make();
    });
    afterEach(async () => {
      const left = await rig.leftovers();
      await rig.close();
      expect(left).toEqual([]);
    });

    const play = (options: ToneOptions, signal = never(), driver = rig.driver) => {
      const sound = tone({ ...format, ...options });
      const onFirstSample = vi.fn();
      const played = driver.play(sound, { signal, onFirstSample });
      played.catch(() => undefined);
      return { sound, onFirstSample, played };
    };
    const begun = async (onFirstSample: ReturnType<typeof vi.fn>) => {
      await vi.waitFor(() => expect(onFirstSample).toHaveBeenCalled(), { timeout: 10_000, interval: 5 });
      await vi.waitUntil(() => rig.sounds(), { timeout: 10_000, interval: 5 });
    };

    it('answers to a probe without a sound', async () => {
      const probe = await rig.driver.probe(never());
      expect(probe.detail).not.toBe('');
      expect(probe.format).toMatchObject({ encoding, rate });
      expect((await rig.heard()).soundingMs).toBe(0);
    });

    it('plays a sound once, to its end, at its level', async () => {
      const { sound, onFirstSample, played } = play({ ms: 900, amplitude: 0.5 });
      expect(await played).toEqual({ samples: sound.samples, delivered: kind.delivered });
      expect(onFirstSample).toHaveBeenCalledTimes(1);
      const heard = await rig.heard();
      expect(heard.bursts).toHaveLength(1);
      expect(Math.abs(heard.soundingMs - 900)).toBeLessThan(exactMs);
      expect(Math.abs(heard.rmsDb - toneDb(0.5))).toBeLessThan(0.3);
    });

    it('plays repeats with their gaps, and what is soft as soft as it is', async () => {
      const { played } = play({ ms: 300, repeat: 3, gapMs: 500, amplitude: 0.05, channels: format?.channels ?? 2 });
      await played;
      const heard = await rig.heard();
      expect(heard.bursts).toHaveLength(3);
      for (const { soundingMs } of heard.bursts) expect(Math.abs(soundingMs - 300)).toBeLessThan(exactMs);
      // Where the machine held the sound up, a gap is longer; it is never shorter.
      for (const gapMs of heard.gapsMs) expect(gapMs).toBeGreaterThan(500 - exactMs);
      expect(Math.abs(heard.rmsDb - toneDb(0.05))).toBeLessThan(0.3);
    });

    if (kind.paced)
      it('reads a sound as it is sent, never more than it may be ahead', async () => {
        const { sound, onFirstSample, played } = play({ ms: 1000 });
        let firstAt = 0;
        onFirstSample.mockImplementation(() => {
          firstAt = performance.now();
        });
        await played;
        const ahead = sound.reads.slice(1).map(({ to, at }) => (to * 1000) / rate - (at - firstAt));
        expect(Math.max(...ahead)).toBeLessThan(mostAheadMs + 2);
        expect(Math.max(...sound.reads.map(({ from, to }) => to - from))).toBe((packetMs * rate) / 1000);
      });

    it('is silent when it is told to stop, and plays the next sound', async () => {
      const stop = new AbortController();
      const reason = new Error('the alarm was disarmed');
      const { onFirstSample, played } = play({ ms: 8000 }, stop.signal);
      let firstAt = 0;
      onFirstSample.mockImplementation(() => {
        firstAt = performance.now();
      });
      await begun(onFirstSample);
      await pause(500);
      const stoppedAt = performance.now();
      stop.abort(reason);
      await expect(played).rejects.toBe(reason);
      const first = await rig.heard();
      expect(first.soundingMs).toBeGreaterThan(0);
      expect(first.soundingMs).toBeLessThan(stoppedAt - firstAt + rig.driver.stopBudgetMs);
      await play({ ms: 400 }).played;
      const both = await rig.heard();
      expect(Math.abs(both.soundingMs - first.soundingMs - 400)).toBeLessThan(exactMs);
    });

    it('does not begin where it was told to stop before', async () => {
      const reason = new Error('too late');
      const { onFirstSample, played } = play({ ms: 300 }, AbortSignal.abort(reason));
      await expect(played).rejects.toBe(reason);
      await expect(rig.driver.probe(AbortSignal.abort(reason))).rejects.toBe(reason);
      expect(onFirstSample).not.toHaveBeenCalled();
      expect((await rig.heard()).soundingMs).toBe(0);
    });

    it('refuses a format it does not send', async () => {
      const { onFirstSample, played } = play({ encoding: encoding === 'ulaw' ? 'alaw' : 'ulaw' });
      await expect(played).rejects.toMatchObject({ failure: 'format' });
      expect(onFirstSample).not.toHaveBeenCalled();
    });

    const { missing = 'not_found', die = 'device_error' } = kind.failures ?? {};
    it('says that its device is not there, and that no sample was handed over', async () => {
      await expect(rig.missing.probe(never())).rejects.toMatchObject({ failure: missing });
      const { onFirstSample, played } = play({ ms: 300 }, never(), rig.missing);
      await expect(played).rejects.toMatchObject({ failure: missing });
      expect(onFirstSample).not.toHaveBeenCalled();
      expect((await rig.heard()).soundingMs).toBe(0);
    });

    it('fails where its device is lost', async () => {
      const { onFirstSample, played } = play({ ms: 8000 });
      await begun(onFirstSample);
      await pause(300);
      await rig.die();
      await expect(played).rejects.toMatchObject({ failure: die });
    });

    it('fails where its device stands still, and does not wait for ever', async () => {
      const { onFirstSample, played } = play({ ms: 1000 });
      await begun(onFirstSample);
      await pause(200);
      await rig.freeze();
      await expect(played).rejects.toMatchObject({ failure: 'timeout' });
    });
  });
}

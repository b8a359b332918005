import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAlsaDriver } from '#devices/audio/drivers/alsa.ts';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import type { PaceClock } from '#devices/audio/pace.ts';
import { never } from '#lib/wait.ts';
import { type AlsaDevice, createAlsaDevice, playersRunning } from './alsa-device.ts';
import { driverContract } from './contract.ts';
import { tone } from './tone.ts';

driverContract('alsa', {
  ...{ paced: true, delivered: 'heard' },
  async make() {
    const card = createAlsaDevice();
    const players = createPlayers({ env: card.env });
    return {
      driver: createAlsaDriver({ device: card.device, players }),
      missing: createAlsaDriver({ device: 'plughw:CARD=Nowhere,DEV=0', players }),
      sounds: card.sounds,
      heard: card.heard,
      leftovers: async () => playersRunning(),
      die: card.kill,
      freeze: card.freeze,
      close: async () => card.close(),
    };
  },
});

describe('driver alsa', () => {
  let card: AlsaDevice;
  beforeEach(() => {
    card = createAlsaDevice();
  });
  afterEach(() => card.close());

  const driverFor = (device: string, env = card.env, clock?: PaceClock) =>
    createAlsaDriver({ device, players: createPlayers({ env }), ...(clock === undefined ? {} : { clock }) });
  const context = (onFirstSample: () => void = () => undefined) => ({ signal: never(), onFirstSample });

  /** Takes the place of aplay. */
  function aplay(...lines: readonly string[]): NodeJS.ProcessEnv {
    const folder = join(card.folder, 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'aplay'), ['#!/bin/sh', ...lines, ''].join('\n'));
    chmodSync(join(folder, 'aplay'), 0o755);
    return { ...card.env, PATH: `${folder}:${process.env.PATH}` };
  }

  it('does not believe a device that swallows the sound', async () => {
    // Ten times slower than time, so that a machine under load does not take what is swallowed for played.
    const start = performance.now();
    const slow: PaceClock = {
      now: () => (performance.now() - start) / 10,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, ms * 10);
          signal.addEventListener(
            'abort',
            () => {
              clearTimeout(timer);
              resolve();
            },
            { once: true },
          );
        }),
    };
    const played = driverFor(card.swallows, card.env, slow).play(tone({ ms: 250 }), context());
    await expect(played).rejects.toMatchObject({ failure: 'device_error' });
  });

  it.each([
    ['audio open error: Device or resource busy', 'busy'],
    ['audio open error: No such file or directory', 'not_found'],
    ['ALSA lib pcm.c:2666:(snd_pcm_open_noupdate) Unknown PCM kitchen', 'not_found'],
    ['audio open error: Permission denied', 'auth'],
    ['set_params:1352: Sample format non available', 'format'],
    ['set_params:1358: Channels count non available', 'format'],
    ['audio open error: Connection refused', 'connection_lost'],
    ['something else', 'device_error'],
  ])('reads "%s" as %s, before a sample was handed over', async (words, failure) => {
    const driver = driverFor('default', aplay(`echo 'aplay: main:831: ${words}' >&2`, 'exit 1'));
    let first = 0;
    const played = driver.play(
      tone(),
      context(() => {
        first += 1;
      }),
    );
    await expect(played).rejects.toMatchObject({ failure });
    await expect(driver.probe(never())).rejects.toMatchObject({ failure });
    expect(first).toBe(0);
  });

  it.each([
    ['ends well at once', 'exit 0'],
    ['ends well in the middle', 'head -c 20000 >/dev/null'],
    ['is ended by SIGTERM and says that all is well', 'head -c 20000 >/dev/null; kill $$'],
    ['is killed', 'head -c 20000 >/dev/null; kill -9 $$'],
    ['takes all and says in the end that it did not work', 'cat >/dev/null; sleep 0.3; exit 1'],
    ['does not read', 'exec 0</dev/null; sleep 0.2'],
  ])('does not believe a player that %s', async (_, line) => {
    const driver = driverFor('default', aplay(`echo "Playing raw data" >&2`, line));
    await expect(driver.play(tone({ ms: 1500 }), context())).rejects.toMatchObject({ failure: 'device_error' });
  });

  it('gives up a device that does not open', async () => {
    const driver = driverFor('default', aplay('exec sleep 60'));
    await expect(driver.play(tone(), context())).rejects.toMatchObject({ failure: 'timeout' });
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'timeout' });
    expect(playersRunning()).toEqual([]);
  });

  it('says what to install', async () => {
    const driver = driverFor('default', { PATH: join(card.folder, 'empty') });
    const unsupported = { failure: 'unsupported', message: 'aplay is not installed: apt-get install alsa-utils' };
    await expect(driver.play(tone(), context())).rejects.toMatchObject(unsupported);
    await expect(driver.probe(never())).rejects.toMatchObject(unsupported);
  });

  it('knows which devices take one player at a time', async () => {
    const env = aplay('cat >/dev/null');
    const exclusive = (device: string) =>
      driverFor(device, env)
        .probe(never())
        .then((probe) => probe.exclusive);
    expect(await exclusive('hw:CARD=Device')).toBe(true);
    expect(await exclusive('plughw:CARD=Device,DEV=0')).toBe(true);
    expect(await exclusive('dmix:CARD=Device')).toBe(false);
    expect(await exclusive('default')).toBe(false);
  });

  it('does not let a probe stand in the way of a sound', async () => {
    // Busy, as a card is, while another one has it open.
    const lock = join(card.folder, 'lock');
    const driver = driverFor(
      'hw:CARD=Device',
      aplay(
        `exec 9>${lock}`,
        'flock -n 9 || { echo "Device or resource busy" >&2; exit 1; }',
        'echo "Playing raw" >&2',
        'cat >/dev/null; sleep 0.3',
      ),
    );
    const probe = driver.probe(never());
    const played = driver.play(tone({ ms: 300 }), context());
    expect((await probe).detail).toContain('plays');
    expect((await driver.probe(never())).detail).toContain('plays');
    expect((await played).samples).toBe(14_400);
  });
});

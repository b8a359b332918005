import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import { type CommandOptions, createCommandDriver } from '#devices/audio/drivers/command.ts';
import { never } from '#lib/wait.ts';
import { readPcm } from '../../../harness/sound.ts';
import { type AlsaDevice, createAlsaDevice, playersRunning } from './alsa-device.ts';
import { driverContract, type Rig } from './contract.ts';
import { tone } from './tone.ts';

const aplay = ['aplay', '--quiet', '--device=card', '--buffer-time=200000', '--start-delay=100000'] as const;

async function makeRig(input: '-' | '{file}'): Promise<Rig> {
  const card = createAlsaDevice();
  const folder = join(card.folder, 'sound');
  const driverOf = (command: CommandOptions['command']) =>
    createCommandDriver({ command, folder, players: createPlayers({ env: card.env }) });
  return {
    driver: driverOf([...aplay, input]),
    missing: driverOf(['/nowhere/player', input]),
    sounds: card.sounds,
    heard: card.heard,
    leftovers: async () => [...playersRunning(), ...(existsSync(folder) ? readdirSync(folder) : [])],
    die: card.kill,
    freeze: card.freeze,
    close: async () => card.close(),
  };
}

const common = { delivered: 'sent', failures: { missing: 'not_found', die: 'device_error' } } as const;
driverContract('command, by its input', { ...common, paced: true, make: () => makeRig('-') });
driverContract('command, by a file', { ...common, paced: false, make: () => makeRig('{file}') });

describe('driver command', () => {
  let card: AlsaDevice;
  let folder: string;
  beforeEach(() => {
    card = createAlsaDevice();
    folder = join(card.folder, 'sound');
  });
  afterEach(() => card.close());

  const context = (signal = never(), onFirstSample: () => void = () => undefined) => ({ signal, onFirstSample });
  const driverOf = (command: CommandOptions['command'], more: Partial<CommandOptions> = {}) =>
    createCommandDriver({ command, folder, players: createPlayers(), ...more });
  const shell = (script: string, ...args: string[]) => driverOf(['/bin/sh', '-c', script, 'sh', ...args]);

  it('gives the sound as a wav file that only siteward reads, and takes it away again', async () => {
    const copy = join(card.folder, 'copy.wav');
    const sound = tone({ ms: 1300, channels: 2 });
    const script = `cp "$1" ${copy}; stat -c '%a %n' "$1" "$(dirname "$1")" >${card.folder}/modes; echo "$2" >${card.folder}/arg; sleep 1.3`;
    await shell(script, '{file}', 'a b $HOME').play(sound, context());
    expect(readFileSync(join(card.folder, 'modes'), 'utf8')).toBe(`600 ${folder}/sound.wav\n700 ${folder}\n`);
    expect(readFileSync(join(card.folder, 'arg'), 'utf8')).toBe('a b $HOME\n');
    expect(readFileSync(copy).subarray(44).equals(sound.read(0, sound.samples))).toBe(true);
    expect(readPcm(readFileSync(copy)).channels[0]?.length).toBe(sound.samples);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('gives the same wav by the input', async () => {
    const copy = join(card.folder, 'copy.wav');
    const sound = tone({ ms: 300, rate: 16_000 });
    await shell(`cat >${copy}; sleep 0.2`).play(sound, context());
    expect(readFileSync(copy).subarray(44).equals(sound.read(0, sound.samples))).toBe(true);
    expect(readPcm(readFileSync(copy)).rate).toBe(16_000);
  });

  it.each([
    ['ends before the sound', 'sleep 0.1'],
    ['ends badly in time', 'sleep 1; echo no speaker >&2; exit 4'],
    ['kills itself', 'kill -9 $$'],
  ])('takes the file away and fails where the program %s', async (_, script) => {
    const played = shell(script, '{file}').play(tone({ ms: 800 }), context());
    await expect(played).rejects.toMatchObject({ failure: 'device_error' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('ends a program that takes longer than the sound', async () => {
    const played = shell('sleep 60', '{file}').play(tone({ ms: 200 }), context());
    await expect(played).rejects.toMatchObject({ failure: 'timeout' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes the file away when it is told to stop, before and while it plays', async () => {
    for (const begun of [false, true]) {
      const stop = new AbortController();
      const reason = new Error('stop');
      const onFirstSample = vi.fn(() => stop.abort(reason));
      const played = shell('sleep 60', '{file}').play(tone({ ms: 5000 }), context(stop.signal, onFirstSample));
      if (!begun) stop.abort(reason);
      await expect(played).rejects.toBe(reason);
      expect(onFirstSample).toHaveBeenCalledTimes(begun ? 1 : 0);
      expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
    }
  });

  it('takes away what a daemon that was killed left there', async () => {
    mkdirSync(folder, { mode: 0o755 });
    for (const name of ['sound.wav', 'other.wav']) writeFileSync(join(folder, name), 'old');
    await shell('sleep 0.3', '{file}').play(tone({ ms: 200 }), context());
    expect(readdirSync(folder)).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('says that no file can be written', async () => {
    writeFileSync(join(card.folder, 'file'), '');
    const driver = driverOf(['sleep', '1', '{file}'], { folder: join(card.folder, 'file', 'below') });
    await expect(driver.play(tone(), context())).rejects.toMatchObject({ failure: 'device_error' });
  });

  it('asks the program of the site how the speaker is', async () => {
    const probe = (script: string) =>
      driverOf(['sleep', '{file}'], { probe: ['/bin/sh', '-c', script] }).probe(never());
    expect((await probe('exit 0')).detail).toBe('command sleep');
    await expect(probe('echo unplugged >&2; exit 1')).rejects.toMatchObject({
      failure: 'device_error',
      message: '/bin/sh ended with 1: unplugged',
    });
    await expect(probe('exec sleep 60')).rejects.toMatchObject({ failure: 'timeout' });
  });
});

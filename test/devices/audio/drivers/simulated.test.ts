import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SoundFormat } from '#devices/audio/driver.ts';
import { createCaptureDriver } from '#devices/audio/drivers/capture.ts';
import { createNullDriver, type SpeakerFault } from '#devices/audio/drivers/null.ts';
import { never } from '#lib/wait.ts';
import { type Measured, measureWav, type Pcm, rawPcm, readPcm } from '../../../harness/sound.ts';
import { driverContract } from './contract.ts';
import { joined } from './heard.ts';
import { tone } from './tone.ts';
import { virtualClock } from './virtual-clock.ts';

const failures = { die: 'connection_lost' } as const;

function createFaults() {
  let fault: SpeakerFault | undefined;
  return {
    fault: () => fault,
    die: async () => {
      fault = { kind: 'die' };
    },
    freeze: async () => {
      fault = { kind: 'freeze' };
    },
  };
}
const missing = () => createNullDriver({ fault: () => ({ kind: 'gone' }) });

driverContract('null', {
  ...{ paced: true, delivered: 'heard', failures },
  async make() {
    const { fault, die, freeze } = createFaults();
    const parts: Pcm[] = [];
    const hear = (format: SoundFormat) => ({
      samples: (bytes: Buffer) => void parts.push(rawPcm(bytes, format)),
      end: async () => undefined,
    });
    return {
      driver: createNullDriver({ fault, hear }),
      missing: missing(),
      sounds: async () => parts.length > 0,
      heard: async () => joined(parts),
      leftovers: async () => [],
      ...{ die, freeze },
      close: async () => undefined,
    };
  },
});

const filesIn = (folder: string) => readdirSync(folder).map((name) => join(folder, name));

driverContract('capture', {
  ...{ paced: true, delivered: 'heard', failures },
  async make() {
    const { fault, die, freeze } = createFaults();
    const folder = mkdtempSync(join(tmpdir(), 'siteward-capture-'));
    return {
      driver: createCaptureDriver({ folder, fault }),
      missing: missing(),
      sounds: async () => filesIn(folder).some((file) => statSync(file).size > 44),
      heard: async () => joined(filesIn(folder).map((file) => readPcm(readFileSync(file)))),
      leftovers: async () => [],
      ...{ die, freeze },
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
});

describe('simulated speakers', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'siteward-capture-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const clock = virtualClock();
  const context = () => ({ signal: never(), onFirstSample: () => undefined });
  const measured = (): readonly Measured[] => filesIn(folder).flatMap((file) => measureWav(file));

  it('write down each sound in a file of its own, to the sample, and keep the newest', async () => {
    const driver = createCaptureDriver({ folder, clock, keep: 3 });
    for (const ms of [100, 200, 300, 400]) await driver.play(tone({ ms }), context());
    expect(readdirSync(folder)).toEqual(['000002.wav', '000003.wav', '000004.wav']);
    expect(measured().map(({ lengthMs }) => lengthMs)).toEqual([200, 300, 400]);
    const samples = tone({ ms: 400 }).read(0, 19_200);
    expect(readFileSync(join(folder, '000004.wav')).subarray(44).equals(samples)).toBe(true);
  });

  it.each(['freeze', 'die'] as const)('hear nothing after the moment of %s', async (kind) => {
    const driver = createCaptureDriver({ folder, clock, fault: () => ({ kind, afterMs: 400 }) });
    const failure = kind === 'die' ? 'connection_lost' : 'timeout';
    await expect(driver.play(tone({ ms: 2000 }), context())).rejects.toMatchObject({ failure });
    expect(measured().map(({ lengthMs }) => Math.round(lengthMs))).toEqual([400]);
  });

  it.each([100, 2000])('are not believed where %d ms were over too soon', async (ms) => {
    const driver = createNullDriver({ clock, fault: () => ({ kind: 'too_fast' }) });
    await expect(driver.play(tone({ ms }), context())).rejects.toMatchObject({ failure: 'device_error' });
  });

  it('are busy without a sound', async () => {
    const driver = createCaptureDriver({ folder, clock, fault: () => ({ kind: 'busy' }) });
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'busy' });
    await expect(driver.play(tone(), context())).rejects.toMatchObject({ failure: 'busy' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('fail where what was heard cannot be written down', async () => {
    writeFileSync(join(folder, 'file'), '');
    const driver = createCaptureDriver({ folder: join(folder, 'file'), clock });
    await expect(driver.play(tone(), context())).rejects.toMatchObject({ failure: 'device_error' });
  });
});

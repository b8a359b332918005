import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Measured, rawPcm } from '../../../harness/sound.ts';
import { joined } from './heard.ts';

/** ALSA with a device that writes down what it plays, in real time, and one that swallows everything at once. */
export interface AlsaDevice {
  readonly folder: string;
  readonly device: string;
  readonly swallows: string;
  readonly env: NodeJS.ProcessEnv;
  sounds(): Promise<boolean>;
  heard(): Promise<Measured>;
  /** Ends the card's clock as if the card were pulled out; or stops it. */
  kill(): Promise<void>;
  freeze(): Promise<void>;
  /** Files, and the clocks that still run. */
  close(): void;
}

const format = { rate: 48_000, channels: 2 };

export function createAlsaDevice(): AlsaDevice {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-alsa-'));
  const [out, pids] = [join(folder, 'out.raw'), join(folder, 'pids')];
  const reader = [process.execPath, join(import.meta.dirname, 'paced-reader.ts'), out, pids, '192000'].join(' ');
  const config = join(folder, 'asound.conf');
  // Without the system's own file ALSA knows no kind of device.
  const lines = [
    '</usr/share/alsa/alsa.conf>',
    'pcm.nothing { type null }',
    `pcm.written { type file slave.pcm nothing file "|${reader}" format raw }`,
    'pcm.card { type plug slave { pcm written rate 48000 channels 2 format S16_LE } }',
    'pcm.swallows { type plug slave { pcm nothing rate 48000 channels 2 format S16_LE } }',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);

  const clocks = () =>
    (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : []).map(Number).filter((pid) => runs(pid));
  async function signal(name: NodeJS.Signals): Promise<void> {
    const [pid] = await vi.waitUntil(() => (clocks().length > 0 ? clocks() : undefined), { timeout: 10_000 });
    if (pid !== undefined) process.kill(pid, name);
  }

  return {
    folder,
    ...{ device: 'card', swallows: 'swallows' },
    env: { ...process.env, ALSA_CONFIG_PATH: config },
    sounds: async () => existsSync(out) && statSync(out).size > 0,
    async heard() {
      await vi.waitUntil(() => clocks().length === 0, { timeout: 10_000 });
      return joined(existsSync(out) ? [rawPcm(readFileSync(out), format)] : []);
    },
    kill: () => signal('SIGKILL'),
    freeze: () => signal('SIGSTOP'),
    close() {
      for (const pid of clocks()) process.kill(pid, 'SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}

/** Whether a process that is no zombie has this id. */
export function runs(pid: number): boolean {
  const status = statusOf(pid);
  return status !== '' && !/^State:\s+Z/m.test(status);
}

/** The players this process has started and that still run. */
export function playersRunning(): readonly string[] {
  return ['aplay', 'paplay', 'pactl'].flatMap((name) => childrenNamed(name).map(() => name));
}

/** Ids of the processes of this name that this process has started and that still run. */
export function childrenNamed(name: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const status = statusOf(pid);
      return status.startsWith(`Name:\t${name}\n`) && status.includes(`\nPPid:\t${process.pid}\n`) && runs(pid);
    });
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { type Pcm, rawPcm } from '../../../harness/sound.ts';

/** A real PulseAudio of its own, with sinks that have a clock and no card. */
export interface PulseServer {
  readonly folder: string;
  readonly server: string;
  pactl(...args: readonly string[]): Promise<string>;
  /** Begins to write down what is heard on a sink. */
  record(sink: string): Promise<Recording>;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export interface Recording {
  sounds(): boolean;
  /** All that was heard until now. */
  heard(): Promise<Pcm>;
}

const format = { rate: 48_000, channels: 2 };
const bytesPerMs = 192;

export async function startPulseServer(options: { sinks: readonly string[]; rescue?: boolean }): Promise<PulseServer> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-pulse-'));
  const socket = join(folder, 'native');
  const file = join(folder, 'server.pa');
  const lines = [
    `load-module module-native-protocol-unix socket=${socket} auth-anonymous=1`,
    // With rewinds it would run seconds ahead of time.
    ...options.sinks.map((sink) => `load-module module-null-sink norewinds=1 sink_name=${sink} rate=48000 channels=2`),
    // What the streams of a sink that goes away are moved by.
    ...(options.rescue ? ['load-module module-rescue-streams'] : []),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const env = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: folder, XDG_CONFIG_HOME: folder, LC_ALL: 'C' };
  const server = `unix:${socket}`;
  const children: ChildProcess[] = [];
  const files: number[] = [];
  const run = (program: string, args: readonly string[], out: number | 'ignore') => {
    const child = spawn(program, args, { stdio: ['ignore', out, 'ignore'], env });
    children.push(child);
    return child;
  };
  const quiet = ['--daemonize=no', '--exit-idle-time=-1', '--use-pid-file=no', '--disable-shm=yes'];
  const pulse = run('pulseaudio', ['-n', '-F', file, ...quiet], 'ignore');
  const pactl = async (...args: readonly string[]) =>
    (await promisify(execFile)('pactl', [`--server=${server}`, ...args], { env, timeout: 10_000 })).stdout;
  await vi.waitFor(() => pactl('info'), { timeout: 10_000, interval: 20 });

  async function record(sink: string): Promise<Recording> {
    const name = join(folder, `${files.length}.raw`);
    const out = openSync(name, 'w');
    files.push(out);
    const args = [`--server=${server}`, '--latency-msec=20', `--device=${sink}.monitor`, '--raw', '--format=s16le'];
    run('parec', [...args, `--rate=${format.rate}`, `--channels=${format.channels}`], out);
    const size = () => statSync(name).size;
    await vi.waitUntil(() => size() > 0, { timeout: 10_000 });
    return {
      sounds: () => readFileSync(name).some((byte) => byte !== 0),
      async heard() {
        // What was heard a moment ago is still on its way.
        const until = size() + 400 * bytesPerMs;
        await vi.waitUntil(() => size() > until || pulse.exitCode !== null || pulse.signalCode !== null, {
          timeout: 10_000,
        });
        return rawPcm(readFileSync(name), format);
      },
    };
  }

  return {
    ...{ folder, server, pactl, record },
    signal: (name) => void pulse.kill(name),
    async stop() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const gone = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        await gone;
      }
      for (const out of files) closeSync(out);
      rmSync(folder, { recursive: true });
    },
  };
}

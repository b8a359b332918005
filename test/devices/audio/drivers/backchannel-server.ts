import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Measured, rawPcm } from '../../../harness/sound.ts';
import { joined } from './heard.ts';

export interface BackchannelOptions {
  readonly encoding?: 'ulaw' | 'alaw';
  readonly speakers?: number;
  /** Who may talk, by digest. */
  readonly user?: { readonly username: string; readonly password: string };
}

/** Cameras with a speaker from GStreamer's RTSP server, a real process. */
export interface BackchannelServer {
  url(speaker?: number): string;
  sounds(speaker?: number): boolean;
  heard(speaker?: number): Measured;
  freeze(): void;
  kill(): void;
  stop(): Promise<void>;
}

export async function startBackchannelServer(options: BackchannelOptions = {}): Promise<BackchannelServer> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-backchannel-'));
  const settings = { encoding: 'ulaw', speakers: 1, ...options, folder };
  const script = join(import.meta.dirname, 'backchannel-server.py');
  const child = spawn('/usr/bin/python3', [script, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const port = await firstLine(child);
  const file = (speaker: number) => join(folder, `${speaker}.raw`);
  return {
    url: (speaker = 0) => `rtsp://127.0.0.1:${port}/speaker${speaker}`,
    sounds: (speaker = 0) => existsSync(file(speaker)) && statSync(file(speaker)).size > 0,
    heard(speaker = 0) {
      const bytes = existsSync(file(speaker)) ? readFileSync(file(speaker)) : Buffer.alloc(0);
      return joined([rawPcm(bytes, { rate: 8000, channels: 1 })], 8000);
    },
    freeze: () => void child.kill('SIGSTOP'),
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      child.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true });
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the RTSP server has no stdout');
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error('the RTSP server did not start');
}

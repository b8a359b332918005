import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect as tcpConnect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '#sandbox/demo/processes.ts';

/** A real mosquitto as a process. */
export interface BrokerProcess {
  readonly url: string;
  readonly pid: number | undefined;
  /** SIGKILL: what it had not saved is gone. */
  kill(): Promise<void>;
  /** Ends it in order if it runs, and starts it on the same port with the sessions, queues and retained messages it kept. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Without `settings` whoever asks is let in, and what is waiting outlives a restart. */
export async function startMosquitto(options: {
  readonly folder: string;
  readonly port: number;
  readonly settings?: readonly string[];
}): Promise<BrokerProcess> {
  const { folder, port, settings = kept(folder) } = options;
  const file = join(folder, 'mosquitto.conf');
  // As root mosquitto would change to its own user and lose its folder.
  writeFileSync(file, `${[`listener ${port} 127.0.0.1`, 'user root', ...settings].join('\n')}\n`);
  let child: ChildProcess | undefined;

  async function run(): Promise<void> {
    child = spawn('mosquitto', ['-c', file], {
      stdio: 'ignore',
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    });
    await eventually('mosquitto listens', async () => ((await accepts(port)) ? true : undefined), { everyMs: 20 });
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const current = child;
    child = undefined;
    if (current === undefined || current.exitCode !== null || current.signalCode !== null) return;
    const gone = new Promise((resolve) => current.once('exit', resolve));
    current.kill(signal);
    await gone;
  }

  await run();
  return {
    url: `mqtt://127.0.0.1:${port}`,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async restart() {
      await end('SIGTERM');
      await run();
    },
  };
}

function kept(folder: string): readonly string[] {
  const place = join(folder, 'mosquitto');
  mkdirSync(place, { recursive: true });
  return [...open, 'persistence true', `persistence_location ${place}/`];
}

/** Whoever asks is let in, and no test runs into a full queue. */
export const open = ['allow_anonymous true', 'max_queued_messages 20000'];

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = tcpConnect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

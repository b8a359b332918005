import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually } from '#sandbox/demo/processes.ts';

/** A real process with everything it wrote, its two outputs apart. */
export interface Proc {
  readonly pid: number;
  readonly stdout: string[];
  readonly stderr: string[];
  /** Exit code, or the signal that ended it; undefined while it runs. */
  ended(): number | string | undefined;
  /** Resolves with how it ended. */
  readonly exited: Promise<number | string>;
  signal(name: NodeJS.Signals): void;
  send(line: string): void;
  /** The first line of stdout, from the beginning or from `since`, for which `match` gives a value. */
  line<T>(
    what: string,
    match: (line: string) => T | undefined,
    options?: { since?: number; timeoutMs?: number },
  ): Promise<T>;
  /** SIGTERM, SIGKILL after six seconds. */
  stop(): Promise<void>;
}

export function launch(
  command: string,
  args: readonly string[],
  options: { env?: Readonly<Record<string, string | undefined>> } = {},
): Proc {
  const child: ChildProcess = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const stdout: string[] = [];
  const stderr: string[] = [];
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line));
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line));
  child.stdin?.on('error', () => undefined);
  let ended: number | string | undefined;
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    // 'close' comes after the last line of both outputs.
    child.once('close', (code, signal) => {
      ended = code ?? signal ?? 'unknown';
      resolve(ended);
    });
  });
  exited.catch(() => undefined);

  return {
    pid: child.pid ?? 0,
    stdout,
    stderr,
    ended: () => ended,
    exited,
    signal(name) {
      if (ended === undefined) child.kill(name);
    },
    send: (line) => void child.stdin?.write(`${line}\n`),
    line: (what, match, { since = 0, timeoutMs = 20_000 } = {}) =>
      eventually(
        what,
        () => {
          for (const line of stdout.slice(since)) {
            const value = match(line);
            if (value !== undefined) return value;
          }
          if (ended !== undefined) {
            throw new Error(`the process ended with ${ended}: ${[...stdout, ...stderr].slice(-8).join('\n')}`);
          }
          return undefined;
        },
        { timeoutMs, everyMs: 20 },
      ),
    async stop() {
      if (ended !== undefined) return;
      child.kill('SIGTERM');
      const patience = setTimeout(() => child.kill('SIGKILL'), 6000);
      await exited;
      clearTimeout(patience);
    },
  };
}

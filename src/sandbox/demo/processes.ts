import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { sleep } from '#lib/wait.ts';

/** A real process of the demo. Its lines of JSON come out as they are written. */
export interface Running {
  readonly name: string;
  /** Resolves with the first line for which `match` gives a value; rejects when the process ends or time is up. */
  until<T>(match: (line: string) => T | undefined, what: string, timeoutMs?: number): Promise<T>;
  /** Writes one line and resolves with the first new line for which `match` gives a value. */
  ask<T>(line: string, match: (line: string) => T | undefined, what: string, timeoutMs?: number): Promise<T>;
  /** Writes one line to the process's standard input. */
  send(line: string): void;
  /** SIGTERM, and SIGKILL after five seconds. */
  stop(): Promise<void>;
  /** SIGKILL, as a power cut ends a process; resolves when it is gone. */
  kill(): Promise<void>;
  readonly pid: number;
  /** Undefined while it runs, null after a signal. */
  exitCode(): number | null | undefined;
  /** The last lines it wrote, at most 200. */
  lines(): readonly string[];
}

const kept = 200;

export function startProcess(options: {
  name: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A program, with its arguments, that becomes the process: it ends in `exec`. */
  under?: readonly string[];
  /** Told each line it writes. */
  onLine?: (line: string) => void;
}): Running {
  const [program = process.execPath, ...args] = [...(options.under ?? []), process.execPath, ...options.args];
  const child: ChildProcess = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  const endings = new Set<() => void>();
  let ended = false;
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => {
      ended = true;
      for (const ending of endings) ending();
      resolve();
    });
  });
  child.stdin?.on('error', () => undefined);
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      options.onLine?.(line);
      lines.push(line);
      if (lines.length > kept) lines.shift();
      for (const listener of listeners) listener(line);
    });
  }

  /** The first line, of `past` and of what comes, for which `match` gives a value. */
  function watch<T>(
    match: (line: string) => T | undefined,
    what: string,
    timeoutMs = 60_000,
    past: readonly string[] = [],
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        finish();
        reject(new Error(`${options.name}: ${what}: ${why}\n${lines.slice(-15).join('\n')}`));
      };
      const timer = setTimeout(() => fail(`nothing within ${timeoutMs} ms`), timeoutMs);
      const onEnd = () => fail('the process ended');
      const onLine = (line: string) => {
        const value = match(line);
        if (value === undefined) return;
        finish();
        resolve(value);
      };
      function finish() {
        clearTimeout(timer);
        listeners.delete(onLine);
        endings.delete(onEnd);
      }
      listeners.add(onLine);
      endings.add(onEnd);
      for (const line of [...past]) onLine(line);
      if (ended) onEnd();
    });
  }

  return {
    name: options.name,

    until: (match, what, timeoutMs) => watch(match, what, timeoutMs, lines),

    ask(line, match, what, timeoutMs) {
      const answer = watch(match, what, timeoutMs, []);
      child.stdin?.write(`${line}\n`);
      return answer;
    },

    send(line) {
      child.stdin?.write(`${line}\n`);
    },

    pid: child.pid ?? 0,
    exitCode: () => (ended ? child.exitCode : undefined),
    lines: () => [...lines],

    async kill() {
      if (!ended) child.kill('SIGKILL');
      await exit;
    },

    async stop() {
      if (ended) return;
      child.kill('SIGTERM');
      const abort = new AbortController();
      await Promise.race([exit, sleep(5000, abort.signal).catch(() => undefined)]);
      abort.abort();
      if (!ended) child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Asks until `probe` gives a value; the last error tells why it did not. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  options: { timeoutMs?: number; everyMs?: number } = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const signal = AbortSignal.timeout(timeoutMs);
  let last: unknown;
  while (!signal.aborted) {
    try {
      const value = await probe();
      if (value !== undefined) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await sleep(options.everyMs ?? 100, signal).catch(() => undefined);
  }
  throw new Error(`${what}: not seen within ${timeoutMs} ms${last === undefined ? '' : ` (${String(last)})`}`);
}

/** A member of a line that is a JSON object; undefined for every other line, and for a member that is no text. */
export function member(line: string, name: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const value = (JSON.parse(line) as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * A port that was free a moment ago. It lies below those the system gives to outgoing connections, so that none of
 * them takes it while the process that is to listen on it starts again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error('no free port');
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Said } from './said.ts';

const promisesNothing: ReadonlySet<Said['what']> = new Set(['open', 'failed', 'gone']);

/** `writers.ts` as a process. */
export interface Writers {
  /** Of the writers themselves, also under another program; undefined before the store is open. */
  readonly pid: number | undefined;
  readonly said: readonly Said[];
  /** How many promises it has made. */
  readonly promises: number;
  /** Resolves when it has made so many promises in this life; rejects when it ends first or within 30 s. */
  promised(count: number): Promise<void>;
  /** SIGKILL. Resolves when its last line was read. */
  kill(): Promise<readonly Said[]>;
}

/** `command` runs the program, under another one if need be, such as strace. */
export function startWriters(command: readonly string[]): Writers {
  const [program = '', ...args] = command;
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const said: Said[] = [];
  const errors: string[] = [];
  let promises = 0;
  let closed = false;
  const looks = new Set<() => void>();
  const closing = once(child, 'close').then(() => {
    closed = true;
    process.off('exit', onExit);
    for (const look of looks) look();
  });
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors.push(line);
    if (errors.length > 20) errors.shift();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    // The last line may be cut by the kill; it promised nothing then.
    if (!line.endsWith('}')) return;
    const one = JSON.parse(line) as Said;
    said.push(one);
    if (!promisesNothing.has(one.what)) promises += 1;
    for (const look of looks) look();
  });
  return {
    get pid() {
      return pidIn(said);
    },
    said,
    get promises() {
      return promises;
    },
    promised(count) {
      return new Promise((resolve, reject) => {
        const end = (finish: () => void) => {
          clearTimeout(timer);
          looks.delete(look);
          finish();
        };
        const fail = (why: string) => end(() => reject(new Error(`the writers ${why}\n${errors.join('\n')}`)));
        const timer = setTimeout(() => fail(`made ${promises} of ${count} promises in 30 s`), 30_000);
        function look(): void {
          if (promises >= count) end(resolve);
          else if (closed) fail('ended');
        }
        looks.add(look);
        look();
      });
    },
    async kill() {
      const pid = pidIn(said);
      // Who watches it ends with it.
      if (pid === undefined || pid === child.pid || closed) child.kill('SIGKILL');
      else process.kill(pid, 'SIGKILL');
      await closing;
      return said;
    },
  };
}

const pidIn = (said: readonly Said[]): number | undefined => said.find((one) => one.what === 'open')?.pid;

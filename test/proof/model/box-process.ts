import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '#sandbox/demo/processes.ts';
import type { BoxOptions, Command, Question } from './box-protocol.ts';
import type { Entry } from './history.ts';

/** The box as a process. What it says goes to `onEntry`, in order. */
export interface Box {
  readonly pid: number;
  send(command: Command): void;
  ask<T>(what: Question, seqs?: readonly number[]): Promise<T>;
  /** SIGKILL. Resolves when its last line was read. */
  kill(): Promise<void>;
  /** SIGTERM; true when it said that it had stopped before `stopMs` had passed. */
  stop(): Promise<boolean>;
  /** The last lines that are no part of the protocol: its log, or why it died. */
  log(): readonly string[];
}

interface Answer {
  readonly what: 'answer';
  readonly nth: number;
  readonly value?: unknown;
  readonly error?: string;
}

const patienceMs = 60_000;
/** A stop takes 5 s at most; twice that on a machine that does other things too, as systemd would wait longer. */
const stopMs = 10_000;
const kept = 60;

/** Resolves when the store is open and delivery runs. */
export async function startBox(options: BoxOptions, onEntry: (entry: Entry) => void): Promise<Box> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'box.ts'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const answers = new Map<number, Answer>();
  const log: string[] = [];
  const state = { asked: 0, lives: false, stopped: false, gone: false };
  const gone = once(child, 'close').then(([code, signal]) => {
    state.gone = true;
    log.push(`the box ended with code ${String(code)}, signal ${String(signal)}`);
  });
  child.stdin.on('error', () => undefined);
  const hear = (line: string): void => {
    const said = readLine(line);
    if (said === undefined) {
      log.push(line);
      if (log.length > kept) log.shift();
    } else if (said.what === 'answer') answers.set(said.nth, said);
    else if (said.what === 'stopped') state.stopped = true;
    else {
      onEntry(said);
      if (said.what === 'life') state.lives = true;
    }
  };
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', hear);

  async function until<T>(what: string, probe: () => T | undefined): Promise<T> {
    const look = () => {
      const value = probe();
      return value !== undefined || state.gone ? { value } : undefined;
    };
    const { value } = await eventually(what, look, { timeoutMs: patienceMs, everyMs: 10 }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${log.join('\n')}`);
    });
    if (value === undefined) throw new Error(`the box ended before: ${what}\n${log.join('\n')}`);
    return value;
  }

  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  try {
    await until('the box starts', () => (state.lives ? true : undefined));
  } catch (error) {
    await kill();
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    send: (command) => void child.stdin.write(`${JSON.stringify(command)}\n`),
    async ask<T>(what: Question, seqs: readonly number[] = []) {
      state.asked += 1;
      const nth = state.asked;
      child.stdin.write(`${JSON.stringify({ do: 'ask', nth, what, seqs } satisfies Command)}\n`);
      const answer = await until(`the answer to ${what}`, () => answers.get(nth));
      answers.delete(nth);
      if (answer.error !== undefined) throw new Error(`${what}: ${answer.error}`);
      return answer.value as T;
    },
    kill,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      await gone;
      clearTimeout(timer);
      return state.stopped;
    },
    log: () => log,
  };
}

function readLine(line: string): Entry | Answer | { readonly what: 'stopped' } | undefined {
  if (!line.startsWith('{"what":')) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    // A kill may cut the last line.
    return undefined;
  }
}

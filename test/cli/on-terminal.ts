import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, vi } from 'vitest';
import { program } from '../harness/program.ts';

/** Questions in their order, and what is typed then. */
export type Dialogue = readonly (readonly [question: string, typed: string])[];

/** One command line of siteward on a terminal of its own, with a person at it: see `typedInto`. */
export function onTerminal(
  args: readonly string[],
  dialogue: Dialogue,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return typedInto([process.execPath, program, ...args], dialogue, { env: { PATH, NODE_COMPILE_CACHE, ...env } });
}

/** A program on a terminal: waits for each question and types what stands beside it. Resolves with the exit code and all that was shown. */
export async function typedInto(
  argv: readonly string[],
  dialogue: Dialogue,
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const child = spawn('python3', [join(import.meta.dirname, 'terminal.py'), ...argv], {
    ...options,
    env: { TERM: 'dumb', ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [shown, from, isOver] = ['', 0, false];
  void ended.then(() => {
    isOver = true;
  });
  child.stdout.on('data', (bytes) => {
    shown += stripVTControlCharacters(String(bytes));
  });
  for (const [question, typed] of dialogue) {
    await vi
      .waitUntil(() => isOver || shown.includes(question, from), { timeout: 60_000, interval: 50 })
      .catch(() => undefined);
    expect(shown.slice(from), shown).toContain(question);
    from = shown.indexOf(question, from) + question.length;
    child.stdin.write(`${typed}\r`);
  }
  return { code: await ended, shown };
}

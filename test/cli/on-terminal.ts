import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, vi } from 'vitest';
import { program } from '../harness/program.ts';

/**
 * One command line on a terminal of its own, with a person at it: waits for each question and types what stands beside it. Resolves with
 * the exit code and all that was shown.
 */
export async function onTerminal(
  args: readonly string[],
  dialogue: readonly (readonly [question: string, typed: string])[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const { PATH, NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn('python3', [join(import.meta.dirname, 'terminal.py'), process.execPath, program, ...args], {
    env: { PATH, NODE_COMPILE_CACHE, TERM: 'dumb', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [shown, from] = ['', 0];
  child.stdout.on('data', (bytes) => {
    shown += stripVTControlCharacters(String(bytes));
  });
  for (const [question, typed] of dialogue) {
    await vi
      .waitUntil(() => shown.indexOf(question, from) >= 0, { timeout: 60_000, interval: 50 })
      .catch(() => expect(shown.slice(from), shown).toContain(question));
    from = shown.indexOf(question, from) + question.length;
    child.stdin.write(`${typed}\r`);
  }
  return { code: await ended, shown };
}

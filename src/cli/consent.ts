import { createInterface } from 'node:readline/promises';

/** Has a word typed on the terminal, where a wrong "yes" would cost too much; without one there is nobody to ask. */
export async function typed(question: string, word: string): Promise<'yes' | 'no' | 'nobody to ask'> {
  const answer = await asked(`${question} Type ${word} to go on: `);
  return answer === undefined ? 'nobody to ask' : answer.trim() === word ? 'yes' : 'no';
}

/** Asks on the terminal; without one there is nobody to ask. */
export async function agreed(question: string): Promise<'yes' | 'no' | 'nobody to ask'> {
  const answer = await asked(`${question} [yes/no] `);
  return answer === undefined ? 'nobody to ask' : answer.trim().toLowerCase() === 'yes' ? 'yes' : 'no';
}

async function asked(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

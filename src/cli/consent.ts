import { createInterface } from 'node:readline/promises';

/** Asks on the terminal; without one there is nobody to ask. */
export async function agreed(question: string): Promise<'yes' | 'no' | 'nobody to ask'> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return 'nobody to ask';
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [yes/no] `);
    return answer.trim().toLowerCase() === 'yes' ? 'yes' : 'no';
  } finally {
    terminal.close();
  }
}

import { createInterface } from 'node:readline/promises';
import type { Operation } from '#lib/contract/operation.ts';

/** Beside DELETE: what takes away a thing, or access to it, for good. */
const takingAway: ReadonlySet<string> = new Set(['deleteDevices', 'disconnectDealer', 'unlinkSite']);

export const isDestructive = ({ id, method }: Operation): boolean => method === 'DELETE' || takingAway.has(id);

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

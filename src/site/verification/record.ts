import type { VerificationRow } from '#site/store/index.ts';
import { type Book, keptVerification, type Verification } from './types.ts';

export const rowOf = (id: string, one: Verification | undefined): VerificationRow => ({
  id,
  at: one?.asked.wall ?? 0,
  record: one === undefined ? null : JSON.stringify(one),
});

/** What cannot be read is left out, and told by its id: one broken record must not take the others with it. */
export function bookOf(rows: readonly VerificationRow[]): { book: Book; broken: readonly string[] } {
  const book = new Map<string, Verification>();
  const broken: string[] = [];
  for (const { id, record } of rows) {
    const one = parsed(record);
    if (one?.id === id) book.set(id, one);
    else broken.push(id);
  }
  return { book, broken };
}

function parsed(record: string | null): Verification | undefined {
  try {
    return keptVerification.safeParse(JSON.parse(record ?? '')).data;
  } catch {
    return undefined;
  }
}

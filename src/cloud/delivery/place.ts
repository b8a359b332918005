import type { PendingRow, Verdict } from '#site/store/index.ts';

/** Where a row's verdict goes, and whether its writing may show. */
export const placeOf = ({ seq, lane, silent }: PendingRow): Pick<Verdict, 'seq' | 'lane' | 'silent'> => ({
  seq,
  lane,
  ...(silent === true && { silent }),
});

/** The number of an event that everybody sees; its row's own would tell how many silent ones there were (safety 4). */
export function numberIn({ body }: Pick<PendingRow, 'body'>): number | undefined {
  try {
    return (JSON.parse(body) as { payload?: { seq?: number } }).payload?.seq;
  } catch {
    return undefined;
  }
}

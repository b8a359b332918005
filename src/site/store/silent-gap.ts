import type { Database } from 'better-sqlite3';
import type { Unreadable } from './salvage.ts';

/**
 * A gap record of silent events, which damage alone makes, stands in no count and no list that anybody sees (safety 4). Its
 * id lies far above those of the others, so that no hole in theirs tells of it.
 */
export const silentGapFrom = 2 ** 50;

export const isSilentGap = (id: unknown): boolean => Number(id) >= silentGapFrom;

/** SQL: the id of the next record that everybody may see. */
export const nextGapId = `(SELECT coalesce(max(id), 0) + 1 FROM gap WHERE id < ${silentGapFrom})`;

/** A loss that was counted before, when the same file was read, is not counted again. */
export function addSilentGap(db: Database, { lane, count, from, to }: Unreadable, at: number): void {
  db.prepare(
    `INSERT INTO gap(id, lane, seq_from, seq_to, n, why, at) VALUES(?, ?, ?, ?, ?, 'damage', ?) ON CONFLICT DO NOTHING`,
  ).run(silentGapFrom + from, lane, from, to, count, at);
}

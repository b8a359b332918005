import type { Database } from 'better-sqlite3';
import type { PlaybackRow } from '#site/model/index.ts';
import { pluck } from './sqlite.ts';

/**
 * More than the player keeps and lets wait on all lanes together; the oldest give way, so that no fault of whoever writes
 * makes `site.db` grow.
 */
export const playbackCap = 2000;

/** Playbacks on speakers, in `site.db`. */
export class Playbacks {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  all(): PlaybackRow[] {
    return this.#sql.all.all();
  }

  set(rows: readonly PlaybackRow[]): void {
    let added = 0;
    for (const { id, record } of rows) {
      if (record === null) this.#sql.drop.run(id);
      else if (this.#sql.update.run(record, id).changes === 0) added += this.#sql.insert.run(id, record).changes;
    }
    const over = added === 0 ? 0 : (this.#sql.count.get() ?? 0) - playbackCap;
    if (over > 0) this.#sql.trim.run(over);
  }
}

function prepare(db: Database) {
  return {
    all: db.prepare<[], PlaybackRow>('SELECT id, record FROM playback ORDER BY n, id'),
    count: pluck<[], number>(db, 'SELECT count(*) FROM playback'),
    update: db.prepare('UPDATE playback SET record = ? WHERE id = ?'),
    insert: db.prepare(
      'INSERT INTO playback(id, n, record) VALUES(?, (SELECT coalesce(max(n), 0) + 1 FROM playback), ?)',
    ),
    drop: db.prepare('DELETE FROM playback WHERE id = ?'),
    trim: db.prepare('DELETE FROM playback WHERE id IN (SELECT id FROM playback ORDER BY n LIMIT ?)'),
  };
}

import { crc32 } from 'node:zlib';
import type { Database, Statement } from 'better-sqlite3';
import { lanes } from '#site/model/index.ts';
import type { WireRow } from './protocol.ts';
import type { GapReason, MediaState, MediaUpdate, Verdict } from './types.ts';

/** Stored as their place in the list; never reorder. */
export const mediaStates: readonly MediaState[] = ['planned', 'ready', 'uploaded', 'failed'];

export interface OutboxCounts {
  /** By lane index. */
  readonly pending: number[];
  done: number;
}

/** What one file writes about events. Every method runs inside the caller's transaction and may be repeated. */
export class Outbox {
  readonly db: Database;
  counts: OutboxCounts = { pending: [], done: 0 };
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.db = db;
    this.#sql = prepare(db);
    this.recount();
  }

  /** Counts again from the small tables: at open and after a rollback. */
  recount(): void {
    this.counts = {
      pending: lanes.map((_, lane) => this.#sql.countPending.get(lane) ?? 0),
      done: this.#sql.countDone.get() ?? 0,
    };
  }

  insert(rows: readonly WireRow[]): void {
    for (const row of rows) {
      const [
        seq,
        lane,
        eventId,
        orderKey,
        mono,
        wall,
        boot,
        clock,
        body,
        event,
        eventClass,
        part,
        toCloud,
        silent,
        media,
      ] = row;
      const crc = crc32(body);
      const { changes } = this.#sql.insert.run(
        seq,
        lane,
        eventId,
        orderKey,
        mono,
        wall,
        boot,
        clock,
        crc,
        eventClass,
        part,
        body,
        event,
        Number(silent),
      );
      // The row is there already: a repeat after an unknown commit. What became of it since must not be undone.
      if (changes === 0) continue;
      if (toCloud) {
        this.#sql.pend.run(lane, seq, orderKey, Number(silent));
        if (!silent) this.#move(lane, 1);
      } else {
        this.#sql.done.run(seq, null, 0);
        this.counts.done += 1;
      }
      for (const item of media ?? []) this.#sql.insertMedia.run(seq, ...item);
    }
  }

  /** A verdict on an event that is not waiting (settled before, or unknown) changes nothing. */
  settle(verdict: Verdict): void {
    const lane = lanes.indexOf(verdict.lane);
    const { seq, at, tries } = verdict;
    const waiting = this.#unpend(lane, seq);
    if (verdict.verdict === 'parked') {
      if (waiting) this.#sql.park.run(seq, at, verdict.status ?? null, verdict.reason, tries);
      return;
    }
    if (!waiting && this.#sql.unpark.run(seq).changes === 0) return;
    this.#sql.done.run(seq, at, tries);
    this.counts.done += 1;
  }

  /** True when the event was parked here and waits again. */
  retry(seq: number): boolean {
    const row = this.#sql.parkedRow.get(seq);
    if (row === undefined) return false;
    this.#sql.unpark.run(seq);
    this.#sql.pend.run(row.lane, seq, row.okey, row.silent);
    if (row.silent === 0) this.#move(row.lane, 1);
    return true;
  }

  /** True when the event was parked here and is given up, with a gap record. */
  dropParked(seq: number, at: number): boolean {
    const row = this.#sql.parkedRow.get(seq);
    if (row === undefined) return false;
    this.#sql.unpark.run(seq);
    this.#drop(seq);
    this.addGap({ lane: row.lane, seqFrom: seq, seqTo: seq, count: 1, why: 'technician', at });
    return true;
  }

  /** Written in the transaction of the loss itself. `lane` is its index. */
  addGap(gap: { lane: number; seqFrom: number; seqTo: number; count: number; why: GapReason; at: number }): void {
    this.#sql.gap.run(gap.lane, gap.seqFrom, gap.seqTo, gap.count, gap.why, gap.at);
  }

  gapReported(id: number): void {
    this.#sql.gapReported.run(id);
  }

  /** `uploaded` is final; a failed item may become ready after all. */
  updateMedia(update: MediaUpdate): void {
    const { seq, index, at } = update;
    const state = mediaStates.indexOf(update.state);
    if (update.state === 'ready') {
      this.#sql.mediaReady.run(state, at, update.file, update.bytes, update.sha256, update.mime, seq, index);
    } else {
      this.#sql.mediaState.run(state, at, update.state === 'failed' ? update.reason : null, seq, index);
    }
  }

  /** Deletes at most `most` of the oldest finished events above `cap`, unless their pictures are still under way. */
  trimHistory(cap: number, most: number): number {
    const over = Math.min(this.counts.done - cap, most);
    if (over <= 0) return 0;
    const seqs = this.#sql.oldestDone.all(over);
    for (const seq of seqs) {
      this.#sql.forgetDone.run(seq);
      this.#drop(seq);
    }
    this.counts.done -= seqs.length;
    return seqs.length;
  }

  /** Deletes the oldest waiting events of a lane. Only for `bulk.db` at its largest size. */
  evict(lane: number, most: number): number {
    const seqs = this.#sql.oldestPending.all(lane, most);
    for (const seq of seqs) {
      this.#unpend(lane, seq);
      this.#drop(seq);
    }
    return seqs.length;
  }

  maxSeq(): number {
    return this.#sql.maxSeq.get() ?? 0;
  }

  /** True when the event was waiting. */
  #unpend(lane: number, seq: number): boolean {
    const silent = this.#sql.unpend.get(lane, seq);
    if (silent === 0) this.#move(lane, -1);
    return silent !== undefined;
  }

  #drop(seq: number): void {
    this.#sql.forgetMedia.run(seq);
    this.#sql.forgetEvent.run(seq);
  }

  #move(lane: number, by: number): void {
    this.counts.pending[lane] = (this.counts.pending[lane] ?? 0) + by;
  }
}

/** A statement that gives the first column only. */
export function pluck<P extends unknown[], R>(db: Database, sql: string): Statement<P, R> {
  return db.prepare<P, R>(sql).pluck();
}

function prepare(db: Database) {
  return {
    insert: db.prepare(
      `INSERT INTO ev(seq, lane, eid, okey, mono, wall, boot, clock, crc, class, part, body, event, silent)
       VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    pend: db.prepare('INSERT INTO pend(lane, seq, okey, silent) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    unpend: pluck<[number, number], number>(db, 'DELETE FROM pend WHERE lane = ? AND seq = ? RETURNING silent'),
    done: db.prepare('INSERT INTO done(seq, at, tries) VALUES(?, ?, ?) ON CONFLICT DO NOTHING'),
    park: db.prepare('INSERT INTO parked(seq, at, status, reason, tries) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    unpark: db.prepare('DELETE FROM parked WHERE seq = ?'),
    parkedRow: db.prepare<[number], { lane: number; okey: string; silent: number }>(
      'SELECT ev.lane, ev.okey, ev.silent FROM parked JOIN ev USING(seq) WHERE parked.seq = ?',
    ),
    gap: db.prepare('INSERT INTO gap(lane, seq_from, seq_to, n, why, at) VALUES(?, ?, ?, ?, ?, ?)'),
    gapReported: db.prepare('UPDATE gap SET reported = 1 WHERE id = ?'),
    insertMedia: db.prepare(
      `INSERT INTO media(seq, idx, kind, camera, offset_ms, state) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    ),
    mediaReady: db.prepare(
      `UPDATE media SET state = ?, at = ?, file = ?, bytes = ?, sha256 = ?, mime = ?, reason = NULL
       WHERE seq = ? AND idx = ? AND state <> 2`,
    ),
    mediaState: db.prepare('UPDATE media SET state = ?, at = ?, reason = ? WHERE seq = ? AND idx = ? AND state <> 2'),
    oldestDone: pluck<[number], number>(
      db,
      `SELECT seq FROM done WHERE NOT EXISTS
         (SELECT 1 FROM media WHERE media.seq = done.seq AND media.state IN (0, 1)) ORDER BY seq LIMIT ?`,
    ),
    oldestPending: pluck<[number, number], number>(db, 'SELECT seq FROM pend WHERE lane = ? ORDER BY seq LIMIT ?'),
    forgetDone: db.prepare('DELETE FROM done WHERE seq = ?'),
    forgetMedia: db.prepare('DELETE FROM media WHERE seq = ?'),
    forgetEvent: db.prepare('DELETE FROM ev WHERE seq = ?'),
    countPending: pluck<[number], number>(db, 'SELECT count(*) FROM pend WHERE lane = ? AND NOT silent'),
    countDone: pluck<[], number>(db, 'SELECT count(*) FROM done'),
    maxSeq: pluck<[], number | null>(db, 'SELECT max(seq) FROM ev'),
  };
}

import { crc32 } from 'node:zlib';
import type { Database, Statement } from 'better-sqlite3';
import { crashPoint } from '#lib/crash-point.ts';
import { lanes } from '#site/model/index.ts';
import type { WireRow } from './protocol.ts';
import type { GapReason, MediaState, MediaUpdate, Verdict } from './types.ts';

/** Stored as their place in the list; never reorder. */
export const mediaStates: readonly MediaState[] = ['planned', 'ready', 'uploaded', 'failed'];

/** Gap records kept per file; above it the oldest reported ones of a kind become one. */
const maxGaps = 1000;
/** Events given up lately, in case one of them was on its way to the cloud. */
const maxEvicted = 1000;

type WireGap = { lane: number; seqFrom: number; seqTo: number; count: number; why: GapReason; at: number };

export interface OutboxCounts {
  /** By lane index. */
  readonly pending: number[];
  done: number;
}

/** What one file writes about events. Every method runs inside the caller's transaction and may be repeated. */
export class Outbox {
  readonly db: Database;
  counts: OutboxCounts = { pending: [], done: 0 };
  /** The record that further losses of the same kind are added to, until somebody reads it to report it. */
  #openGap: { id: number; lane: number; why: GapReason } | undefined;
  #evicted = new Map<number, number>();
  /** Pictures of events given up in the transaction under way. */
  #forgotten: string[] = [];
  #gapSums: { lost: number[]; open: number } | undefined;
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
    this.#gapSums = undefined;
    this.#forgotten = [];
    // A record of a transaction that was rolled back is no record.
    if (this.#openGap !== undefined && this.#sql.gapExists.get(this.#openGap.id) === undefined) this.sealGap();
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
    if (!waiting && this.#sql.unpark.run(seq).changes === 0) {
      this.#arrivedAfterAll(seq);
      return;
    }
    this.#sql.done.run(seq, at, tries);
    this.counts.done += 1;
  }

  /** True when the event was parked here and waits again. */
  retry(seq: number): boolean {
    const row = this.#sql.parkedRow.get(seq);
    if (row === undefined) return false;
    this.#sql.unpark.run(seq);
    this.#sql.pend.run(row.lane, seq, row.okey, row.silent);
    crashPoint('retry.rows');
    if (row.silent === 0) this.#move(row.lane, 1);
    return true;
  }

  /** True when the event was parked here and is given up, with a gap record. */
  dropParked(seq: number, at: number): boolean {
    const row = this.#sql.parkedRow.get(seq);
    if (row === undefined) return false;
    this.#sql.unpark.run(seq);
    this.#giveUp(seq);
    this.addGap({ lane: row.lane, seqFrom: seq, seqTo: seq, count: 1, why: 'technician', at });
    return true;
  }

  /** Written in the transaction of the loss itself; repeating it changes nothing. `lane` is its index. */
  addGap(gap: WireGap): void {
    const { lane, seqFrom, seqTo, count, why, at } = gap;
    this.#gapSums = undefined;
    const isGrowing = why === 'disk_full' || why === 'technician';
    if (isGrowing && this.#openGap?.lane === lane && this.#openGap.why === why) {
      this.#sql.growGap.run({ ...gap, id: this.#openGap.id });
      return;
    }
    if (!isGrowing && this.#sql.sameGap.get(lane, seqFrom, seqTo, count, why, at) !== undefined) return;
    const { lastInsertRowid } = this.#sql.gap.run(lane, seqFrom, seqTo, count, why, at);
    if (isGrowing) this.#openGap = { id: Number(lastInsertRowid), lane, why };
    this.#foldGaps(lane, why);
  }

  /** What was read to be reported must not grow any more. */
  sealGap(): void {
    this.#openGap = undefined;
  }

  gapReported(id: number): void {
    this.#sql.gapReported.run(id);
    this.#gapSums = undefined;
  }

  /** Events lost by lane index, and records nobody has reported yet. */
  gapSums(): { readonly lost: readonly number[]; readonly open: number } {
    if (this.#gapSums === undefined) {
      const lost = lanes.map((_, lane) => this.#sql.lostOf.get(lane) ?? 0);
      this.#gapSums = { lost, open: this.#sql.openGaps.get() ?? 0 };
    }
    return this.#gapSums;
  }

  /** `uploaded` is final; a failed item may become ready after all. */
  updateMedia(update: MediaUpdate): void {
    const { seq, index, at } = update;
    const state = mediaStates.indexOf(update.state);
    if (update.state === 'ready') {
      const { file, bytes, sha256, mime } = update;
      const { changes } = this.#sql.mediaReady.run(state, at, file, bytes, sha256, mime, seq, index);
      // Its event was given up while it was being taken.
      if (changes === 0 && this.#evicted.has(seq)) this.#forgotten.push(file);
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
      // A kill between the record of an upload and the removal of its file leaves one that no row would know.
      this.#giveUp(seq);
    }
    this.counts.done -= seqs.length;
    return seqs.length;
  }

  /**
   * Gives up at most `most` undelivered events of a lane: refused ones first, then the oldest waiting that have `keep`
   * others before and after them. Silent ones stay (safety 4). The loss is counted in a gap record here and now.
   */
  evict(lane: number, most: number, { keep, at }: { keep: number; at: number }): number {
    const refused = this.#sql.oldestParked.all(lane, most);
    const spare = Math.min(most - refused.length, (this.counts.pending[lane] ?? 0) - 2 * keep);
    const waiting = spare > 0 ? this.#sql.oldestPending.all(lane, spare, keep) : [];
    const seqs = [...refused, ...waiting];
    if (seqs.length === 0) return 0;
    for (const seq of refused) this.#sql.unpark.run(seq);
    for (const seq of waiting) this.#unpend(lane, seq);
    for (const seq of seqs) this.#giveUp(seq);
    this.addGap({
      lane,
      seqFrom: Math.min(...seqs),
      seqTo: Math.max(...seqs),
      count: seqs.length,
      why: 'disk_full',
      at,
    });
    if (this.#openGap !== undefined) this.#remember(waiting, this.#openGap.id);
    return seqs.length;
  }

  /** Gives up at most `most` pictures that wait to be uploaded: those of lesser events first, then the oldest. */
  giveUpPictures(most: number, at: number): number {
    const rows = this.#sql.readyPictures.all(most);
    for (const { seq, idx, file } of rows) {
      this.#sql.mediaState.run(mediaStates.indexOf('failed'), at, 'given up: the disk was full', seq, idx);
      this.#forgotten.push(file);
    }
    return rows.length;
  }

  /** To be called after a transaction that ended well. */
  takeForgotten(): readonly string[] {
    const forgotten = this.#forgotten;
    this.#forgotten = [];
    return forgotten;
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

  #remember(seqs: readonly number[], gap: number): void {
    for (const seq of seqs) this.#evicted.set(seq, gap);
    for (const seq of this.#evicted.keys()) {
      if (this.#evicted.size <= maxEvicted) break;
      this.#evicted.delete(seq);
    }
  }

  /** An event was given up while it was on its way, and the cloud has it: it is not lost. */
  #arrivedAfterAll(seq: number): void {
    const gap = this.#evicted.get(seq);
    if (gap === undefined) return;
    this.#evicted.delete(seq);
    this.#sql.shrinkGap.run(gap);
    this.#gapSums = undefined;
  }

  #foldGaps(lane: number, why: GapReason): void {
    if ((this.#sql.countGaps.get() ?? 0) <= maxGaps) return;
    const [oldest, next] = this.#sql.oldestReported.all(lane, why);
    if (oldest === undefined || next === undefined) return;
    this.#sql.growGap.run({ ...oldest, id: next.id });
    this.#sql.forgetGap.run(oldest.id);
  }

  #giveUp(seq: number): void {
    this.#forgotten.push(...this.#sql.picturesOf.all(seq));
    this.#drop(seq);
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
    growGap: db.prepare(
      `UPDATE gap SET n = n + @count, seq_from = min(seq_from, @seqFrom), seq_to = max(seq_to, @seqTo),
         at = max(at, @at) WHERE id = @id`,
    ),
    shrinkGap: db.prepare('UPDATE gap SET n = n - 1 WHERE id = ? AND n > 0'),
    sameGap: pluck<[number, number, number, number, string, number], number>(
      db,
      'SELECT id FROM gap WHERE lane = ? AND seq_from = ? AND seq_to = ? AND n = ? AND why = ? AND at = ?',
    ),
    gapExists: pluck<[number], number>(db, 'SELECT 1 FROM gap WHERE id = ?'),
    countGaps: pluck<[], number>(db, 'SELECT count(*) FROM gap'),
    openGaps: pluck<[], number>(db, 'SELECT count(*) FROM gap WHERE reported = 0 AND n > 0'),
    lostOf: pluck<[number], number>(db, 'SELECT coalesce(sum(n), 0) FROM gap WHERE lane = ?'),
    oldestReported: db.prepare<
      [number, string],
      { id: number; seqFrom: number; seqTo: number; count: number; at: number }
    >(
      `SELECT id, seq_from AS seqFrom, seq_to AS seqTo, n AS count, at FROM gap
       WHERE reported = 1 AND lane = ? AND why = ? ORDER BY id LIMIT 2`,
    ),
    forgetGap: db.prepare('DELETE FROM gap WHERE id = ?'),
    insertMedia: db.prepare(
      `INSERT INTO media(seq, idx, kind, camera, offset_ms, state) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    ),
    mediaReady: db.prepare(
      `UPDATE media SET state = ?, at = ?, file = ?, bytes = ?, sha256 = ?, mime = ?, reason = NULL
       WHERE seq = ? AND idx = ? AND state <> 2`,
    ),
    mediaState: db.prepare('UPDATE media SET state = ?, at = ?, reason = ? WHERE seq = ? AND idx = ? AND state <> 2'),
    // One that was on disk when a run ended and is not on record has the name the spool gives it.
    picturesOf: pluck<[number], string>(
      db,
      `SELECT coalesce(file, seq || '-' || idx || '.jpg') FROM media WHERE seq = ?`,
    ),
    readyPictures: db.prepare<[number], { seq: number; idx: number; file: string }>(
      `SELECT seq, idx, file FROM media JOIN ev USING(seq) WHERE media.state = 1 AND file IS NOT NULL
       ORDER BY ev.lane DESC, seq LIMIT ?`,
    ),
    oldestDone: pluck<[number], number>(
      db,
      `SELECT seq FROM done WHERE NOT EXISTS
         (SELECT 1 FROM media WHERE media.seq = done.seq AND media.state IN (0, 1)) ORDER BY seq LIMIT ?`,
    ),
    oldestPending: pluck<[number, number, number], number>(
      db,
      'SELECT seq FROM pend WHERE lane = ? AND NOT silent ORDER BY seq LIMIT ? OFFSET ?',
    ),
    oldestParked: pluck<[number, number], number>(
      db,
      'SELECT seq FROM parked JOIN ev USING(seq) WHERE ev.lane = ? AND NOT ev.silent ORDER BY seq LIMIT ?',
    ),
    forgetDone: db.prepare('DELETE FROM done WHERE seq = ?'),
    forgetMedia: db.prepare('DELETE FROM media WHERE seq = ?'),
    forgetEvent: db.prepare('DELETE FROM ev WHERE seq = ?'),
    countPending: pluck<[number], number>(db, 'SELECT count(*) FROM pend WHERE lane = ? AND NOT silent'),
    countDone: pluck<[], number>(db, 'SELECT count(*) FROM done'),
    maxSeq: pluck<[], number | null>(db, 'SELECT max(seq) FROM ev'),
  };
}

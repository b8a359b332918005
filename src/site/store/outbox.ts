import type { Database, Statement } from 'better-sqlite3';
import { crashPoint } from '#lib/crash-point.ts';
import { lanes } from '#site/model/index.ts';
import { EventInsert } from './insert.ts';
import { laneIndex } from './lanes.ts';
import { evAt, type WireRow } from './protocol.ts';
import { nextGapId, silentGapFrom } from './silent-gap.ts';
import type { GapMark, GapReason, MediaState, MediaUpdate, Verdict } from './types.ts';

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
  /** Finished ones that may be seen. */
  done: number;
}

/** What one file writes about events. Every method runs inside the caller's transaction and may be repeated. */
export class Outbox {
  readonly db: Database;
  counts: OutboxCounts = { pending: [], done: 0 };
  /** The record that further losses of the same kind are added to, until somebody reads it to report it. */
  #openGap: { id: number; lane: number; why: GapReason } | undefined;
  /** The gap record that counts each of them. */
  readonly #evicted = new Map<number, number>();
  /** What the transaction under way changes there: undefined where the event arrived after all. */
  readonly #evictedNow = new Map<number, number | undefined>();
  /** Pictures of events given up in the transaction under way. */
  #forgotten: string[] = [];
  #gapSums: { lost: number[]; open: number } | undefined;
  readonly #insert: EventInsert;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.db = db;
    this.#sql = prepare(db);
    this.#insert = new EventInsert(db);
    this.recount();
  }

  /** Counts again from the small tables: at open and after a rollback. */
  recount(): void {
    this.counts = {
      pending: lanes.map((_, lane) => this.#sql.countPending.get(lane) ?? 0),
      done: (this.#sql.countDone.get() ?? 0) - (this.#sql.silentDone.get() ?? 0),
    };
    this.#insert.top = this.maxSeq();
    this.#gapSums = undefined;
    this.#forgotten = [];
    this.#evictedNow.clear();
    // A record of a transaction that was rolled back is no record.
    if (this.#openGap !== undefined && this.#sql.gapExists.get(this.#openGap.id) === undefined) this.sealGap();
  }

  insert(rows: readonly WireRow[]): void {
    for (const [ev, toCloud, media] of this.#insert.write(rows)) {
      const seq = ev[evAt.seq];
      if (!toCloud) this.#finish(seq, { at: null, tries: 0, silent: ev[evAt.silent] });
      else if (ev[evAt.silent] === 0) this.#move(ev[evAt.lane], 1);
      for (const item of media ?? []) this.#sql.insertMedia.run(seq, ...item);
    }
  }

  /** A verdict on an event that is not waiting (settled before, or unknown) changes nothing. */
  settle(verdict: Verdict): void {
    const lane = laneIndex(verdict.lane);
    const { seq, at, tries } = verdict;
    const silent = this.#unpend(lane, seq);
    const waiting = silent !== undefined;
    if (verdict.verdict === 'parked') {
      if (waiting) this.#sql.park.run(seq, at, verdict.status ?? null, verdict.reason, tries);
      return;
    }
    if (!waiting && this.#sql.unpark.run(seq).changes === 0) {
      this.#arrivedAfterAll(seq);
      return;
    }
    this.#finish(seq, { at, tries, silent });
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

  /** A gap record for events of which some, `waiting`, may be on their way: one that arrives is not counted any more. */
  countLost(gap: WireGap, waiting: readonly number[]): void {
    this.addGap(gap);
    if (this.#openGap !== undefined) this.#remember(waiting, this.#openGap.id);
  }

  /** What was read to be reported must not grow any more. */
  sealGap(): void {
    this.#openGap = undefined;
  }

  gapReported({ id, seqFrom, seqTo }: Pick<GapMark, 'id' | 'seqFrom' | 'seqTo'>): void {
    this.#sql.gapReported.run(id, seqFrom, seqTo);
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

  /** `uploaded` is final; a failed item may become ready after all, and its first reason stands. */
  updateMedia(update: MediaUpdate): void {
    const { seq, index, at } = update;
    const state = mediaStates.indexOf(update.state);
    if (update.state === 'ready') {
      const { file, bytes, sha256, mime } = update;
      const { changes } = this.#sql.mediaReady.run(state, at, file, bytes, sha256, mime, seq, index);
      // Its event was given up while it was being taken.
      if (changes === 0 && this.#gapOf(seq) !== undefined) this.#forgotten.push(file);
    } else {
      const reason = update.state === 'failed' ? update.reason : null;
      this.#sql.mediaState.run({ state, at, reason, seq, index });
    }
  }

  /**
   * Deletes at most `most` of the oldest finished events above `cap`, unless their pictures are still under way. Silent ones go
   * with them and stand in neither count (safety 4).
   */
  trimHistory(cap: number, most: number): number {
    const over = Math.min(this.counts.done - cap, most);
    let gone = 0;
    while (gone < over) {
      const rows = this.#sql.oldestDone.all(over - gone);
      if (rows.length === 0) break;
      for (const { seq } of rows) {
        this.#sql.forgetDone.run(seq);
        // A kill between the record of an upload and the removal of its file leaves one that no row would know.
        this.#giveUp(seq);
      }
      const silent = rows.reduce((sum, row) => sum + row.silent, 0);
      if (silent > 0) this.#sql.moreSilentDone.run({ more: -silent });
      gone += rows.length - silent;
    }
    this.counts.done -= gone;
    return gone;
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
    const [seqFrom, seqTo] = [Math.min(...seqs), Math.max(...seqs)];
    this.countLost({ lane, seqFrom, seqTo, count: seqs.length, why: 'disk_full', at }, waiting);
    return seqs.length;
  }

  /**
   * Gives up at most `most` pictures that wait to be uploaded, those of alarms only where `alarms` says so: those of
   * lesser events first, clips before snapshots, then the oldest. `shown` counts none of silent events (safety 4).
   */
  giveUpPictures({ most, alarms, at }: { most: number; alarms: boolean; at: number }): { all: number; shown: number } {
    const rows = this.#sql.readyPictures.all(Number(alarms), most);
    const [state, reason] = [mediaStates.indexOf('failed'), 'given up: the disk was full'];
    for (const { seq, index, file } of rows) {
      this.#sql.mediaState.run({ state, at, reason, seq, index });
      this.#forgotten.push(file);
    }
    return { all: rows.length, shown: rows.filter(({ silent }) => silent === 0).length };
  }

  /** To be called after every transaction that ended well; one that is undone ends with `recount`. */
  committed(): void {
    for (const [seq, gap] of this.#evictedNow) {
      if (gap === undefined) this.#evicted.delete(seq);
      else this.#evicted.set(seq, gap);
    }
    this.#evictedNow.clear();
    for (const seq of this.#evicted.keys()) {
      if (this.#evicted.size <= maxEvicted) break;
      this.#evicted.delete(seq);
    }
  }

  /** Events given up lately, each with the record that counts it. */
  get givenUp(): ReadonlyMap<number, number> {
    return this.#evicted;
  }

  /** Those of the same file as it was open before, or of one whose gap records go on here under their numbers. */
  adopt(givenUp: ReadonlyMap<number, number>): void {
    for (const [seq, gap] of givenUp) this.#evicted.set(seq, gap);
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

  /** Undefined when the event was not waiting; otherwise 1 for a silent one. */
  #unpend(lane: number, seq: number): number | undefined {
    const silent = this.#sql.unpend.get(lane, seq);
    if (silent === 0) this.#move(lane, -1);
    return silent;
  }

  #finish(seq: number, how: { at: number | null; tries: number; silent: number | undefined }): void {
    this.#sql.done.run(seq, how.at, how.tries);
    if (how.silent === 1) this.#sql.moreSilentDone.run({ more: 1 });
    else this.counts.done += 1;
  }

  #remember(seqs: readonly number[], gap: number): void {
    for (const seq of seqs) this.#evictedNow.set(seq, gap);
  }

  /** The record that counts an event which was given up lately. */
  #gapOf(seq: number): number | undefined {
    return this.#evictedNow.has(seq) ? this.#evictedNow.get(seq) : this.#evicted.get(seq);
  }

  /** An event was given up while it was on its way, and the cloud has it: it is not lost. */
  #arrivedAfterAll(seq: number): void {
    const gap = this.#gapOf(seq);
    if (gap === undefined) return;
    this.#evictedNow.set(seq, undefined);
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
    pend: db.prepare('INSERT INTO pend(lane, seq, okey, silent) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    unpend: pluck<[number, number], number>(db, 'DELETE FROM pend WHERE lane = ? AND seq = ? RETURNING silent'),
    done: db.prepare('INSERT INTO done(seq, at, tries) VALUES(?, ?, ?) ON CONFLICT DO NOTHING'),
    park: db.prepare('INSERT INTO parked(seq, at, status, reason, tries) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    unpark: db.prepare('DELETE FROM parked WHERE seq = ?'),
    parkedRow: db.prepare<[number], { lane: number; okey: string; silent: number }>(
      'SELECT ev.lane, ev.okey, ev.silent FROM parked JOIN ev USING(seq) WHERE parked.seq = ?',
    ),
    gap: db.prepare(`INSERT INTO gap(id, lane, seq_from, seq_to, n, why, at) VALUES(${nextGapId}, ?, ?, ?, ?, ?, ?)`),
    gapReported: db.prepare('UPDATE gap SET reported = 1 WHERE id = ? AND seq_from = ? AND seq_to = ?'),
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
    openGaps: pluck<[], number>(db, `SELECT count(*) FROM gap WHERE reported = 0 AND n > 0 AND id < ${silentGapFrom}`),
    lostOf: pluck<[number], number>(db, `SELECT coalesce(sum(n), 0) FROM gap WHERE lane = ? AND id < ${silentGapFrom}`),
    oldestReported: db.prepare<
      [number, string],
      { id: number; seqFrom: number; seqTo: number; count: number; at: number }
    >(
      `SELECT id, seq_from AS seqFrom, seq_to AS seqTo, n AS count, at FROM gap
       WHERE reported = 1 AND lane = ? AND why = ? AND id < ${silentGapFrom} ORDER BY id LIMIT 2`,
    ),
    forgetGap: db.prepare('DELETE FROM gap WHERE id = ?'),
    insertMedia: db.prepare(
      `INSERT INTO media(seq, idx, kind, camera, offset_ms, state) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    ),
    mediaReady: db.prepare(
      `UPDATE media SET state = ?, at = ?, file = ?, bytes = ?, sha256 = ?, mime = ?, reason = NULL
       WHERE seq = ? AND idx = ? AND state <> 2`,
    ),
    mediaState: db.prepare(
      `UPDATE media SET state = @state, at = @at, reason = @reason
       WHERE seq = @seq AND idx = @index AND state NOT IN (2, @state)`,
    ),
    // One that was on disk when a run ended and is not on record has the name the spool gives it.
    picturesOf: pluck<[number], string>(
      db,
      `SELECT coalesce(file, seq || '-' || idx || '.jpg') FROM media WHERE seq = ?`,
    ),
    readyPictures: db.prepare<[number, number], { seq: number; index: number; file: string; silent: number }>(
      `SELECT seq, idx AS "index", file, silent FROM media JOIN ev USING(seq)
       WHERE media.state = 1 AND file IS NOT NULL AND (ev.lane <> ${laneIndex('alarm')} OR ?)
       ORDER BY ev.lane = ${laneIndex('alarm')}, media.kind = 'snapshot', seq LIMIT ?`,
    ),
    oldestDone: db.prepare<[number], { seq: number; silent: number }>(
      `SELECT seq, coalesce(silent, 0) AS silent FROM done LEFT JOIN ev USING(seq) WHERE NOT EXISTS
         (SELECT 1 FROM media WHERE media.seq = done.seq AND media.state IN (0, 1)) ORDER BY done.seq LIMIT ?`,
    ),
    oldestPending: pluck<[number, number, number], number>(
      db,
      'SELECT seq FROM pend WHERE lane = ? AND NOT silent ORDER BY seq LIMIT ? OFFSET ?',
    ),
    oldestParked: pluck<[number, number], number>(
      db,
      'SELECT seq FROM parked CROSS JOIN ev USING(seq) WHERE ev.lane = ? AND NOT ev.silent ORDER BY seq LIMIT ?',
    ),
    forgetDone: db.prepare('DELETE FROM done WHERE seq = ?'),
    forgetMedia: db.prepare('DELETE FROM media WHERE seq = ?'),
    forgetEvent: db.prepare('DELETE FROM ev WHERE seq = ?'),
    countPending: pluck<[number], number>(db, 'SELECT count(*) FROM pend WHERE lane = ? AND NOT silent'),
    /** Counting them anew would read the whole file. */
    silentDone: pluck<[], number>(db, "SELECT CAST(v AS INTEGER) FROM meta WHERE k = 'silent_done'"),
    moreSilentDone: db.prepare(
      `INSERT INTO meta(k, v) VALUES('silent_done', CAST(max(0, @more) AS TEXT)) ON CONFLICT(k) DO UPDATE SET v = max(0, v + @more)`,
    ),
    countDone: pluck<[], number>(db, 'SELECT count(*) FROM done'),
    maxSeq: pluck<[], number | null>(db, 'SELECT max(seq) FROM ev'),
  };
}

import type { Database } from 'better-sqlite3';
import { crashPoint } from '#lib/crash-point.ts';
import { lanes, type MediaUpdate } from '#site/model/index.ts';
import { Gaps } from './gaps.ts';
import { EventInsert } from './insert.ts';
import { laneIndex } from './lanes.ts';
import { evAt, type WireRow } from './protocol.ts';
import { pluck } from './sqlite.ts';
import type { MediaState, Verdict } from './types.ts';

/** Stored as their place in the list; never reorder. */
export const mediaStates: readonly MediaState[] = ['planned', 'ready', 'uploaded', 'failed'];

/** Of an event that was given up and is stored again: nobody takes its pictures a second time; one under way may still come. */
const wentBefore = { state: mediaStates.indexOf('failed'), reason: 'given up with its event, which came back' };

export interface OutboxCounts {
  /** By lane index. */
  readonly pending: number[];
  /** Finished ones that may be seen. */
  done: number;
}

/** What one file writes about events. Every method runs inside the caller's transaction and may be repeated. */
export class Outbox {
  readonly db: Database;
  readonly gaps: Gaps;
  counts: OutboxCounts = { pending: [], done: 0 };
  /** Pictures of events given up in the transaction under way. */
  #forgotten: string[] = [];
  readonly #insert: EventInsert;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.db = db;
    this.gaps = new Gaps(db);
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
    this.#forgotten = [];
    this.gaps.recount();
  }

  insert(rows: readonly WireRow[]): void {
    for (const [ev, toCloud, media] of this.#insert.write(rows)) {
      const seq = ev[evAt.seq];
      // Of unknown outcome: it was on disk after all, and was given up before it was sent again.
      const isBack = this.gaps.returned(seq);
      if (!toCloud) this.#finish(seq, { at: null, tries: 0, silent: ev[evAt.silent] });
      else if (ev[evAt.silent] === 0) this.#move(ev[evAt.lane], 1);
      for (const item of media ?? []) {
        this.#sql.insertMedia.run(seq, ...item);
        if (isBack) this.#sql.mediaState.run({ ...wentBefore, at: ev[evAt.wall], seq, index: item[0] });
      }
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
      this.gaps.returned(seq);
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
    this.gaps.add({ lane: row.lane, seqFrom: seq, seqTo: seq, count: 1, why: 'technician', at });
    return true;
  }

  /** `uploaded` is final; a failed item may become ready after all, and its first reason stands. */
  updateMedia(update: MediaUpdate): void {
    const { seq, index, at } = update;
    const state = mediaStates.indexOf(update.state);
    if (update.state === 'ready') {
      const { file, bytes, sha256, mime, note = null } = update;
      const { changes } = this.#sql.mediaReady.run(state, at, file, bytes, sha256, mime, note, seq, index);
      // Its event was given up while it was being taken.
      if (changes === 0 && this.gaps.of(seq) !== undefined) this.#forgotten.push(file);
    } else {
      const reason = update.state === 'failed' ? update.reason : null;
      this.#sql.mediaState.run({ state, at, reason, seq, index });
    }
  }

  /**
   * Deletes at most `most` of the oldest finished events above `cap`, unless their pictures are still under way. Silent ones go
   * with them and stand in neither count (safety 4). The newest event of the file stays whatever the cap: without it the file
   * would look as if it lacked what the side file knows of, and the next start would count delivered events as lost.
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
    this.gaps.countLost({ lane, seqFrom, seqTo, count: seqs.length, why: 'disk_full', at }, waiting);
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
    insertMedia: db.prepare(
      `INSERT INTO media(seq, idx, kind, camera, offset_ms, state) VALUES(?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    ),
    mediaReady: db.prepare(
      `UPDATE media SET state = ?, at = ?, file = ?, bytes = ?, sha256 = ?, mime = ?, reason = ?
       WHERE seq = ? AND idx = ? AND state <> 2`,
    ),
    mediaState: db.prepare(
      `UPDATE media SET state = @state, at = @at, reason = coalesce(@reason, reason)
       WHERE seq = @seq AND idx = @index AND state NOT IN (2, @state)`,
    ),
    // One that was on disk when a run ended and is not on record has the name the spool gives it.
    picturesOf: pluck<[number], string>(
      db,
      `SELECT coalesce(file, seq || '-' || idx || iif(kind = 'snapshot', '.jpg', '.mp4')) FROM media WHERE seq = ?`,
    ),
    readyPictures: db.prepare<[number, number], { seq: number; index: number; file: string; silent: number }>(
      `SELECT seq, idx AS "index", file, silent FROM media JOIN ev USING(seq)
       WHERE media.state = 1 AND file IS NOT NULL AND (ev.lane <> ${laneIndex('alarm')} OR ?)
       ORDER BY ev.lane = ${laneIndex('alarm')}, media.kind = 'snapshot', seq LIMIT ?`,
    ),
    oldestDone: db.prepare<[number], { seq: number; silent: number }>(
      `SELECT seq, coalesce(silent, 0) AS silent FROM done LEFT JOIN ev USING(seq) WHERE NOT EXISTS
         (SELECT 1 FROM media WHERE media.seq = done.seq AND media.state IN (0, 1))
       AND done.seq < (SELECT max(seq) FROM ev) ORDER BY done.seq LIMIT ?`,
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

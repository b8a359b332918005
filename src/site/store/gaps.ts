import type { Database } from 'better-sqlite3';
import { lanes } from '#site/model/index.ts';
import { nextGapId, silentGapFrom } from './silent-gap.ts';
import { pluck } from './sqlite.ts';
import type { GapMark, GapReason } from './types.ts';

/** Gap records kept per file; above it the oldest reported ones of a kind become one. */
const maxGaps = 1000;
/** Events given up lately, in case one of them was on its way to the cloud. */
const maxEvicted = 1000;

type WireGap = { lane: number; seqFrom: number; seqTo: number; count: number; why: GapReason; at: number };

/** Gap records of one file: what was lost, counted. Every method runs inside the caller's transaction. */
export class Gaps {
  /** The record that further losses of the same kind are added to, until somebody reads it to report it. */
  #open: { id: number; lane: number; why: GapReason } | undefined;
  /** The gap record that counts each of them. */
  readonly #evicted = new Map<number, number>();
  /** What the transaction under way changes there: undefined where the event came back after all. */
  readonly #evictedNow = new Map<number, number | undefined>();
  #sums: { lost: number[]; open: number } | undefined;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  /** After a rollback: a record of a transaction that was undone is no record. */
  recount(): void {
    this.#sums = undefined;
    this.#evictedNow.clear();
    if (this.#open !== undefined && this.#sql.gapExists.get(this.#open.id) === undefined) this.seal();
  }

  /** Written in the transaction of the loss itself; repeating it changes nothing. `lane` is its index. */
  add(gap: WireGap): void {
    const { lane, seqFrom, seqTo, count, why, at } = gap;
    this.#sums = undefined;
    const isGrowing = why === 'disk_full' || why === 'technician';
    if (isGrowing && this.#open?.lane === lane && this.#open.why === why) {
      this.#sql.growGap.run({ ...gap, id: this.#open.id });
      return;
    }
    if (!isGrowing && this.#sql.sameGap.get(lane, seqFrom, seqTo, count, why, at) !== undefined) return;
    const { lastInsertRowid } = this.#sql.gap.run(lane, seqFrom, seqTo, count, why, at);
    if (isGrowing) this.#open = { id: Number(lastInsertRowid), lane, why };
    this.#fold(lane, why);
  }

  /** A gap record for events of which some, `waiting`, may be on their way: one that arrives is not counted any more. */
  countLost(gap: WireGap, waiting: readonly number[]): void {
    this.add(gap);
    const { id } = this.#open ?? {};
    if (id !== undefined) for (const seq of waiting) this.#evictedNow.set(seq, id);
  }

  /** What was read to be reported must not grow any more. */
  seal(): void {
    this.#open = undefined;
  }

  reported({ id, seqFrom, seqTo }: Pick<GapMark, 'id' | 'seqFrom' | 'seqTo'>): void {
    this.#sql.gapReported.run(id, seqFrom, seqTo);
    this.#sums = undefined;
  }

  /** Events lost by lane index, and records nobody has reported yet. */
  sums(): { readonly lost: readonly number[]; readonly open: number } {
    if (this.#sums === undefined) {
      const lost = lanes.map((_, lane) => this.#sql.lostOf.get(lane) ?? 0);
      this.#sums = { lost, open: this.#sql.openGaps.get() ?? 0 };
    }
    return this.#sums;
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

  /** The record that counts an event which was given up lately. */
  of(seq: number): number | undefined {
    return this.#evictedNow.has(seq) ? this.#evictedNow.get(seq) : this.#evicted.get(seq);
  }

  /** An event was given up while it was on its way, and the cloud has it or it waits again: it is not lost. False where it was not. */
  returned(seq: number): boolean {
    const gap = this.of(seq);
    if (gap === undefined) return false;
    this.#evictedNow.set(seq, undefined);
    this.#sql.shrinkGap.run(gap);
    this.#sums = undefined;
    return true;
  }

  #fold(lane: number, why: GapReason): void {
    if ((this.#sql.countGaps.get() ?? 0) <= maxGaps) return;
    const [oldest, next] = this.#sql.oldestReported.all(lane, why);
    if (oldest === undefined || next === undefined) return;
    this.#sql.growGap.run({ ...oldest, id: next.id });
    this.#sql.forgetGap.run(oldest.id);
  }
}

function prepare(db: Database) {
  return {
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
  };
}

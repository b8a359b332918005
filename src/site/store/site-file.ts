import type { Database } from 'better-sqlite3';
import type { ArmingRecord } from '#site/model/index.ts';
import { AuditLog } from './audit-log.ts';
import { Outbox } from './outbox.ts';
import { Playbacks } from './playbacks.ts';
import { Reader } from './reader.ts';
import { pluck } from './sqlite.ts';
import { StateRows, type StoredState } from './state-rows.ts';
import type { Anchor } from './types.ts';
import type { VerificationRow } from './verification-row.ts';

/**
 * How many numbers are set aside at once. The controller may show and send an event that never reached the disk
 * (`durable: false`), and `bulk.db` may be lost with the highest numbers in it; a number used then must not name
 * another event after a restart, since the cloud would take the second for a repeat and drop it. So the highest
 * number set aside is kept in `site.db`, and a run that did not end cleanly continues above it. After a clean stop
 * no number is skipped.
 */
export const reservedAhead = 100_000;

/** Anchors kept; the oldest give way. Events that old are hardly still waiting. */
const maxAnchors = 64;

/** `site.db`: the alarm, arming and trouble lanes, arming records, the core's state, the counters. */
export class SiteFile {
  readonly name = 'site';
  readonly db: Database;
  readonly outbox: Outbox;
  readonly reader: Reader;
  readonly audit: AuditLog;
  readonly playbacks: Playbacks;
  readonly #state: StateRows;
  readonly #sql: ReturnType<typeof prepare>;
  #reserved: number;
  #armingCount: number;
  /** The newest state that was written or read here; saved from a file that turns out to be damaged. */
  newest: StoredState | undefined;

  constructor(db: Database) {
    this.db = db;
    this.outbox = new Outbox(db);
    this.reader = new Reader(db);
    this.audit = new AuditLog(db);
    this.playbacks = new Playbacks(db);
    this.#state = new StateRows(db);
    this.#sql = prepare(db);
    this.#reserved = Number(this.meta('reserved') ?? 0);
    this.#armingCount = this.#sql.countArming.get() ?? 0;
  }

  get reserved(): number {
    return this.#reserved;
  }

  meta(key: string): string | undefined {
    return this.#sql.meta.get(key);
  }

  setMeta(key: string, value: string): void {
    this.#sql.setMeta.run(key, value);
  }

  needsReserve(seq: number): boolean {
    return seq > this.#reserved - reservedAhead / 2;
  }

  /** Sets numbers aside above `seq`. */
  reserve(seq: number): void {
    this.setReserved(seq + reservedAhead);
  }

  /** Gives back what was set aside and not used; only for a clean stop. */
  release(seq: number): void {
    this.setReserved(seq);
  }

  addArming(records: readonly ArmingRecord[]): void {
    for (const record of records) {
      const { epoch, partition, seq } = record;
      this.#armingCount += this.#sql.arming.run(epoch, partition, seq, JSON.stringify(record)).changes;
    }
  }

  trimArming(cap: number, most: number): number {
    const over = Math.min(this.#armingCount - cap, most);
    if (over <= 0) return 0;
    const { changes } = this.#sql.trimArming.run(over);
    this.#armingCount -= changes;
    return changes;
  }

  /** Keeps the newest state: one of a lower order (an old commit that is repeated) changes nothing. */
  setState(state: StoredState): void {
    if (this.#state.set(state)) this.newest = state;
  }

  /** No pieces when there is none or a checksum does not fit. */
  state(): { readonly order: number; readonly pieces: readonly string[] | undefined } {
    const { order, pieces } = this.#state.read();
    if (pieces !== undefined) this.newest ??= { order, pieces };
    return { order, pieces };
  }

  arming(partition: string | null, limit: number): ArmingRecord[] {
    const texts = this.#sql.armingOf.all({ partition, limit });
    return texts.map((text) => JSON.parse(text) as ArmingRecord);
  }

  /** Oldest first. */
  anchors(): Anchor[] {
    return this.#sql.anchors.all();
  }

  addAnchor({ boot, mono, wall, source }: Anchor): void {
    this.#sql.addAnchor.run(boot, mono, wall, source);
    this.#sql.trimAnchors.run(maxAnchors);
  }

  /** The oldest request first. */
  verifications(): VerificationRow[] {
    return this.#sql.verifications.all();
  }

  setVerifications(rows: readonly VerificationRow[]): void {
    for (const { id, at, record } of rows) {
      if (record === null) this.#sql.dropVerification.run(id);
      else this.#sql.setVerification.run(id, at, record);
    }
  }

  recount(): void {
    this.outbox.recount();
    this.audit.recount();
    this.#state.forget();
    this.#armingCount = this.#sql.countArming.get() ?? 0;
    this.#reserved = Number(this.meta('reserved') ?? 0);
  }

  /** Everything up to `seq` counts as handed out. */
  setReserved(seq: number): void {
    this.setMeta('reserved', String(seq));
    this.#reserved = seq;
  }
}

function prepare(db: Database) {
  return {
    meta: pluck<[string], string>(db, 'SELECT v FROM meta WHERE k = ?'),
    setMeta: db.prepare('INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v'),
    arming: db.prepare('INSERT INTO arming(epoch, part, seq, record) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    countArming: pluck<[], number>(db, 'SELECT count(*) FROM arming'),
    trimArming: db.prepare('DELETE FROM arming WHERE id IN (SELECT id FROM arming ORDER BY id LIMIT ?)'),
    armingOf: pluck<[{ partition: string | null; limit: number }], string>(
      db,
      'SELECT record FROM arming WHERE @partition IS NULL OR part = @partition ORDER BY id DESC LIMIT @limit',
    ),
    anchors: db.prepare<[], Anchor>('SELECT boot, mono, wall, src AS source FROM anchor ORDER BY wall, mono'),
    addAnchor: db.prepare('INSERT INTO anchor(boot, mono, wall, src) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    trimAnchors: db.prepare(
      'DELETE FROM anchor WHERE (boot, mono) NOT IN (SELECT boot, mono FROM anchor ORDER BY wall DESC LIMIT ?)',
    ),
    verifications: db.prepare<[], VerificationRow>('SELECT id, at, record FROM verification ORDER BY at, id'),
    setVerification: db.prepare(
      `INSERT INTO verification(id, at, record) VALUES(?, ?, ?)
       ON CONFLICT(id) DO UPDATE SET record = excluded.record`,
    ),
    dropVerification: db.prepare('DELETE FROM verification WHERE id = ?'),
  };
}

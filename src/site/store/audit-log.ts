import type { Database } from 'better-sqlite3';
import { sha256 } from '#lib/digest.ts';
import type { AuditEntry, AuditRecord } from '#site/model/index.ts';
import { canonical, zeros } from './audit-chain.ts';
import type { AuditLink, AuditRow } from './audit-types.ts';
import { pluck } from './sqlite.ts';

/** Kept in any case: so many of the newest, what is younger than 90 days, and what was never exported. */
const keepRows = 100_000;
const keepMs = 90 * 24 * 3_600_000;
/** The most there is, however young. */
const mostRows = 500_000;
const trimAtOnce = 64;
/** A commit that comes again is looked for among so many of the newest entries. */
const looked = 20_000;
/** Commits that wait for a disk are written in no particular order once it takes them. */
const unordered = 10_000;
/** A new chain begins above all that the file before it may have held and a salvage may bring back. */
const chainsApart = 1e12;
const perCommit = 64;
/** An epoch may be the number of a day (`readSide`); numbers must stay exact for all that. */
const highestStart = 4e15;
const highestNumber = 9e15;

/** What `site.db` says of the log beside the entries. */
export interface AuditRead {
  readonly rows: AuditRow[];
  /** The last entry that gave way. */
  readonly base: AuditLink | undefined;
  /** The newest entry as it was noted beside the log: without it nobody would notice that the newest were cut off. */
  readonly head: AuditLink | undefined;
  /** Number of the last entry that an export has. */
  readonly exported: number;
  /** A number outside of those that are given; also where the rows asked for do not reach it. */
  readonly foreign: number | undefined;
}

/** The audit log of `site.db`: append-only, each entry chained to the one before it. All writes within a transaction. */
export class AuditLog {
  readonly #sql: ReturnType<typeof prepare>;
  #head: AuditLink | undefined;
  #known: AuditLink | undefined;
  #isEmpty = true;
  /** No entry has a higher one. */
  #lastCommit = 0;
  /** Of the newest entries, by epoch and commit; read when it is needed. At most twice `looked`. */
  #commits: Set<string> | undefined;
  #rows = 0;
  #exported = 0;

  constructor(db: Database) {
    this.#sql = prepare(db);
    this.recount();
  }

  /**
   * What comes next follows the newest entry that is known of, also one that is not there any more: so a log that was
   * cut while siteward was down stays broken at that place.
   */
  recount(): void {
    const last = this.#sql.last.get();
    this.#head = last === undefined ? undefined : { n: last.n, hash: last.hash };
    this.#isEmpty = last === undefined;
    this.#lastCommit = Math.max(this.#lastCommit, last === undefined ? 0 : commitOf(last.record) + unordered);
    this.#commits = undefined;
    this.#rows = this.#sql.count.get() ?? 0;
    this.#exported = this.#link('audit_exported')?.n ?? 0;
    for (const known of [this.#link('audit_head'), this.#known]) this.adopt(known);
  }

  /** The newest entry, also while its transaction is not on disk yet. */
  get head(): AuditLink | undefined {
    return this.#head;
  }

  /** At least the highest commit that has entries here: commits of a new run must come after it, or pass for repeats. */
  get lastCommit(): number {
    return this.#lastCommit;
  }

  /** An entry that is known from elsewhere to have been written. */
  adopt(known: AuditLink | undefined): void {
    if (known === undefined || known.n < (this.#head?.n ?? 0)) return;
    this.#known = known;
    this.#head = known;
  }

  /** `commit` counts over all runs. One whose outcome was unknown comes again under its number and changes nothing. */
  add(commit: number, records: readonly AuditRecord[]): void {
    const epoch = records[0]?.epoch ?? 1;
    if (records.length === 0) return;
    const key = `${epoch}/${commit}`;
    if (commit <= this.#lastCommit && this.#written().has(key)) return;
    this.#commits?.add(key);
    for (const record of records) this.#append(commit, record);
    this.#sql.setMeta.run('audit_head', JSON.stringify(this.#head));
    this.#lastCommit = Math.max(this.#lastCommit, commit);
    this.#trim(records.at(-1)?.at_wall ?? 0);
  }

  read({ from, to, limit, newest }: { from: number; to: number; limit: number; newest: boolean }): AuditRead {
    return {
      rows: (newest ? this.#sql.newest : this.#sql.oldest).all(from, to, limit),
      base: this.#link('audit_base'),
      head: this.#link('audit_head'),
      exported: this.#exported,
      foreign: this.#sql.foreign.get(),
    };
  }

  /** An export up to this entry is on disk somewhere. False when the log has no such entry. */
  wasExported({ n, hash }: AuditLink): boolean {
    const base = this.#link('audit_base');
    const isThere = (base?.n === n && base.hash === hash) || this.#sql.hashOf.get(n) === hash;
    if (isThere && n > this.#exported) {
      this.#sql.setMeta.run('audit_exported', JSON.stringify({ n, hash }));
      this.#exported = n;
    }
    return isThere;
  }

  /** Read once, not once a commit: after a disk that took nothing hundreds of them may come again together. */
  #written(): ReadonlySet<string> {
    if (this.#commits === undefined || this.#commits.size > 2 * looked)
      this.#commits = new Set(this.#sql.commits.all());
    return this.#commits;
  }

  #append(commit: number, record: AuditRecord): void {
    const first = Math.min((record.epoch - 1) * chainsApart, highestStart) + (commit - 1) * perCommit + 1;
    const next = (this.#head?.n ?? 0) + 1;
    const prev = this.#head?.hash ?? zeros;
    const n = this.#isEmpty ? Math.max(first, next) : next;
    const entry: AuditEntry = { ...record, n, prev_hash: prev, commit };
    const text = canonical(entry);
    const hash = sha256(text);
    this.#sql.insert.run(n, prev, hash, entry.at_wall, text);
    this.#head = { n, hash };
    this.#isEmpty = false;
    this.#rows += 1;
  }

  /** The last one that gives way leaves its hash, which the first of the rest follows. */
  #trim(wall: number): void {
    const over = Math.min(this.#rows - keepRows, trimAtOnce);
    if (over <= 0) return;
    const isFull = this.#rows > mostRows;
    const old = this.#sql.old.all(over);
    const kept = old.findIndex(({ at, n }) => !isFull && (at >= wall - keepMs || n > this.#exported));
    const last = old[(kept < 0 ? old.length : kept) - 1];
    if (last === undefined) return;
    this.#sql.setMeta.run('audit_base', JSON.stringify({ n: last.n, hash: last.hash }));
    this.#rows -= this.#sql.drop.run(last.n).changes;
  }

  #link(key: string): AuditLink | undefined {
    return linkOf(this.#sql.meta.get(key));
  }
}

/** Undefined for what is no link: whoever can change the file must not be able to keep siteward from starting. */
export function linkOf(text: string | undefined): AuditLink | undefined {
  if (text === undefined) return undefined;
  const { n, hash } = parsed(text);
  const isNumber = Number.isSafeInteger(n) && Number(n) > 0 && Number(n) < highestNumber;
  return isNumber && typeof hash === 'string' ? { n: Number(n), hash } : undefined;
}

const commitOf = (record: string): number => Number(parsed(record).commit ?? 0);

function parsed(text: string): { n?: unknown; hash?: unknown; commit?: unknown } {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    return {};
  }
}

function prepare(db: Database) {
  const columns = 'n, prev, hash, at, record';
  return {
    last: db.prepare<[], AuditRow>(`SELECT ${columns} FROM audit WHERE n < ${highestNumber} ORDER BY n DESC LIMIT 1`),
    count: pluck<[], number>(db, 'SELECT count(*) FROM audit'),
    commits: pluck<[], string>(
      db,
      `SELECT json_extract(record, '$.epoch') || '/' || json_extract(record, '$.commit')
       FROM (SELECT record FROM audit ORDER BY n DESC LIMIT ${looked}) WHERE json_valid(record)`,
    ),
    insert: db.prepare(`INSERT INTO audit(${columns}) VALUES(?, ?, ?, ?, ?)`),
    newest: db.prepare<[number, number, number], AuditRow>(
      `SELECT ${columns} FROM audit WHERE n BETWEEN ? AND ? ORDER BY n DESC LIMIT ?`,
    ),
    oldest: db.prepare<[number, number, number], AuditRow>(
      `SELECT ${columns} FROM audit WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ?`,
    ),
    old: db.prepare<[number], AuditRow>(`SELECT ${columns} FROM audit ORDER BY n LIMIT ?`),
    // Numbers above what JavaScript counts exactly are told as the highest it does.
    foreign: pluck<[], number>(
      db,
      `SELECT n FROM (SELECT n FROM audit WHERE n < 1 LIMIT 1) UNION ALL
       SELECT n FROM (SELECT min(n, ${Number.MAX_SAFE_INTEGER}) AS n FROM audit WHERE n >= ${highestNumber} LIMIT 1) LIMIT 1`,
    ),
    hashOf: pluck<[number], string>(db, 'SELECT hash FROM audit WHERE n = ?'),
    drop: db.prepare('DELETE FROM audit WHERE n <= ?'),
    meta: pluck<[string], string>(db, 'SELECT v FROM meta WHERE k = ?'),
    setMeta: db.prepare('INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v'),
  };
}

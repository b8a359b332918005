import type { Database } from 'better-sqlite3';
import { SitewardError } from '#errors.ts';
import { linkOf } from './audit-log.ts';
import type { AuditLink } from './audit-types.ts';
import type { StoreLimits } from './limits.ts';
import { Outbox } from './outbox.ts';
import { Reader } from './reader.ts';
import { pluck } from './sqlite.ts';
import type { StoredInput } from './types.ts';

/** Input lines per commit order number; a commit holds a handful. */
const linesPerOrder = 1024;
const maxKeyBytes = 256;
/** Characters of input lines in one answer, about. */
const answerBytes = 256 * 1024;

/** `bulk.db`: the activity lane, the input log, the memory port. May be lost without touching an alarm. */
export class BulkFile {
  readonly name = 'bulk';
  readonly db: Database;
  readonly outbox: Outbox;
  readonly reader: Reader;
  readonly #sql: ReturnType<typeof prepare>;
  #inputCount: number;
  #auditHead: AuditLink | undefined;

  constructor(db: Database) {
    this.db = db;
    this.outbox = new Outbox(db);
    this.reader = new Reader(db);
    this.#sql = prepare(db);
    this.#inputCount = this.#sql.countInputs.get() ?? 0;
    this.#auditHead = linkOf(this.#sql.meta.get('audit_head'));
  }

  /** The newest entry of the audit log in `site.db` that was told here. */
  get auditHead(): AuditLink | undefined {
    return this.#auditHead;
  }

  setAuditHead(head: AuditLink): void {
    this.#sql.setMeta.run('audit_head', JSON.stringify(head));
    this.#auditHead = head;
  }

  addInputs(order: number, lines: readonly string[]): void {
    for (const [index, line] of lines.slice(-linesPerOrder).entries()) {
      this.#inputCount += this.#sql.input.run(order * linesPerOrder + index, line).changes;
    }
  }

  trimInputs(cap: number, most: number): number {
    const over = Math.min(this.#inputCount - cap, most);
    if (over <= 0) return 0;
    const { changes } = this.#sql.trimInputs.run(over);
    this.#inputCount -= changes;
    return changes;
  }

  /** The newest `limit` entries in the order they were written. */
  inputs(limit: number): string[] {
    return this.#sql.inputs.all(limit).reverse();
  }

  /** In the order they were written, as many as fit into one answer; at least one if there is one. */
  inputsAfter(after: number, limit: number): StoredInput[] {
    const lines: StoredInput[] = [];
    let bytes = 0;
    for (const line of this.#sql.inputsAfter.iterate(after, limit)) {
      bytes += line.line.length;
      if (lines.length > 0 && bytes > answerBytes) break;
      lines.push(line);
    }
    return lines;
  }

  /** The highest commit order number in the input log. */
  lastOrder(): number {
    return Math.floor((this.#sql.lastInput.get() ?? 0) / linesPerOrder);
  }

  recall(room: string, key: string): string | undefined {
    return this.#sql.recall.get(room, key);
  }

  /** Throws `queue_full` where the room's memory or the value is too large: a pin must not push out another. */
  remember(room: string, key: string, value: string, limits: StoreLimits): void {
    const bytes = Buffer.byteLength(value);
    if (bytes > limits.memoryBytes || Buffer.byteLength(key) > maxKeyBytes) {
      throw tooMuch(`a value of ${bytes} bytes is larger than ${limits.memoryBytes}`, { room, bytes });
    }
    const isNew = this.#sql.recall.get(room, key) === undefined;
    if (isNew && (this.#sql.countKeys.get(room) ?? 0) >= limits.memoryKeys) {
      throw tooMuch(`it holds ${limits.memoryKeys} keys already`, { room, keys: limits.memoryKeys });
    }
    this.#sql.remember.run(room, key, value);
  }

  keys(room: string): string[] {
    return this.#sql.keys.all(room);
  }

  forget(room: string, key: string): void {
    this.#sql.forget.run(room, key);
  }

  recount(): void {
    this.outbox.recount();
    this.#inputCount = this.#sql.countInputs.get() ?? 0;
    this.#auditHead = linkOf(this.#sql.meta.get('audit_head'));
  }
}

const tooMuch = (why: string, facts: { room: string; bytes?: number; keys?: number }) =>
  new SitewardError('queue_full', `The memory of ${facts.room} takes no more: ${why}.`, { facts });

function prepare(db: Database) {
  return {
    input: db.prepare('INSERT INTO inputs(id, line) VALUES(?, ?) ON CONFLICT DO NOTHING'),
    countInputs: pluck<[], number>(db, 'SELECT count(*) FROM inputs'),
    trimInputs: db.prepare('DELETE FROM inputs WHERE id IN (SELECT id FROM inputs ORDER BY id LIMIT ?)'),
    inputs: pluck<[number], string>(db, 'SELECT line FROM inputs ORDER BY id DESC LIMIT ?'),
    inputsAfter: db.prepare<[number, number], StoredInput>(
      'SELECT id, line FROM inputs WHERE id > ? ORDER BY id LIMIT ?',
    ),
    meta: pluck<[string], string>(db, 'SELECT v FROM meta WHERE k = ?'),
    setMeta: db.prepare('INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v'),
    lastInput: pluck<[], number | null>(db, 'SELECT max(id) FROM inputs'),
    recall: pluck<[string, string], string>(db, 'SELECT v FROM memory WHERE room = ? AND k = ?'),
    remember: db.prepare(
      'INSERT INTO memory(room, k, v) VALUES(?, ?, ?) ON CONFLICT(room, k) DO UPDATE SET v = excluded.v',
    ),
    forget: db.prepare('DELETE FROM memory WHERE room = ? AND k = ?'),
    keys: pluck<[string], string>(db, 'SELECT k FROM memory WHERE room = ?'),
    countKeys: pluck<[string], number>(db, 'SELECT count(*) FROM memory WHERE room = ?'),
  };
}

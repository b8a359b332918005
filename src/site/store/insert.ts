import type { Database } from 'better-sqlite3';
import { type EvValues, evAt, type WireRow } from './protocol.ts';

/** The columns of `ev` in the order of `EvValues`. */
export const evColumns = 'seq, lane, eid, okey, mono, wall, boot, clock, crc, class, part, body, event, silent';

/** Rows of one statement: what it costs to run one is a third of what a row costs. */
const many = 8;

/**
 * Writes events that wait for the cloud, and those that stay here, to `ev`, and the former to `pend`. Runs inside the
 * caller's transaction.
 */
export class EventInsert {
  readonly #sql: ReturnType<typeof prepare>;
  /** No event of the file has a higher number. To be set again after a rollback. */
  top = 0;

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  /**
   * Returns those that were not there. The others are repeats after an unknown commit: what became of them since must
   * not be undone.
   */
  write(rows: readonly WireRow[]): WireRow[] {
    const written: WireRow[] = [];
    let rest = rows;
    while (rest.length > 0) {
      const some = rest.slice(0, this.#isPlain(rest) ? many : 1);
      if (some.length === many) this.#writeMany(some);
      if (some.length === many || some.every((row) => this.#writeOne(row))) written.push(...some);
      rest = rest.slice(some.length);
    }
    return written;
  }

  /** The first rows can go together: none can be a repeat, and all wait for the cloud. */
  #isPlain(rows: readonly WireRow[]): boolean {
    if (rows.length < many) return false;
    let { top } = this;
    for (const [ev, toCloud] of rows.slice(0, many)) {
      const seq = ev[evAt.seq];
      if (seq <= top || !toCloud) return false;
      top = seq;
    }
    return true;
  }

  /** The values go as arguments: the binding takes them out of a list one call at a time. */
  #writeMany(rows: readonly WireRow[]): void {
    const events: unknown[] = [];
    const pending: unknown[] = [];
    for (const [ev] of rows) {
      events.push(...ev);
      pending.push(...pendingValues(ev));
      this.top = ev[evAt.seq];
    }
    this.#sql.events.run(...events);
    this.#sql.pending.run(...pending);
  }

  /** False for a repeat. */
  #writeOne([ev, toCloud]: WireRow): boolean {
    if (this.#sql.event.run(...ev).changes === 0) return false;
    if (toCloud) this.#sql.waits.run(...pendingValues(ev));
    this.top = Math.max(this.top, ev[evAt.seq]);
    return true;
  }
}

const pendingValues = (ev: EvValues): unknown[] => [ev[evAt.lane], ev[evAt.seq], ev[evAt.orderKey], ev[evAt.silent]];

function prepare(db: Database) {
  const ev = `INSERT INTO ev(${evColumns}) VALUES`;
  const pend = 'INSERT INTO pend(lane, seq, okey, silent) VALUES';
  const [event, waits] = [`(${Array(14).fill('?').join()})`, '(?, ?, ?, ?)'];
  const times = (row: string) => Array(many).fill(row).join();
  return {
    event: db.prepare(`${ev}${event} ON CONFLICT DO NOTHING`),
    waits: db.prepare(`${pend}${waits} ON CONFLICT DO NOTHING`),
    // A conflict here is a fault: it fails the transaction, and its requests are then written one at a time.
    events: db.prepare(`${ev}${times(event)}`),
    pending: db.prepare(`${pend}${times(waits)}`),
  };
}

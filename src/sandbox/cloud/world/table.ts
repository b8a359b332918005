import { SitewardError } from '#errors.ts';

export type Key = number | string;

export interface TableRules<Row> {
  /** Plural, for people: `sites`. */
  readonly name: string;
  key(row: Row): Key;
  /** What it belongs to: the dealer of a site, the site of a device. */
  parent(row: Row): Key;
  /** The first id the service gives; a range of its own for each kind shows mix-ups. */
  readonly firstId: number;
  readonly maxRows: number;
  /** Most rows of one parent; `maxRows` when absent. */
  readonly maxPerParent?: number;
  /** At a bound a new row is refused, or the oldest gives way. */
  readonly atCap: 'refuse' | 'drop oldest';
}

/** Bytes of JSON one table holds at most. */
const maxBytes = 16 * 1024 * 1024;

export interface TableSnapshot<Row> {
  readonly next: number;
  readonly rows: readonly Row[];
}

/**
 * Rows by id and by parent, bounded in count and bytes. Rows are never changed in place: `put` replaces one, and a row
 * keeps its parent for life.
 */
export class Table<Row extends object> {
  readonly #rules: TableRules<Row>;
  readonly #changed: () => void;
  readonly #rows = new Map<Key, { readonly row: Row; readonly bytes: number }>();
  readonly #children = new Map<Key, Map<Key, Row>>();
  #bytes = 0;
  #next: number;

  constructor(rules: TableRules<Row>, changed: () => void) {
    this.#rules = rules;
    this.#changed = changed;
    this.#next = rules.firstId;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** An id that was never given before. */
  newId(): number {
    while (this.#rows.has(this.#next)) this.#next += 1;
    this.#next += 1;
    return this.#next - 1;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key)?.row;
  }

  /** Rows of one parent, oldest first. */
  of(parent: Key): Row[] {
    return [...(this.#children.get(parent)?.values() ?? [])];
  }

  all(): Row[] {
    return [...this.#rows.values()].map(({ row }) => row);
  }

  /** Adds a row or replaces the one with its id. Throws `queue_full` at a bound; then nothing has changed. */
  put(row: Row): Row {
    const key = this.#rules.key(row);
    const bytes = Buffer.byteLength(JSON.stringify(row));
    const known = this.#rows.get(key);
    this.#makeRoom(row, bytes - (known?.bytes ?? 0), known === undefined);
    this.#rows.set(key, { row, bytes });
    this.#bytes += bytes - (known?.bytes ?? 0);
    this.#own(key, row);
    if (typeof key === 'number' && key >= this.#next) this.#next = key + 1;
    this.#changed();
    return row;
  }

  delete(key: Key): void {
    const known = this.#rows.get(key);
    if (known === undefined) return;
    this.#rows.delete(key);
    this.#bytes -= known.bytes;
    this.#disown(key, known.row);
    this.#changed();
  }

  clear(): void {
    this.#rows.clear();
    this.#children.clear();
    this.#bytes = 0;
    this.#next = this.#rules.firstId;
    this.#changed();
  }

  snapshot(): TableSnapshot<Row> {
    return { next: this.#next, rows: this.all() };
  }

  /** Throws `queue_full` when the snapshot is larger than the bounds. */
  restore({ next, rows }: TableSnapshot<Row>): void {
    this.clear();
    for (const row of rows) this.put(row);
    this.#next = Math.max(this.#next, next);
  }

  #makeRoom(row: Row, growth: number, isNew: boolean): void {
    const { name, maxRows, maxPerParent = maxRows, atCap, parent } = this.#rules;
    const siblings = this.#children.get(parent(row));
    const tooMany = () => isNew && this.#rows.size >= maxRows;
    const crowded = () => isNew && (siblings?.size ?? 0) >= maxPerParent;
    const tooLarge = () => growth > 0 && this.#bytes + growth > maxBytes;
    if (atCap === 'drop oldest') {
      while (crowded()) this.#drop(siblings?.keys());
      while ((tooMany() || tooLarge()) && this.#rows.size > 0) this.#drop(this.#rows.keys());
    }
    if (tooMany()) throw full(`the sandbox holds ${maxRows} ${name} already`);
    if (crowded()) throw full(`there are ${maxPerParent} ${name} here already`);
    if (tooLarge()) throw full(`the ${name} of the sandbox fill ${maxBytes / 1024 / 1024} MiB already`);
  }

  #drop(keys: Iterator<Key> | undefined): void {
    const oldest = keys?.next().value;
    if (oldest !== undefined) this.delete(oldest);
  }

  #own(key: Key, row: Row): void {
    const parent = this.#rules.parent(row);
    const siblings = this.#children.get(parent) ?? new Map<Key, Row>();
    siblings.set(key, row);
    this.#children.set(parent, siblings);
  }

  #disown(key: Key, row: Row): void {
    const parent = this.#rules.parent(row);
    const siblings = this.#children.get(parent);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#children.delete(parent);
  }
}

const full = (what: string) => new SitewardError('queue_full', `${what}; delete some, or reset it`);

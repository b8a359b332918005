import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, SitewardError } from '#errors.ts';
import { type Lane, lanes } from '#site/model/index.ts';
import { BulkFile } from './bulk-file.ts';
import type { FileName, FileState, FileStates, WorkerData } from './protocol.ts';
import { quarantine } from './quarantine.ts';
import { salvage } from './salvage.ts';
import { readSide, type SideFile, writeSide } from './side.ts';
import { SiteFile } from './site-file.ts';
import { assertFull, Damaged, openDatabase, sizeOf } from './sqlite.ts';
import type { Recovery } from './types.ts';

/** After a failed open the next try waits this long, so that a dying disk is not hammered. */
const reopenAfterMs = 5000;
const sizesForMs = 1000;

export type Note = (level: 'info' | 'warn' | 'error', text: string, facts: Record<string, string | number>) => void;

interface Slot<F> {
  file: F | undefined;
  state: FileState;
  nextTry: number;
}

/** Both database files of a state directory: opens, checks, sets aside, opens again. Lives in the worker. */
export class Files {
  readonly #data: WorkerData;
  readonly #note: Note;
  readonly #site: Slot<SiteFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  readonly #bulk: Slot<BulkFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  /** What the epoch rules found when `site.db` was opened last. */
  #found: { epoch: number; lastBoot: string | undefined; id: string } | undefined;
  #sizes: { until: number; bytes: Readonly<Record<FileName, number>> } = { until: 0, bytes: { site: 0, bulk: 0 } };
  #synced = new WeakSet<SiteFile | BulkFile>();

  constructor(data: WorkerData, note: Note) {
    this.#data = data;
    this.#note = note;
  }

  get dir(): string {
    return this.#data.dir;
  }

  /** Throws `state_dir_unusable`, or `store_unavailable` for a file of a newer siteward. */
  open(): { recovery: Recovery; nextOrder: number } {
    const { dir } = this.#data;
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      chmodSync(dir, 0o700);
    } catch (error) {
      // A card that turned read-only must not end the protection of the site: it goes on from memory.
      if (!isReadOnly(error) || !existsSync(dir)) {
        throw new SitewardError(
          'state_dir_unusable',
          `The state directory ${dir} cannot be used: ${describe(error)}.`,
          {
            facts: { dir },
            cause: error,
          },
        );
      }
    }
    const hadStore = readSide(dir) !== undefined;
    this.#openSite();
    this.#openBulk();
    return this.#recovery(hadStore);
  }

  /** Undefined while the file cannot be used; tries again from time to time. */
  site(): SiteFile | undefined {
    if (this.#site.file === undefined && performance.now() >= this.#site.nextTry) attempt(() => this.#openSite());
    return this.#site.file;
  }

  bulk(): BulkFile | undefined {
    if (this.#bulk.file === undefined && performance.now() >= this.#bulk.nextTry) attempt(() => this.#openBulk());
    return this.#bulk.file;
  }

  states(): FileStates {
    return { site: this.#site.state, bulk: this.#bulk.state };
  }

  /** Sizes as of the last second. */
  bytes(): Readonly<Record<FileName, number>> {
    const now = performance.now();
    if (now < this.#sizes.until) return this.#sizes.bytes;
    this.#sizes = { until: now + sizesForMs, bytes: this.#measure() };
    return this.#sizes.bytes;
  }

  #measure(): Record<FileName, number> {
    return { site: sizeOf(this.#path('site')), bulk: sizeOf(this.#path('bulk')) };
  }

  /** Reads `synchronous` back after the first write of a connection; throws `store_failed` if it is not FULL. */
  checkFull(file: SiteFile | BulkFile): void {
    if (this.#synced.has(file)) return;
    assertFull(file.db, file.name);
    this.#synced.add(file);
  }

  /** After an error that makes the connection worthless: close, check, set aside if damaged, open again. */
  reopen(name: FileName): void {
    const slot = name === 'site' ? this.#site : this.#bulk;
    if (slot.file !== undefined) closeQuietly(slot.file);
    slot.file = undefined;
    attempt(() => (name === 'site' ? this.#openSite() : this.#openBulk()));
  }

  /** Checkpoints and closes. `maxSeq` is the last number anybody used. */
  close(maxSeq: number): void {
    const { file: site } = this.#site;
    if (site !== undefined) {
      const top = Math.max(maxSeq, site.outbox.maxSeq(), this.#bulk.file?.outbox.maxSeq() ?? 0);
      // A bulk.db that is not open may hold higher numbers; what was set aside stays so.
      if (this.#bulk.file !== undefined) attempt(() => site.release(top));
    }
    for (const file of [site, this.#bulk.file]) if (file !== undefined) closeQuietly(file);
    this.#site.file = undefined;
    this.#bulk.file = undefined;
  }

  #openSite(): void {
    this.#fill(this.#site, 'site', () => {
      const { db, damage } = this.#openOne('site');
      const file = new SiteFile(db);
      this.#claimEpoch(file, damage !== undefined);
      return { file, damage };
    });
  }

  #openBulk(): void {
    this.#fill(this.#bulk, 'bulk', () => {
      const { db, damage } = this.#openOne('bulk');
      const file = new BulkFile(db);
      // The first write of the connection, so that FULL is known to hold before the first event.
      attempt(() => db.prepare("INSERT OR REPLACE INTO meta(k, v) VALUES('boot', ?)").run(this.#data.bootId));
      return { file, damage };
    });
  }

  #fill<F extends SiteFile | BulkFile>(
    slot: Slot<F>,
    name: FileName,
    open: () => { file: F; damage: string | undefined },
  ): void {
    try {
      const { file, damage = slot.state.damage } = open();
      this.checkFull(file);
      slot.file = file;
      slot.state = damage === undefined ? { open: true } : { open: true, damage };
    } catch (error) {
      if (error instanceof SitewardError) throw error;
      slot.nextTry = performance.now() + reopenAfterMs;
      slot.state = { ...slot.state, open: false, reason: describe(error) };
      this.#note('error', 'a database file cannot be opened', { file: `${name}.db`, reason: describe(error) });
    }
  }

  #openOne(name: FileName) {
    const path = this.#path(name);
    const options = { path, file: name, maxBytes: this.#data.limits[`${name}Bytes`] };
    try {
      return { db: openDatabase(options), damage: undefined };
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      const kept = quarantine(path);
      const db = openDatabase(options);
      const { events, unreadable } = salvage(kept, db, name);
      const keptName = kept.slice(this.#data.dir.length + 1);
      const damage = `${name}.db was damaged (${error.message}); kept as ${keptName}, ${events} waiting events recovered, ${unreadable} unreadable`;
      this.#note('error', 'a damaged database file was set aside', { file: `${name}.db`, kept: keptName, events });
      return { db, damage };
    }
  }

  /**
   * The epoch rules: a new or set-aside file takes the side file's epoch + 1, a file older than the side file (put
   * back from a copy) too; a side file that is behind is written again. The database goes first: if the power fails
   * between the two, the database's higher epoch wins at the next start.
   */
  #claimEpoch(site: SiteFile, damaged: boolean): void {
    const side = readSide(this.#data.dir);
    const own = site.meta('epoch');
    const known = own === undefined ? undefined : Number(own);
    const keeps = known !== undefined && known >= (side?.epoch ?? 0);
    const epoch = keeps ? known : Math.max(side?.epoch ?? 0, known ?? 0) + 1;
    const lost = known === undefined && (side !== undefined || damaged);
    const lastBoot = site.meta('boot');
    const id = site.meta('id') ?? side?.id ?? randomUUID();
    const write = site.db.transaction(() => {
      site.setMeta('epoch', String(epoch));
      site.setMeta('id', id);
      site.setMeta('boot', this.#data.bootId);
      // Stays until the core has written a state again: a second start must not take an empty store for a new site.
      if (lost) site.setMeta('lost', '1');
    });
    // A full disk must not keep an existing store from starting; a new one has nothing to start with.
    if (keeps) attempt(() => write.immediate());
    else write.immediate();
    if (side?.epoch !== epoch || side.id !== id) this.#writeSide({ epoch, created: Date.now(), id });
    this.#found = { epoch, lastBoot, id };
  }

  #writeSide(side: SideFile): void {
    try {
      writeSide(this.#data.dir, side);
    } catch (error) {
      this.#note('error', 'the side file of the store cannot be written', { reason: describe(error) });
    }
  }

  #recovery(hadStore: boolean): { recovery: Recovery; nextOrder: number } {
    const site = this.#site.file;
    const bulk = this.#bulk.file;
    const { pending: waiting = [] } = site?.outbox.counts ?? {};
    const { pending: activity = [] } = bulk?.outbox.counts ?? {};
    const pending = lanePick((lane) => (waiting[lane] ?? 0) + (activity[lane] ?? 0));
    const { order, state } = site?.state() ?? { order: 0, state: undefined };
    const top = Math.max(site?.outbox.maxSeq() ?? 0, bulk?.outbox.maxSeq() ?? 0, site?.reserved ?? 0);
    const isReserved = site !== undefined && succeeds(() => site.reserve(top));
    // Numbers that could not be set aside on disk (it is full) may be given again in the next life: other ids then.
    const known = isReserved ? this.#found?.id : undefined;
    return {
      recovery: {
        epoch: this.#found?.epoch ?? readSide(this.#data.dir)?.epoch ?? 1,
        storeId: known ?? randomUUID(),
        // Without site.db nothing tells which numbers were used; the wall clock in milliseconds is above them all.
        nextSeq: (site === undefined ? Math.max(top, Date.now()) : top) + 1,
        state,
        lost: site === undefined ? hadStore : site.meta('lost') === '1' || (order > 0 && state === undefined),
        lastBoot: this.#found?.lastBoot,
        pending,
      },
      nextOrder: Math.max(order, bulk?.lastOrder() ?? 0) + 1,
    };
  }

  #path(name: FileName): string {
    return join(this.#data.dir, `${name}.db`);
  }
}

export function lanePick<T>(pick: (lane: number) => T): Readonly<Record<Lane, T>> {
  const of = (lane: Lane) => pick(lanes.indexOf(lane));
  return { alarm: of('alarm'), arming: of('arming'), trouble: of('trouble'), activity: of('activity') };
}

function closeQuietly(file: SiteFile | BulkFile): void {
  attempt(() => file.db.pragma('wal_checkpoint(TRUNCATE)'));
  attempt(() => file.db.close());
}

/** For steps whose failure shows by itself: in the file's state, or in the next commit. Our own errors pass. */
function attempt(step: () => unknown): void {
  succeeds(step);
}

const isReadOnly = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EROFS';

/** False when the file would not do it; our own errors go through. */
function succeeds(step: () => unknown): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof SitewardError) throw error;
    return false;
  }
}

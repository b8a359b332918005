import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { describe, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { Emergency } from './abandon.ts';
import { AlarmLog } from './alarm-log.ts';
import { BulkFile } from './bulk-file.ts';
import { claimEpoch, type FoundEpoch } from './epoch.ts';
import { Mending, planIn, undelivered } from './mending.ts';
import { addMissing, type Before, beforeOf, marksOf, missingOf, nothingBefore } from './missing.ts';
import { adoptCopy, copyBeside, movedText, Places } from './moved.ts';
import { type Peek, peek } from './peek.ts';
import type { FileName, FileStates, WorkerData } from './protocol.ts';
import { interrupted, interruption, quarantine, unreadAside } from './quarantine.ts';
import { attempt, closeQuietly, failureOf, succeeds } from './quiet.ts';
import { newSalvage } from './salvage.ts';
import { SideKeeper } from './side-keeper.ts';
import { SiteFile } from './site-file.ts';
import type { Carried, Opening, Slot } from './slot.ts';
import {
  assertFull,
  checkedAtOpenBytes,
  Damaged,
  isDamage,
  openDatabase,
  Sizes,
  sizeOf,
  walBytesOf,
} from './sqlite.ts';
import { makeStateDir } from './state-dir.ts';
import type { Recovery } from './types.ts';
import { lanePick } from './writes.ts';

/** After a failed open the next try waits this long, so that a dying disk is not hammered. */
const reopenAfterMs = 5000;

export type Note = (level: 'info' | 'warn' | 'error', text: string, facts: Record<string, string | number>) => void;

/** Both database files of a state directory: opens, checks, sets aside, opens again. Lives in the worker. */
export class Files {
  readonly alarms: AlarmLog;
  readonly mending: Mending;
  readonly emergency: Emergency;
  readonly #data: WorkerData;
  readonly #note: Note;
  readonly #keeper: SideKeeper;
  readonly #site: Slot<SiteFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  readonly #bulk: Slot<BulkFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  /** What the epoch rules found when `site.db` was opened last. */
  #found: FoundEpoch | undefined;
  #carried: Carried | undefined;
  readonly #sizes = new Sizes((name) => this.#path(name));
  #synced = new WeakSet<SiteFile | BulkFile>();
  readonly #places = new Places();
  /** What each file held when it was opened, before anything was added. */
  #before: Readonly<Record<FileName, Before>> = { site: nothingBefore, bulk: nothingBefore };
  #replayed = 0;
  /** Files that were not checked as a whole when they were opened. */
  readonly unchecked = new Set<FileName>();
  /** Highest seq a commit of this run brought. */
  handed = 0;
  /** True in a crash loop: everything that can wait does. */
  isCareful = false;

  constructor(data: WorkerData, note: Note) {
    this.#data = data;
    this.#note = note;
    this.#keeper = new SideKeeper(data.dir, note);
    this.mending = new Mending(data.dir, note);
    this.emergency = new Emergency(data.dir, note);
    this.alarms = new AlarmLog({
      dir: data.dir,
      mode: data.limits.alarmCopy,
      failed: (error) => note('error', 'the second copy of the alarms cannot be written', { reason: describe(error) }),
    });
  }

  get dir(): string {
    return this.#data.dir;
  }

  /** Throws `state_dir_unusable`, or `store_unavailable` for a file of a newer siteward. */
  open(): { recovery: Recovery; nextOrder: number } {
    const { dir } = this.#data;
    makeStateDir(dir);
    const hadStore = this.#keeper.side !== undefined;
    this.isCareful = this.#keeper.noteStart(this.#data.bootId);
    if (this.isCareful) this.#note('error', 'the third start within two minutes: what can wait is left for later', {});
    // As it was before this start writes its own.
    const side = this.#keeper.side;
    this.#openSite();
    this.#openBulk();
    const found = this.#recovery(hadStore);
    if (side !== undefined) attempt(() => this.#noteMissing(side));
    attempt(() => this.writeSide());
    return found;
  }

  /** Undefined while the file cannot be used; tries again from time to time. */
  site(): SiteFile | undefined {
    if (this.#site.file === undefined && performance.now() >= this.#site.nextTry) attempt(() => this.#openSite());
    return this.#site.file;
  }

  bulk(): BulkFile | undefined {
    if (this.#bulk.file === undefined && performance.now() >= this.#bulk.nextTry) attempt(() => this.#openBulk());
    this.emergency.putBack(this.#bulk.file);
    return this.#bulk.file;
  }

  /** The file if it is open; never tries to open it. */
  opened(name: FileName): SiteFile | BulkFile | undefined {
    return name === 'site' ? this.#site.file : this.#bulk.file;
  }

  states(): FileStates {
    const { site, bulk } = this.#sizes.now().wal;
    const each = (name: FileName, walBytes: number) => ({ walBytes, mending: this.mending.isAtWork(name) });
    return {
      site: { ...this.#site.state, ...each('site', site) },
      bulk: { ...this.#bulk.state, ...each('bulk', bulk) },
    };
  }

  /** Sizes as of the last second. */
  bytes(): Readonly<Record<FileName, number>> {
    return this.#sizes.now().bytes;
  }

  walBytes(name: FileName): number {
    return walBytesOf(this.#path(name));
  }

  /** Reads `synchronous` back after the first write of a connection; throws `store_failed` if it is not FULL. */
  checkFull(file: SiteFile | BulkFile): void {
    if (this.#synced.has(file)) return;
    assertFull(file.db, file.name);
    this.#synced.add(file);
  }

  /** After an error that makes the connection worthless: close, set aside if `damage` says so, open again. */
  reopen(name: FileName, damage?: string): void {
    const slot = name === 'site' ? this.#site : this.#bulk;
    const { file } = slot;
    if (file?.name === 'site') this.#carried = { newest: file.newest, reserved: file.reserved };
    // A damaged file is closed as it is: to write its log into it would only spoil more.
    if (file !== undefined) closeQuietly(file, damage === undefined);
    slot.file = undefined;
    attempt(() => (name === 'site' ? this.#openSite(damage) : this.#openBulk(damage)));
  }

  /**
   * Looks whether the open file still lies at its path. If not, all that can be read of it is written there and used
   * from then on. False when the disk did not take that: the file stays in use as long as the process lives.
   */
  follow(name: FileName): 'in place' | boolean {
    const slot = name === 'site' ? this.#site : this.#bulk;
    const { file } = slot;
    if (file === undefined || !this.#places.isMoved(file)) return 'in place';
    const failure = failureOf(() => copyBeside(file));
    const damage = movedText(name, failure);
    if (failure === undefined) {
      if (name === 'site') this.alarms.renew();
      this.reopen(name);
      this.#note('error', damage, { file: `${name}.db` });
      attempt(() => this.writeSide());
    }
    slot.state = { ...slot.state, damage };
    return failure === undefined;
  }

  /** See `Emergency.deleteBulk`. */
  abandonBulk(): number | undefined {
    const { file } = this.#bulk;
    if (file === undefined) return undefined;
    attempt(() => this.writeSide());
    const lost = this.emergency.deleteBulk(file, this.mending.unfinished('bulk'));
    if (lost === undefined) return undefined;
    this.#bulk.file = undefined;
    this.#bulk.nextTry = 0;
    this.bulk();
    return lost;
  }

  /** What the next start needs to tell a sound file from one that lost something. */
  writeSide(change: { clean?: true } = {}): void {
    const [site, bulk] = [this.#site.file, this.#bulk.file];
    if (site === undefined || this.#found === undefined) return;
    const before = this.#keeper.side?.last;
    const { epoch, id } = this.#found;
    this.#keeper.write({
      epoch,
      id,
      ...marksOf(site, bulk, before?.bulk),
      ...(change.clean === true && { starts: { boot: this.#data.bootId, uptimes: [] } }),
    });
  }

  /** How many events were committed since the side file was written last. */
  get sinceSide(): number {
    const { last, reserved } = this.#keeper.side ?? {};
    const [site, bulk] = [this.#site.file, this.#bulk.file];
    if (site === undefined || last === undefined) return 0;
    if (site.reserved !== reserved) return Number.POSITIVE_INFINITY;
    return site.outbox.maxSeq() - last.site + (bulk === undefined ? 0 : bulk.outbox.maxSeq() - last.bulk);
  }

  /** Checkpoints and closes. `maxSeq` is the last number anybody used. */
  close(maxSeq: number): void {
    for (const name of ['site', 'bulk'] as const) attempt(() => this.follow(name));
    const { file: site } = this.#site;
    this.mending.close();
    if (site !== undefined) {
      const top = Math.max(maxSeq, site.outbox.maxSeq(), this.#bulk.file?.outbox.maxSeq() ?? 0);
      // A bulk.db that is not open may hold higher numbers; what was set aside stays so.
      if (this.#bulk.file !== undefined) attempt(() => site.release(top));
      attempt(() => this.writeSide({ clean: true }));
    }
    attempt(() => this.alarms.close());
    for (const file of [site, this.#bulk.file]) if (file !== undefined) closeQuietly(file, true);
    this.#site.file = undefined;
    this.#bulk.file = undefined;
  }

  #openSite(damage?: string): void {
    this.#fill(this.#site, 'site', () => {
      const opening = this.#openOne('site', (db) => new SiteFile(db), damage);
      this.#claimEpoch(opening.file, opening.damage !== undefined);
      this.#replayAlarms(opening.file);
      return opening;
    });
  }

  #openBulk(damage?: string): void {
    this.#fill(this.#bulk, 'bulk', () => {
      const opening = this.#openOne('bulk', (db) => new BulkFile(db), damage);
      const { db } = opening.file;
      // The first write of the connection, so that FULL is known to hold before the first event.
      attempt(() => db.prepare("INSERT OR REPLACE INTO meta(k, v) VALUES('boot', ?)").run(this.#data.bootId));
      return opening;
    });
  }

  #fill<F extends SiteFile | BulkFile>(slot: Slot<F>, name: FileName, open: () => Opening<F>): void {
    try {
      const { file, damage = slot.state.damage } = open();
      this.checkFull(file);
      this.#places.note(file);
      slot.file = file;
      slot.state = damage === undefined ? { open: true } : { open: true, damage };
    } catch (error) {
      if (error instanceof SitewardError) throw error;
      const isNews = slot.state.reason !== describe(error);
      slot.nextTry = performance.now() + reopenAfterMs;
      slot.state = { ...slot.state, open: false, reason: describe(error) };
      const facts = { file: `${name}.db`, reason: describe(error) };
      if (isNews) this.#note('error', 'a database file cannot be opened', facts);
    }
  }

  #openOne<F extends SiteFile | BulkFile>(
    name: FileName,
    make: (db: SiteFile['db']) => F,
    damage?: string,
  ): Opening<F> {
    const path = this.#path(name);
    adoptCopy(path);
    const why = damage ?? interruption(path);
    if (why !== undefined) return this.#replace(name, make, why);
    const maxBytes = this.#data.limits[`${name}Bytes`];
    const check = name === 'site' && sizeOf(path) <= checkedAtOpenBytes;
    let db: SiteFile['db'] | undefined;
    try {
      db = openDatabase({ path, file: name, maxBytes, check });
      const file = make(db);
      if (!check) this.unchecked.add(name);
      this.#before = { ...this.#before, [name]: beforeOf(file) };
      this.mending.resume(file);
      const kept = this.#before[name].fresh && !this.mending.isAtWork(name) ? unreadAside(path) : undefined;
      return kept === undefined ? { file } : this.#fillFrom(kept, file, interrupted);
    } catch (error) {
      attempt(() => db?.close());
      if (!(error instanceof Damaged) && !isDamage(error)) throw error;
      return this.#replace(name, make, describe(error));
    }
  }

  /** Sets the file aside and opens a new one, which is filled from it later. */
  #replace<F extends SiteFile | BulkFile>(name: FileName, make: (db: SiteFile['db']) => F, why: string): Opening<F> {
    const path = this.#path(name);
    const kept = quarantine(path);
    crashPoint('salvage.aside');
    const file = make(openDatabase({ path, file: name, maxBytes: this.#data.limits[`${name}Bytes`], check: false }));
    return this.#fillFrom(kept, file, why);
  }

  /** Makes the plan of the salvage: a new file without one means that siteward ended before it was made. */
  #fillFrom<F extends SiteFile | BulkFile>(kept: string, file: F, why: string): Opening<F> {
    const { name } = file;
    const { last, reserved = Number.MAX_SAFE_INTEGER } = this.#keeper.side ?? {};
    const older = this.mending.isAtWork(name) ? this.mending.unfinished(name) : planIn(kept, name);
    const first = newSalvage(basename(kept), reserved, Math.max(this.handed, last?.[name] ?? 0));
    this.mending.begin(file, [first, ...older]);
    this.unchecked.delete(name);
    const facts = { file: `${name}.db`, kept: basename(kept), reason: why };
    this.#note('error', 'a damaged database file was set aside; what can be read of it is brought back', facts);
    return { file, damage: `${name}.db was damaged (${why}); it is kept as ${basename(kept)}` };
  }

  #claimEpoch(site: SiteFile, damaged: boolean): void {
    const [found, carried] = [this.#found, this.#carried];
    this.#found = claimEpoch({ site, damaged, found, carried, keeper: this.#keeper, bootId: this.#data.bootId });
    this.#carried = undefined;
  }

  /** Alarms of the second copy that the file does not have: it is new, or lost its end. */
  #replayAlarms(site: SiteFile): void {
    const top = site.outbox.maxSeq();
    const rows = this.alarms.read().filter(([seq]) => seq > top);
    if (rows.length === 0) return;
    const [kept] = this.mending.unfinished('site');
    const lost = kept === undefined ? rows : undelivered(rows, join(this.#data.dir, kept.kept));
    attempt(() => site.db.transaction(() => site.outbox.insert(lost)).immediate());
    this.#replayed = lost.length;
    if (lost.length > 0) this.#note('warn', 'alarms were taken from their second copy', { events: lost.length });
  }

  /** Gap records for what the side file knows of and the files do not. What was set aside counts its own losses. */
  #noteMissing(side: NonNullable<SideKeeper['side']>): void {
    for (const name of ['site', 'bulk'] as const) {
      const [file, other] = name === 'site' ? [this.#site.file, this.#bulk.file] : [this.#bulk.file, this.#site.file];
      if (file === undefined || this.mending.isAtWork(name)) continue;
      const before = { ...this.#before[name], skipped: this.#before.site.skipped };
      const missing = missingOf({ name, side, before, other, replayed: name === 'site' ? this.#replayed : 0 });
      if (missing.length === 0) continue;
      attempt(() => addMissing(file, missing));
      const count = missing.reduce((sum, one) => sum + one.count, 0);
      this.#note('error', 'a database file lacks events it is known to have had', { file: `${name}.db`, count });
    }
  }

  #recovery(hadStore: boolean): { recovery: Recovery; nextOrder: number } {
    const [site, bulk] = [this.#site.file, this.#bulk.file];
    const { pending: waiting = [] } = site?.outbox.counts ?? {};
    const { pending: activity = [] } = bulk?.outbox.counts ?? {};
    const pending = lanePick((lane) => (waiting[lane] ?? 0) + (activity[lane] ?? 0));
    const seen: Partial<Peek> = site === undefined ? (peek(this.#path('site')) ?? {}) : {};
    const { order, state } = site?.state() ?? { order: seen.order ?? 0, state: seen.state };
    const { top, isReserved } = this.#claimNumbers(seen.top);
    // Numbers that could not be set aside on disk (it is full) may be given again in the next life: other ids then.
    const known = isReserved ? this.#found?.id : undefined;
    return {
      recovery: {
        epoch: this.#found?.epoch ?? seen.epoch ?? this.#keeper.side?.epoch ?? 1,
        storeId: known ?? randomUUID(),
        nextSeq: top + 1,
        state,
        lost:
          site === undefined
            ? hadStore && state === undefined
            : site.meta('lost') === '1' || (order > 0 && state === undefined),
        lastBoot: this.#found?.lastBoot ?? seen.lastBoot,
        pending,
      },
      nextOrder: Math.max(order, bulk?.lastOrder() ?? 0) + 1,
    };
  }

  /** The highest number that may have been used, and whether those above it could be set aside. */
  #claimNumbers(seen = 0): { top: number; isReserved: boolean } {
    const [site, bulk] = [this.#site.file, this.#bulk.file];
    const { side } = this.#keeper;
    const used = Math.max(site?.outbox.maxSeq() ?? 0, bulk?.outbox.maxSeq() ?? 0, side?.last?.site ?? 0);
    const known = Math.max(used, site?.reserved ?? 0, seen, side?.reserved ?? 0);
    // Nothing tells which numbers were used; the wall clock in milliseconds is above them all.
    const isUnknown = side?.reserved === undefined && (site === undefined || this.mending.isAtWork('site'));
    const top = isUnknown ? Math.max(known, Date.now()) : known;
    if (site === undefined) return { top, isReserved: false };
    const isReserved = succeeds(() => {
      site.reserve(top);
      crashPoint('reserve.written');
      if (top > used) site.setMeta('skipped', String(Number(site.meta('skipped') ?? 0) + top - used));
    });
    return { top, isReserved };
  }

  #path(name: FileName): string {
    return join(this.#data.dir, `${name}.db`);
  }
}

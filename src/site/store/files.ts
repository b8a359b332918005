import { basename, join } from 'node:path';
import { describe, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { Emergency } from './abandon.ts';
import { AlarmLog } from './alarm-log.ts';
import type { AuditLink } from './audit-types.ts';
import { BulkFile } from './bulk-file.ts';
import { claimEpoch, type FoundEpoch } from './epoch.ts';
import { Hold } from './hold.ts';
import { type FileName, fileNames } from './lanes.ts';
import { Mending, planIn } from './mending.ts';
import { beforeOf } from './missing.ts';
import { adoptCopy, copyBeside, movedText, Places } from './moved.ts';
import { clearDatabase, clearOthers } from './obstacles.ts';
import type { FileStates, WorkerData } from './protocol.ts';
import { interrupted, interruption, quarantine, unreadAside, unreadSets } from './quarantine.ts';
import { attempt, closeQuietly, failureOf, type Note } from './quiet.ts';
import { recover } from './recovery.ts';
import { replayAlarms } from './replay-alarms.ts';
import { newSalvage } from './salvage.ts';
import { SideKeeper } from './side-keeper.ts';
import { SideMarks } from './side-marks.ts';
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
import { Transactions } from './transactions.ts';
import type { Recovery } from './types.ts';

/** After a failed open the next try waits this long, so that a dying disk is not hammered. */
const reopenAfterMs = 5000;

/** Both database files of a state directory: opens, checks, sets aside, opens again. Lives in the worker. */
export class Files {
  readonly alarms: AlarmLog;
  readonly mending: Mending;
  readonly emergency: Emergency;
  readonly transactions = new Transactions();
  readonly marks: SideMarks;
  readonly hold: Hold;
  /** Wall clock, milliseconds. */
  readonly wall: () => number;
  readonly #data: WorkerData;
  readonly #note: Note;
  readonly #keeper: SideKeeper;
  readonly #site: Slot<SiteFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  readonly #bulk: Slot<BulkFile> = { file: undefined, state: { open: false }, nextTry: 0 };
  /** What the epoch rules found when `site.db` was opened last. */
  #found: FoundEpoch | undefined;
  #carried: Carried | undefined;
  /** Of files that are opened anew: see `Gaps.givenUp`. A salvage gives its gap records other numbers. */
  readonly #givenUp = new Map<FileName, ReadonlyMap<number, number>>();
  readonly #sizes = new Sizes((name) => this.#path(name));
  #synced = new WeakSet<SiteFile | BulkFile>();
  readonly #places = new Places();
  /** Files that were not checked as a whole when they were opened. */
  readonly unchecked = new Set<FileName>();
  /** Highest seq a commit of this run brought. */
  handed = 0;
  /** True in a crash loop: everything that can wait does. */
  isCareful = false;
  /** The newest entry of the audit log that is on disk. */
  auditHead: AuditLink | undefined;

  constructor({ data, note, wall }: { data: WorkerData; note: Note; wall: () => number }) {
    this.#data = data;
    this.#note = note;
    this.wall = wall;
    this.#keeper = new SideKeeper({ dir: data.dir, note, wall });
    const shared = { dir: data.dir, note, wall, durably: this.transactions.durably };
    this.mending = new Mending(shared);
    this.emergency = new Emergency(shared);
    this.marks = new SideMarks({
      ...shared,
      keeper: this.#keeper,
      site: () => this.#site.file,
      bulk: () => this.#bulk.file,
      isMending: (name) => this.mending.isAtWork(name),
      leftOfBulk: () => this.emergency.left,
    });
    this.hold = new Hold({ opened: (name) => this.opened(name), walBytes: (name) => this.walBytes(name) });
    this.alarms = new AlarmLog({ dir: data.dir, mode: data.limits.alarmCopy, note });
  }

  get dir(): string {
    return this.#data.dir;
  }

  /** Throws `state_dir_unusable` or `store_unavailable`; a file of a newer siteward is set aside. */
  open(): { recovery: Recovery; nextOrder: number } {
    makeStateDir(this.dir);
    clearOthers(this.dir, this.#note);
    this.isCareful = this.#keeper.noteStart(this.#data.bootId);
    if (this.isCareful) this.#note('error', 'the third start within two minutes: what can wait is left for later', {});
    // As it was before this start writes its own.
    const side = this.#keeper.side;
    this.#openSite();
    this.#openBulk();
    const found = recover({
      site: this.#site.file,
      bulk: this.#bulk.file,
      path: this.#path('site'),
      side: this.#keeper.side,
      hadStore: side !== undefined,
      epoch: this.#found,
      isMending: this.mending.isAtWork('site'),
      wall: this.wall,
    });
    if (side !== undefined) for (const name of fileNames) this.marks.owe(name, side);
    this.marks.compare();
    attempt(() => this.writeSide());
    return found;
  }

  /** Undefined while the file cannot be used; tries again from time to time. */
  site(): SiteFile | undefined {
    if (this.#site.file === undefined && performance.now() >= this.#site.nextTry) attempt(() => this.#openSite());
    return this.#site.file;
  }

  /**
   * As `site`. Nor before it tells of the one it took the place of: what was written into it earlier would hide the loss, and
   * a verdict would not find the event that counts as lost.
   */
  bulk(): BulkFile | undefined {
    if (this.#bulk.file === undefined && performance.now() >= this.#bulk.nextTry) attempt(() => this.#openBulk());
    this.emergency.putBack(this.#bulk.file);
    return this.emergency.left === undefined ? this.#bulk.file : undefined;
  }

  /** The file if it is open; never tries to open it. */
  opened(name: FileName): SiteFile | BulkFile | undefined {
    return name === 'site' ? this.#site.file : this.#bulk.file;
  }

  /** The newest entry of the audit log, as long as an open `bulk.db` does not know it. */
  get auditNews(): AuditLink | undefined {
    const { file: bulk } = this.#bulk;
    const head = this.auditHead;
    return bulk !== undefined && head !== undefined && head.n > (bulk.auditHead?.n ?? 0) ? head : undefined;
  }

  states(): FileStates {
    const { wal } = this.#sizes.now();
    const work = (name: FileName) => ({ mending: this.mending.isAtWork(name), checking: this.unchecked.has(name) });
    return {
      site: { ...this.#site.state, ...work('site'), walBytes: wal.site },
      bulk: { ...this.#bulk.state, ...work('bulk'), walBytes: wal.bulk },
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
    if (file !== undefined) this.#givenUp.set(name, file.outbox.gaps.givenUp);
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

  /** In an emergency: see `Emergency`. Returns the events lost; undefined when it stays as it is. */
  abandonBulk(): number | undefined {
    const { file } = this.#bulk;
    if (file === undefined) return undefined;
    const lost = this.emergency.take(file, this.mending.unfinished('bulk'));
    if (lost === undefined) return undefined;
    attempt(() => this.writeSide());
    Object.assign(this.#bulk, { file: undefined, nextTry: 0 });
    this.emergency.deleteBulk(file);
    // A full disk may not have taken it before: after a kill just now the next start counts by it.
    attempt(() => this.writeSide());
    this.bulk();
    return lost;
  }

  /** See `SideMarks.write`. */
  writeSide(change: { clean?: true } = {}): void {
    if (this.#found === undefined) return;
    const starts = { boot: this.#data.bootId, uptimes: [] };
    this.marks.write(this.#found, change.clean === true ? { starts } : {});
  }

  /** Checkpoints and closes. `maxSeq` is the last number anybody used. */
  close(maxSeq: number): void {
    for (const name of fileNames) attempt(() => this.follow(name));
    const { file: site } = this.#site;
    this.marks.compare();
    this.mending.close();
    if (site !== undefined) {
      const top = Math.max(maxSeq, site.outbox.maxSeq(), this.#bulk.file?.outbox.maxSeq() ?? 0);
      // A bulk.db that is not open may hold higher numbers; what was set aside stays so.
      if (this.#bulk.file !== undefined) attempt(() => site.release(top));
      attempt(() => this.writeSide({ clean: true }));
    }
    attempt(() => this.alarms.close());
    for (const slot of [this.#site, this.#bulk]) {
      if (slot.file !== undefined) closeQuietly(slot.file, true);
      slot.file = undefined;
    }
  }

  #openSite(damage?: string): void {
    this.#fill(this.#site, 'site', () => {
      const opening = this.#openOne('site', (db) => new SiteFile(db), damage);
      this.#claimEpoch(opening.file, opening.damage !== undefined);
      this.marks.replayed = replayAlarms({
        site: opening.file,
        alarms: this.alarms,
        kept: this.mending.unfinished('site')[0]?.kept,
        dir: this.#data.dir,
        durably: this.transactions.durably,
        note: this.#note,
      });
      this.#knowHead(opening.file, this.auditHead);
      return opening;
    });
  }

  #openBulk(damage?: string): void {
    this.#fill(this.#bulk, 'bulk', () => {
      const opening = this.#openOne('bulk', (db) => new BulkFile(db), damage);
      const { db } = opening.file;
      // The first write of the connection, so that FULL is known to hold before the first event.
      attempt(() => db.prepare("INSERT OR REPLACE INTO meta(k, v) VALUES('boot', ?)").run(this.#data.bootId));
      if (this.#site.file !== undefined) this.#knowHead(this.#site.file, opening.file.auditHead);
      return opening;
    });
  }

  /** The log goes on behind the newest entry anybody knows of. */
  #knowHead(site: SiteFile, known: AuditLink | undefined): void {
    site.audit.adopt(known);
    this.auditHead = site.audit.head;
  }

  #fill<F extends SiteFile | BulkFile>(slot: Slot<F>, name: FileName, open: () => Opening<F>): void {
    try {
      const { file, damage = slot.state.damage } = open();
      this.checkFull(file);
      file.outbox.gaps.adopt(this.#givenUp.get(name) ?? new Map());
      this.#givenUp.delete(name);
      this.#places.note(file);
      slot.file = file;
      slot.state = damage === undefined ? { open: true } : { open: true, damage };
      if (this.mending.isAtWork(name)) this.marks.excuse(name);
    } catch (error) {
      if (error instanceof SitewardError) throw error;
      const reason = describe(error);
      const isNews = slot.state.reason !== reason;
      slot.nextTry = performance.now() + reopenAfterMs;
      slot.state = { ...slot.state, open: false, reason };
      if (isNews) this.#note('error', 'a database file cannot be opened', { file: `${name}.db`, reason });
    }
  }

  #openOne<F extends SiteFile | BulkFile>(
    name: FileName,
    make: (db: SiteFile['db']) => F,
    damage?: string,
  ): Opening<F> {
    const path = this.#path(name);
    clearDatabase(path, this.#note);
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
      const before = beforeOf(file);
      this.marks.note(name, before);
      this.mending.resume(file);
      const kept = before.fresh && !this.mending.isAtWork(name) ? unreadAside(path) : undefined;
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
    this.#givenUp.delete(name);
    crashPoint('salvage.aside');
    const file = make(openDatabase({ path, file: name, maxBytes: this.#data.limits[`${name}Bytes`], check: false }));
    return this.#fillFrom(kept, file, why);
  }

  /** Makes the plan of the salvage: a new file without one means that siteward ended before it was made. */
  #fillFrom<F extends SiteFile | BulkFile>(kept: string, file: F, why: string): Opening<F> {
    const { name } = file;
    const { last: lasts, reserved: top = Number.MAX_SAFE_INTEGER, waiting } = this.#keeper.side ?? {};
    const last = Math.max(this.handed, lasts?.[name] ?? 0);
    const salvageOf = (set: string, own?: typeof waiting) => newSalvage(basename(set), { top, last, waiting: own });
    const unread = () => unreadSets(this.#path(name)).filter((set) => set !== kept);
    const older = this.mending.isAtWork(name) ? this.mending.unfinished(name) : planIn(kept, name);
    // Without its plan an older set is read from its beginning: to send an event twice is harmless.
    this.mending.begin(file, [salvageOf(kept, waiting), ...(older ?? unread().map((set) => salvageOf(set)))]);
    this.unchecked.delete(name);
    const facts = { file: `${name}.db`, kept: basename(kept), reason: why };
    this.#note('error', 'a damaged database file was set aside; what can be read of it is brought back', facts);
    return { file, damage: `${name}.db was damaged (${why}); it is kept as ${basename(kept)}` };
  }

  #claimEpoch(site: SiteFile, damaged: boolean): void {
    const [found, carried] = [this.#found, this.#carried];
    this.#found = claimEpoch({
      ...{ site, damaged, found, carried },
      keeper: this.#keeper,
      bootId: this.#data.bootId,
      durably: this.transactions.durably,
    });
    this.#carried = undefined;
  }

  #path(name: FileName): string {
    return join(this.#data.dir, `${name}.db`);
  }
}

import { closeSync, openSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { Files } from './files.ts';
import type { StoreLimits } from './limits.ts';
import type { FileName, StoreRequest, Trimmed } from './protocol.ts';
import { Reserve } from './reserve.ts';
import type { SiteFile } from './site-file.ts';
import type { StorageLevel, StorageState } from './types.ts';

/** Rows that give way in one transaction at most, so that an alarm waits for one of them only. */
const chunk = 100;
const chunksAtOnce = 8;
const pageBytes = 4096;
const mib = 1024 ** 2;
/** `bulk.db` keeps at least so much room of its own on a nearly full disk. */
const bulkFloorPages = 2048;
/** Room that no file may grow into on a full disk: the log needs it, or nothing can be deleted any more. */
const keptForLog = 1 * mib;
/** Pages; less is no reason to try a write again. */
const leastGrowth = 16;
/** Pages in the log before they are moved to the file: on a full disk they can be moved only into the reserve. */
const logPages: Readonly<Record<SpaceLevel, number>> = { ok: 1000, soft: 100, hard: 100, full: 32 };
/** Pages of a file that are in its log alone, before the disk is looked at out of turn; half of what the reserve holds. */
const unmovedPagesMost = 128;
const lookAgainMs = 100;
const smallDisk = 1024 * mib;
/** Free pages a file has for what comes, while history still pays for it. */
const roomBytes = 8 * mib;
/** A file is written anew, smaller, only while what lives in it is small. */
const shrinkLivePages = 2048;
const shrinkGainPages = 256;
const shrinkAgainMs = 60_000;

const activity = lanes.indexOf('activity');

/** Nothing undelivered may give way for it: a settlement, a note of a room. */
const nothing = lanes.length;

export interface Space {
  readonly free: number;
  readonly total: number;
}

type SpaceLevel = 'ok' | 'soft' | 'hard' | 'full';
const spaceLevels: readonly SpaceLevel[] = ['full', 'hard', 'soft'];

/**
 * Below these bytes a level begins. On a large disk a share of it would be absurdly much and on a small one a fixed
 * amount would be all of it, so that each is bounded by both.
 */
export function thresholds(total: number): Readonly<Record<'soft' | 'hard' | 'full', number>> {
  return {
    soft: Math.min(Math.max(0.15 * total, 512 * mib), 2048 * mib, 0.25 * total),
    hard: Math.min(Math.max(0.05 * total, 128 * mib), 512 * mib, 0.1 * total),
    full: Math.min(8 * mib, total / 32),
  };
}

/** A level ends a tenth above where it begins, so that it does not flap. */
export function spaceLevel({ free, total }: Space, before: SpaceLevel): SpaceLevel {
  const limits = thresholds(total);
  for (const level of spaceLevels) {
    if (level === 'ok') break;
    const isHeld = before !== 'ok' && spaceLevels.indexOf(before) <= spaceLevels.indexOf(level);
    if (free < limits[level] * (isHeld ? 1.1 : 1)) return level;
  }
  return 'ok';
}

/** The most important lane in a group of writes: only lanes of its rank and below may give way for it. */
export function importance(requests: Iterable<StoreRequest>): number {
  let found: number = nothing;
  for (const request of requests) {
    if (request.op !== 'commit') continue;
    const [, , site, bulk, arming, state] = request.commit;
    for (const row of site ?? []) found = Math.min(found, row[1]);
    if (arming !== null) found = Math.min(found, lanes.indexOf('arming'));
    if (bulk !== null || state !== null) found = Math.min(found, activity);
  }
  return found;
}

/**
 * Watches the disk under the state directory and says what gives way on it: history first, then the input log and
 * waiting activity, then troubles, arming, and of the alarms only the middle of a long line. Undelivered events go
 * only when a write does not fit, and each loss is counted in the transaction that makes it.
 */
export class Pressure {
  readonly #options: PressureOptions;
  readonly #reserve: Reserve;
  #space: Space | undefined;
  #spaceLevel: SpaceLevel = 'ok';
  #fullSince: number | undefined;
  #faults = new Map<FileName, { level: 'readonly' | 'failing'; at: number; over: boolean }>();
  #shrinkAfter = 0;
  #lookAgainAt = 0;
  #siteBound = Number.POSITIVE_INFINITY;
  #capped: { level: SpaceLevel; site: SiteFile | undefined; bulk: BulkFile | undefined } | undefined;

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#reserve = new Reserve(options.dir);
  }

  get state(): StorageState {
    return {
      level: this.#level(),
      freeBytes: this.#space?.free,
      totalBytes: this.#space?.total,
      reserveBytes: this.#reserve.bytes,
    };
  }

  /** Before the files are opened: a disk that is full already must not keep them from it. */
  start(): void {
    this.#look();
    if (this.#spaceLevel === 'full') this.#reserve.release();
  }

  /** From time to time: looks at the disk, and tries a write where the last one failed and nobody else does. */
  tend(): void {
    this.#look();
    this.#cap();
    this.#makeReserve();
    for (const [name, fault] of this.#faults) {
      if (!fault.over) this.#probe(name);
      else if (performance.now() - fault.at >= this.#options.limits.lookEveryMs) this.#faults.delete(name);
    }
  }

  wrote(file: SiteFile | BulkFile): void {
    const fault = this.#faults.get(file.name);
    if (fault !== undefined && !fault.over) this.#faults.set(file.name, { ...fault, over: true });
    this.#watchLog(file);
  }

  /**
   * A log has room of its own from earlier, so that writes go on for a while on a full disk, and what they add to the
   * file cannot be moved into it. More than the reserve can take must not gather: nothing could be deleted any more.
   */
  #watchLog(file: SiteFile | BulkFile): void {
    const now = performance.now();
    if (now < this.#lookAgainAt || unmovedPages(file) <= unmovedPagesMost) return;
    this.#lookAgainAt = now + lookAgainMs;
    this.#look();
    this.#cap();
    if (this.#spaceLevel === 'full') this.#release();
  }

  /** `code` is SQLite's, or our own where the file is not open. */
  failed(name: FileName, code: string): void {
    if (code.startsWith('SQLITE_FULL')) {
      this.#look();
      return;
    }
    if (!/^(SQLITE_(READONLY|IOERR|CANTOPEN|CORRUPT|NOTADB)|store_unavailable)/.test(code)) return;
    const level = code.startsWith('SQLITE_READONLY') || isReadOnly(this.#options.dir) ? 'readonly' : 'failing';
    this.#faults.set(name, { level, at: performance.now(), over: false });
  }

  /**
   * After a write of `file` that did not fit: one thing gives way. False when nothing may. `rank` comes from
   * `importance`.
   */
  makeRoom(file: SiteFile | BulkFile, rank: number): boolean {
    this.#look();
    const isLow = this.#spaceLevel === 'hard' || this.#spaceLevel === 'full';
    const released = this.#spaceLevel === 'full' && this.#release();
    const mayGrow = this.#cap();
    // The reserve is for alarms too; what pays for it afterwards goes in the background.
    if (file.name === 'site' && (released || mayGrow)) return true;
    if (this.#trim(file, 'history')) return true;
    if (file.name === 'bulk') return this.#trim(file, 'inputs') || this.#evict(file, activity, rank);
    if (isLow && this.#bulkYields(rank)) {
      this.#look();
      this.#cap();
      return true;
    }
    if (isLow && !this.#mediaHadTime()) return false;
    for (let lane = activity - 1; lane >= 0; lane -= 1) if (this.#evict(file, lane, rank)) return true;
    return false;
  }

  /** One chunk of what gives way without a loss; true when there is more to do. */
  sweep(): boolean {
    if (this.#spaceLevel === 'ok') return false;
    const { files } = this.#options;
    const low = this.#spaceLevel !== 'soft';
    for (const file of [files.bulk(), files.site()]) {
      if (file === undefined || (!low && freePages(file) * pageBytes >= this.#room())) continue;
      if (this.#trim(file, 'history') || (low && file.name === 'bulk' && this.#trim(file, 'inputs'))) return true;
    }
    const bulk = files.bulk();
    if (low && bulk !== undefined && this.#shrink(bulk)) this.#look();
    return false;
  }

  close(): Promise<void> {
    return this.#reserve.close();
  }

  #level(): StorageLevel {
    const levels = [...this.#faults.values()].map(({ level }) => level);
    if (levels.includes('readonly')) return 'readonly';
    return levels.length > 0 ? 'failing' : this.#spaceLevel;
  }

  #look(): void {
    this.#space = this.#options.space?.() ?? spaceOf(this.#options.dir);
    if (this.#space === undefined) return;
    this.#spaceLevel = spaceLevel(this.#space, this.#spaceLevel);
    if (this.#spaceLevel !== 'full') this.#fullSince = undefined;
    else this.#fullSince ??= performance.now();
  }

  #mediaHadTime(): boolean {
    return performance.now() - (this.#fullSince ?? 0) >= this.#options.limits.mediaGraceMs;
  }

  #room(): number {
    return Math.min(roomBytes, (this.#space?.total ?? 0) / 64);
  }

  #makeReserve(): void {
    if (this.#space === undefined || this.#spaceLevel === 'full') return;
    const { free, total } = this.#space;
    const bytes = Math.min(this.#options.limits.reserveBytes, Math.floor(total / 16 / pageBytes) * pageBytes);
    if (bytes > 0 && free - bytes >= 1.5 * thresholds(total).full) this.#reserve.make(bytes);
  }

  /** The logs are emptied with the room that becomes free: full of what cannot be moved they would take no deletion. */
  #release(): boolean {
    if (!this.#reserve.release()) return false;
    const { files } = this.#options;
    for (const file of [files.site(), files.bulk()]) {
      if (file !== undefined) attempt(() => file.db.pragma('wal_checkpoint(RESTART)'));
    }
    this.#look();
    // Read again below the threshold or not: until the reserve is whole again the disk counts as full.
    this.#spaceLevel = 'full';
    return true;
  }

  /**
   * From `hard` on `bulk.db` grows no more: what room is left is for alarms, and `site.db` grows only into what
   * is left but for the log's part; a file that has met such a bound can still delete, a full disk cannot. True when
   * `site.db` may grow further than before.
   */
  #cap(): boolean {
    const level = this.#spaceLevel;
    const [site, bulk] = [this.#options.files.site(), this.#options.files.bulk()];
    const isSame = this.#capped?.level === level && this.#capped.site === site && this.#capped.bulk === bulk;
    const isLow = level === 'hard' || level === 'full';
    if (isSame && !isLow) return false;
    this.#capped = { level, site, bulk };
    const { siteBytes, bulkBytes } = this.#options.limits;
    const { free, total } = this.#space ?? { free: 0, total: 0 };
    const log = Math.min(logPages[level], total < smallDisk ? logPages.soft : logPages.ok);
    if (bulk !== undefined && !isSame) {
      const most = bulkBytes / pageBytes;
      const floor = level === 'full' ? 0 : bulkFloorPages;
      bound(bulk, log, isLow ? Math.min(most, Math.max(pages(bulk), floor)) : most);
    }
    if (site === undefined) return false;
    const before = this.#siteBound;
    const room = Math.max(0, free - Math.min(keptForLog, total / 20)) / pageBytes;
    this.#siteBound = isLow ? Math.min(siteBytes / pageBytes, pages(site) + room) : siteBytes / pageBytes;
    bound(site, log, this.#siteBound);
    return this.#siteBound >= before + leastGrowth;
  }

  #probe(name: FileName): void {
    const { files, transact } = this.#options;
    const file = name === 'site' ? files.site() : files.bulk();
    if (file === undefined) return;
    const write = () => file.db.prepare("INSERT OR REPLACE INTO meta(k, v) VALUES('probe', ?)").run(String(Date.now()));
    if (!attempt(() => transact(file, write))) {
      this.failed(name, 'SQLITE_IOERR');
      files.reopen(name);
    }
  }

  #trim(file: SiteFile | BulkFile, what: 'history' | 'inputs'): boolean {
    let gone = 0;
    const done = attempt(() =>
      this.#options.transact(file, () => {
        if (what === 'history') gone = file.outbox.trimHistory(0, chunk);
        else if (file.name === 'bulk') gone = file.trimInputs(0, chunk * 4);
      }),
    );
    if (!done) {
      // Not even a deletion fits: that is what the reserve is for.
      if (this.#spaceLevel !== 'full' || !this.#release()) return false;
      this.#cap();
      return this.#trim(file, what);
    }
    this.#options.trimmed(what, gone);
    return gone > 0;
  }

  #evict(file: SiteFile | BulkFile, lane: number, rank: number): boolean {
    if (lane < rank) return false;
    const keep = lane === lanes.indexOf('alarm') ? this.#options.limits.keepAlarms : 0;
    let gone = 0;
    const done = attempt(() =>
      this.#options.transact(file, () => {
        gone = file.outbox.evict(lane, chunk, { keep, at: Date.now() });
      }),
    );
    if (!done || gone === 0) return false;
    if (lane === activity) this.#options.trimmed('activity', gone);
    return true;
  }

  /** Pages of one file are no use to the other until it is written anew, smaller. */
  #bulkYields(rank: number): boolean {
    const bulk = this.#options.files.bulk();
    if (bulk === undefined) return false;
    for (let times = 0; times < chunksAtOnce; times += 1) {
      if (this.#shrink(bulk)) return true;
      if (this.#trim(bulk, 'history') || this.#trim(bulk, 'inputs')) continue;
      if (!this.#evict(bulk, activity, rank)) return this.#shrink(bulk);
    }
    return true;
  }

  /** True when the disk has more room than before. */
  #shrink(bulk: BulkFile): boolean {
    const free = freePages(bulk);
    const live = pages(bulk) - free;
    if (free < shrinkGainPages || live > Math.min(free / 2, shrinkLivePages)) return false;
    if (performance.now() < this.#shrinkAfter) return false;
    // The log goes first: the new copy is written into it and needs its room.
    attempt(() => bulk.db.pragma('wal_checkpoint(TRUNCATE)'));
    const isSmaller = attempt(() => bulk.db.exec('VACUUM'));
    // It keeps its length this time: the next deletion must not need a free block for it.
    attempt(() => bulk.db.pragma('wal_checkpoint(RESTART)'));
    if (!isSmaller) this.#shrinkAfter = performance.now() + shrinkAgainMs;
    return isSmaller;
  }
}

export interface PressureOptions {
  readonly dir: string;
  readonly files: Pick<Files, 'site' | 'bulk' | 'reopen'>;
  readonly limits: StoreLimits;
  /** One durable transaction; throws when it did not succeed, with everything undone. */
  readonly transact: (file: SiteFile | BulkFile, apply: () => void) => void;
  readonly trimmed: (what: Trimmed, count: number) => void;
  /** For tests: instead of the file system's own figures. */
  readonly space?: () => Space | undefined;
}

function spaceOf(dir: string): Space | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(dir);
    return { free: bavail * bsize, total: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** Only a new file tells: a file system that met an error refuses it and still calls itself writable. */
function isReadOnly(dir: string): boolean {
  const path = join(dir, 'probe');
  try {
    closeSync(openSync(path, 'w', 0o600));
    rmSync(path, { force: true });
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS';
  }
}

const pages = (file: SiteFile | BulkFile): number => Number(file.db.pragma('page_count', { simple: true }));
const unmovedPages = (file: SiteFile | BulkFile): number =>
  pages(file) - (statSync(file.db.name, { throwIfNoEntry: false })?.size ?? 0) / pageBytes;
const freePages = (file: SiteFile | BulkFile): number => Number(file.db.pragma('freelist_count', { simple: true }));

function bound(file: SiteFile | BulkFile, log: number, most: number): void {
  attempt(() => file.db.pragma(`max_page_count = ${Math.floor(most)}`));
  attempt(() => file.db.pragma(`wal_autocheckpoint = ${log}`));
}

/** For steps that a sick disk refuses; whoever needed them meets the same disk and reports it. */
function attempt(step: () => unknown): boolean {
  try {
    step();
    return true;
  } catch {
    return false;
  }
}

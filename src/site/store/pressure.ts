import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { Files } from './files.ts';
import { type FileName, laneIndex } from './lanes.ts';
import type { StoreLimits } from './limits.ts';
import { evAt, type StoreRequest, type Trimmed } from './protocol.ts';
import { attempt, succeeds } from './quiet.ts';
import { Reserve } from './reserve.ts';
import type { SiteFile } from './site-file.ts';
import {
  freePages,
  isDirReadOnly,
  isNearBound,
  mib,
  pageBytes,
  pages,
  type Space,
  type SpaceLevel,
  spaceLevel,
  spaceOf,
  thresholds,
  unmovedPages,
} from './space.ts';
import type { Durably } from './transactions.ts';
import type { StorageLevel, StorageState } from './types.ts';
import { Yielding } from './yielding.ts';

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
/** A refusal that lasts so long is believed, whatever the file system says of its room (a quota). */
const refusedMs = 2000;
const smallDisk = 1024 * mib;
/** Free pages a file has for what comes, while history still pays for it. */
const roomBytes = 8 * mib;

const activity = laneIndex('activity');

/** Nothing undelivered may give way for it: a settlement, a note of a room. */
const nothing = lanes.length;

/** The most important lane in a group of writes: only lanes of its rank and below may give way for it. */
export function importance(requests: Iterable<StoreRequest>): number {
  let found: number = nothing;
  for (const request of requests) {
    // What an alarm says aloud is written down first.
    if (request.op === 'setPlaybacks' && request.alarm) found = Math.min(found, laneIndex('arming'));
    if (request.op !== 'commit') continue;
    const { site, bulk, arming, state, verifications } = request.commit;
    for (const [ev] of site ?? []) found = Math.min(found, ev[evAt.lane]);
    // Somebody asks or says whether an alarm is real: not an alarm, but worth more than a trouble.
    if (arming !== null || verifications !== null) found = Math.min(found, laneIndex('arming'));
    if (bulk !== null || state !== null) found = Math.min(found, activity);
  }
  return found;
}

/**
 * Watches the disk under the state directory and says what gives way on it: history first, then the input log and
 * waiting activity, pictures of all but alarms, troubles, pictures of alarms, arming, and of the alarms only the middle
 * of a long line. Undelivered events go only when a write does not fit, and each loss is counted in the transaction that
 * makes it.
 */
export class Pressure {
  readonly #options: PressureOptions;
  readonly #reserve: Reserve;
  readonly #yielding: Yielding;
  #space: Space | undefined;
  #spaceLevel: SpaceLevel = 'ok';
  #faults = new Map<FileName, { level: 'readonly' | 'failing'; at: number; over: boolean }>();
  #lookAgainAt = 0;
  /** Since when writes do not fit although nothing tells why; monotonic. */
  #refusedSince: number | undefined;
  #siteBound = Number.POSITIVE_INFINITY;
  #capped: { level: SpaceLevel; site: SiteFile | undefined; bulk: BulkFile | undefined } | undefined;

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#reserve = new Reserve(options.dir);
    const relief = () => {
      if (this.#spaceLevel !== 'full' || !this.#release()) return false;
      this.#cap();
      return true;
    };
    this.#yielding = new Yielding({ ...options, relief });
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
    this.#refusedSince = undefined;
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
    const level = code.startsWith('SQLITE_READONLY') || isDirReadOnly(this.#options.dir) ? 'readonly' : 'failing';
    this.#faults.set(name, { level, at: performance.now(), over: false });
  }

  /** The file no longer lay at its path. `isMended`: it does again, with all it held. */
  moved(name: FileName, isMended: boolean): void {
    this.#reserve.look();
    const level = !isMended && isDirReadOnly(this.#options.dir) ? 'readonly' : 'failing';
    this.#faults.set(name, { level, at: performance.now(), over: isMended });
  }

  /**
   * After a write of `file` that did not fit: one thing gives way. False when nothing may. `rank` comes from
   * `importance`.
   */
  makeRoom(file: SiteFile | BulkFile, rank: number): boolean {
    this.#look();
    const isLow = this.#isLow();
    const released = this.#spaceLevel === 'full' && this.#release();
    const mayGrow = this.#cap();
    // The reserve is for alarms too; what pays for it afterwards goes in the background.
    if (file.name === 'site' && (released || mayGrow)) return true;
    if (this.#yielding.trim(file, 'history') === 'done') return true;
    // A disk with room that refuses one write may take the next: no event is lost for that.
    this.#refusedSince ??= performance.now();
    const isNear = isNearBound(file);
    const isFull = isLow || (!isNear && performance.now() - this.#refusedSince >= refusedMs);
    if (file.name === 'bulk') {
      if (this.#yielding.trim(file, 'inputs') === 'done') return true;
      return (isFull || isNear) && this.#yielding.evict(file, activity, rank) === 'done';
    }
    if (isFull && this.#yielding.bulkYields(rank)) {
      this.#look();
      this.#cap();
      return true;
    }
    return (isFull || isNear) && this.#yielding.siteYields(file, rank, isFull);
  }

  /**
   * One chunk of what gives way before a write has to fail; true when there is more to do. Pictures are the last of it:
   * a few each time the disk is looked at, those of alarms only on a full one.
   */
  sweep(): boolean {
    if (this.#spaceLevel === 'ok') return false;
    const { files } = this.#options;
    const low = this.#spaceLevel !== 'soft';
    for (const file of [files.bulk(), files.site()]) {
      if (file === undefined || (!low && freePages(file) * pageBytes >= this.#room())) continue;
      if (this.#yielding.trim(file, 'history') === 'done') return true;
      if (low && file.name === 'bulk' && this.#yielding.trim(file, 'inputs') === 'done') return true;
    }
    const bulk = files.bulk();
    if (low && bulk !== undefined && this.#yielding.shrink(bulk)) this.#look();
    if (this.#isLow()) this.#yielding.picturesYield({ alarms: this.#spaceLevel === 'full' });
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
    if (this.#space !== undefined) this.#spaceLevel = spaceLevel(this.#space, this.#spaceLevel);
  }

  #isLow(): boolean {
    return this.#spaceLevel === 'hard' || this.#spaceLevel === 'full';
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
      this.#bound(bulk, log, isLow ? Math.min(most, Math.max(pages(bulk), floor)) : most);
    }
    if (site === undefined) return false;
    const before = this.#siteBound;
    const room = Math.max(0, free - Math.min(keptForLog, total / 20)) / pageBytes;
    this.#siteBound = isLow ? Math.min(siteBytes / pageBytes, pages(site) + room) : siteBytes / pageBytes;
    this.#bound(site, log, this.#siteBound);
    return this.#siteBound >= before + leastGrowth;
  }

  #bound(file: SiteFile | BulkFile, log: number, most: number): void {
    attempt(() => file.db.pragma(`max_page_count = ${Math.floor(most)}`));
    attempt(() => this.#options.files.hold.setLog(file, log));
  }

  #probe(name: FileName): void {
    const { files, durably, wall } = this.#options;
    const file = name === 'site' ? files.site() : files.bulk();
    if (file === undefined) return;
    const write = () => file.db.prepare("INSERT OR REPLACE INTO meta(k, v) VALUES('probe', ?)").run(String(wall()));
    if (!succeeds(() => durably(file, write))) {
      this.failed(name, 'SQLITE_IOERR');
      if (this.#faults.get(name)?.level !== 'readonly') files.reopen(name);
    }
  }
}

interface PressureOptions {
  readonly dir: string;
  readonly files: Pick<Files, 'site' | 'bulk' | 'hold' | 'reopen' | 'abandonBulk' | 'dir'>;
  readonly limits: StoreLimits;
  readonly durably: Durably;
  /** Wall clock, milliseconds. */
  readonly wall: () => number;
  readonly trimmed: (what: Trimmed, count: number) => void;
  /** For tests: instead of the file system's own figures. */
  readonly space?: () => Space | undefined;
}

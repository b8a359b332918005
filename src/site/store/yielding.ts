import { join } from 'node:path';
import type { BulkFile } from './bulk-file.ts';
import type { Files } from './files.ts';
import { fileNames, laneIndex } from './lanes.ts';
import type { StoreLimits } from './limits.ts';
import type { Trimmed } from './protocol.ts';
import { removeRead, unreadSets } from './quarantine.ts';
import { succeeds } from './quiet.ts';
import type { SiteFile } from './site-file.ts';
import { freePages, pages } from './space.ts';
import type { Durably } from './transactions.ts';

/** Rows that give way in one transaction at most, so that an alarm waits for one of them only. */
const chunk = 100;
const chunksAtOnce = 8;
/** Pictures given up in one transaction, and how long their room may take to come, milliseconds. */
const picturesAtOnce = 40;
const picturesGoMs = 250;
/** A file is written anew, smaller, only while what lives in it is small. */
const shrinkLivePages = 2048;
const shrinkGainPages = 256;
const shrinkAgainMs = 60_000;
/** A `bulk.db` without events is no smaller than this and gains nothing by being made anew. */
const emptyPages = 64;

const activity = laneIndex('activity');
const trouble = laneIndex('trouble');

/** `failed`: the disk did not even take that; whatever is worth more must not go in its place. */
type Outcome = 'done' | 'none' | 'failed';

export interface YieldingOptions {
  readonly files: Pick<Files, 'site' | 'bulk' | 'abandonBulk' | 'dir'>;
  readonly limits: StoreLimits;
  readonly durably: Durably;
  /** Wall clock, milliseconds. */
  readonly wall: () => number;
  readonly trimmed: (what: Trimmed, count: number) => void;
  /** Not even a deletion fits: gives the reserve back; false when that is no way out. */
  readonly relief: () => boolean;
}

/** The steps by which things give way. Each is a short transaction that counts its own losses. */
export class Yielding {
  readonly #options: YieldingOptions;
  #shrinkAfter = 0;
  #picturesGoUntil = 0;

  constructor(options: YieldingOptions) {
    this.#options = options;
  }

  /** What costs nobody an undelivered event. */
  trim(file: SiteFile | BulkFile, what: 'history' | 'inputs'): Outcome {
    let gone = 0;
    const apply = () => {
      if (what === 'history') gone = file.outbox.trimHistory(0, chunk);
      else if (file.name === 'bulk') gone = file.trimInputs(0, chunk * 4);
    };
    if (!this.#doneOrRelieved(file, apply)) return 'failed';
    this.#options.trimmed(what, gone);
    return gone > 0 ? 'done' : 'none';
  }

  /** Undelivered events of a lane. Only what is worth no more than `rank` may give way. */
  evict(file: SiteFile | BulkFile, lane: number, rank: number): Outcome {
    if (lane < rank) return 'none';
    const keep = lane === laneIndex('alarm') ? this.#options.limits.keepAlarms : 0;
    let gone = 0;
    const apply = () => {
      gone = file.outbox.evict(lane, chunk, { keep, at: this.#options.wall() });
    };
    if (!this.#done(file, apply)) return 'failed';
    if (lane === activity) this.#options.trimmed('activity', gone);
    return gone > 0 ? 'done' : 'none';
  }

  /**
   * Everything in `bulk.db` goes before anything of worth in `site.db` does, if need be the file as a whole: pages of
   * one file are no use to the other until it is written anew, and a full disk may not even take a deletion.
   */
  bulkYields(rank: number): boolean {
    const { dir } = this.#options.files;
    const removed = fileNames.filter((name) => removeRead(join(dir, `${name}.db`)));
    if (removed.length > 0) return true;
    const bulk = this.#options.files.bulk();
    for (let times = 0; bulk !== undefined && times < chunksAtOnce; times += 1) {
      if (this.shrink(bulk)) return true;
      const outcome = this.#bulkStep(bulk, rank);
      if (outcome === 'failed') break;
      if (outcome === 'none') return this.shrink(bulk) || (this.#isWorthIt(bulk) && this.#abandon(rank));
      if (times === chunksAtOnce - 1) return true;
    }
    return this.#abandon(rank);
  }

  /** Also a small one, while activity waits in a damaged file beside it that is not read to its end. */
  #isWorthIt(bulk: BulkFile): boolean {
    return pages(bulk) > emptyPages || unreadSets(bulk.db.name).length > 0;
  }

  #bulkStep(bulk: BulkFile, rank: number): Outcome {
    for (const what of ['history', 'inputs'] as const) {
      const outcome = this.trim(bulk, what);
      if (outcome !== 'none') return outcome;
    }
    return this.evict(bulk, activity, rank);
  }

  /** Only for what `site.db` holds for good reason. */
  #abandon(rank: number): boolean {
    if (rank >= activity) return false;
    const gone = this.#options.files.abandonBulk();
    if (gone !== undefined) this.#options.trimmed('activity', gone);
    return gone !== undefined;
  }

  /**
   * When nothing of less worth is left: pictures of all but alarms, troubles, clips of alarms, their snapshots, arming,
   * then alarms. `picturesCount`: false where `site.db` itself is full and not the disk.
   */
  siteYields(site: SiteFile, rank: number, picturesCount: boolean): boolean {
    for (let lane = trouble; lane >= 0; lane -= 1) {
      // Their room comes when the files are gone, a moment later: the write is repeated then.
      if (picturesCount && rank <= lane && this.picturesYield({ alarms: lane < trouble }) !== 'none') return false;
      const outcome = this.evict(site, lane, rank);
      if (outcome !== 'none') return outcome === 'done';
    }
    return false;
  }

  /** Some pictures that wait to be uploaded; more only when the files of the last had time to go. */
  picturesYield({ alarms }: { alarms: boolean }): Outcome {
    if (performance.now() < this.#picturesGoUntil) return 'done';
    const { files, wall, trimmed } = this.#options;
    for (const file of [files.bulk(), files.site()]) {
      if (file === undefined) continue;
      let gone = { all: 0, shown: 0 };
      const apply = () => {
        gone = file.outbox.giveUpPictures({ most: picturesAtOnce, alarms, at: wall() });
      };
      if (!this.#doneOrRelieved(file, apply)) return 'failed';
      if (gone.all === 0) continue;
      trimmed('pictures', gone.shown);
      this.#picturesGoUntil = performance.now() + picturesGoMs;
      return 'done';
    }
    return 'none';
  }

  /** Writes the file anew; true when the disk has more room than before. */
  shrink(bulk: BulkFile): boolean {
    const free = freePages(bulk);
    const live = pages(bulk) - free;
    if (free < shrinkGainPages || live > Math.min(free / 2, shrinkLivePages)) return false;
    if (performance.now() < this.#shrinkAfter) return false;
    // The log goes first: the new copy is written into it and needs its room.
    succeeds(() => bulk.db.pragma('wal_checkpoint(TRUNCATE)'));
    const isSmaller = succeeds(() => bulk.db.exec('VACUUM'));
    // It keeps its length this time: the next deletion must not need a free block for it.
    succeeds(() => bulk.db.pragma('wal_checkpoint(RESTART)'));
    if (!isSmaller) this.#shrinkAfter = performance.now() + shrinkAgainMs;
    return isSmaller;
  }

  #doneOrRelieved(file: SiteFile | BulkFile, apply: () => void): boolean {
    return this.#done(file, apply) || (this.#options.relief() && this.#done(file, apply));
  }

  #done(file: SiteFile | BulkFile, apply: () => void): boolean {
    return succeeds(() => this.#options.durably(file, apply));
  }
}

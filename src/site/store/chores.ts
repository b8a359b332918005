import type { BulkFile } from './bulk-file.ts';
import type { Files } from './files.ts';
import { evColumns } from './insert.ts';
import { type FileName, fileNames } from './lanes.ts';
import { type EvValues, evAt, type WireMedia, type WireRow } from './protocol.ts';
import type { SiteFile } from './site-file.ts';
import { isDamage, isFileFault } from './sqlite.ts';
import { Walk } from './walk.ts';

/** An alarm waits for one slice at most, and for the disk. */
const sliceMs = 8;
/** Between two slices; the thread is free for at least as long as the slice took. */
const pauseMs = 5;
const idleMs = 1000;
const failedMs = 5000;
/** The side file is written anew after so many events. */
const sideEvents = 1000;
/** Whether the files still lie at their paths; a copy that failed is tried again after the longer time. */
const followMs = 2000;
const followAgainMs = 30_000;
const quietWalBytes = 1024 ** 2;

/**
 * What the store does between commits, a slice at a time: it brings back what a damaged file held, reads files that were not checked
 * at start, keeps the side file and the second copy of the alarms up to date, and empties the log of a file that rests.
 */
export class Chores {
  readonly #files: Files;
  readonly #failed: (error: unknown, name: FileName) => void;
  readonly #walks = new Map<FileName, Walk>();
  #notBefore: Record<FileName, number>;
  #lastWork = performance.now();
  readonly #follow: (name: FileName) => boolean;
  readonly #restAfterMs: number;
  #followAt = 0;

  /**
   * `follow` looks whether a file still lies at its path; false when it cannot be brought there again. `failed` is told
   * of an error that makes a connection worthless, before the file is opened again.
   */
  constructor(options: {
    files: Files;
    /** See `StoreLimits`. */
    carefulMs: number;
    restAfterMs: number;
    follow: (name: FileName) => boolean;
    failed: (error: unknown, name: FileName) => void;
  }) {
    this.#files = options.files;
    this.#follow = options.follow;
    this.#failed = options.failed;
    this.#restAfterMs = options.restAfterMs;
    const start = options.files.isCareful ? performance.now() + options.carefulMs : 0;
    this.#notBefore = { site: start, bulk: start };
  }

  /** Somebody wrote something. */
  touch(): void {
    this.#lastWork = performance.now();
  }

  /** Does one slice; returns after how many milliseconds the next is due. */
  step(): number {
    const began = performance.now();
    if (began >= this.#followAt) this.#keepPlace(began);
    this.#files.hold.look();
    for (const name of fileNames) {
      const file = this.#files.opened(name);
      if (file === undefined || began < this.#notBefore[name]) continue;
      if (this.#attempt(name, () => this.#slice(file, began + sliceMs))) {
        return Math.max(pauseMs, performance.now() - began);
      }
    }
    this.#files.alarms.sync();
    this.#attempt('site', () => this.#keepCopies());
    for (const name of fileNames) this.#attempt(name, () => this.#rest(name, began));
    return idleMs;
  }

  /** True when there was something to do. */
  #slice(file: SiteFile | BulkFile, until: number): boolean {
    const { mending, unchecked } = this.#files;
    if (mending.isAtWork(file.name)) {
      mending.step(file, until);
      return true;
    }
    if (!unchecked.has(file.name)) return false;
    const walk = this.#walks.get(file.name) ?? new Walk(file.db, file.name);
    this.#walks.set(file.name, walk);
    if (walk.step(until)) {
      unchecked.delete(file.name);
      this.#walks.delete(file.name);
    }
    return true;
  }

  #keepPlace(now: number): void {
    let wait = followMs;
    for (const name of fileNames) {
      const before = this.#files.opened(name);
      this.#attempt(name, () => {
        if (!this.#follow(name)) wait = followAgainMs;
      });
      if (this.#files.opened(name) !== before) this.#walks.delete(name);
    }
    this.#files.alarms.follow();
    this.#followAt = now + wait;
  }

  #keepCopies(): void {
    this.#files.marks.compare();
    const site = this.#files.opened('site');
    if (site === undefined) return;
    if (this.#files.marks.since >= sideEvents) this.#files.writeSide();
    const { alarms, mending } = this.#files;
    if ((alarms.bytes === 0 && !alarms.wantsRewrite) || mending.isAtWork('site')) return;
    const waits = site.db.prepare('SELECT 1 FROM pend WHERE lane = 0 LIMIT 1').get() !== undefined;
    if (!waits) alarms.clear();
    else if (alarms.wantsRewrite) alarms.rewrite(waitingAlarms(site));
  }

  #rest(name: FileName, now: number): void {
    const file = this.#files.opened(name);
    if (file === undefined || now - this.#lastWork < this.#restAfterMs || this.#files.hold.isOn(name)) return;
    if (this.#files.walBytes(name) > quietWalBytes) file.db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** True when there was something to do, or the file was opened again. */
  #attempt(name: FileName, work: () => unknown): boolean {
    try {
      return work() === true;
    } catch (error) {
      this.#notBefore[name] = performance.now() + failedMs;
      this.#walks.delete(name);
      if (!isFileFault(error)) return false;
      if (isDamage(error)) this.#notBefore[name] = 0;
      this.#failed(error, name);
      return true;
    }
  }
}

/** Newest first, each with its pictures as they were planned: one that lies in the spool finds its row again. */
function* waitingAlarms({ db }: SiteFile | BulkFile): Generator<WireRow> {
  const sql = `SELECT ${evColumns} FROM ev WHERE seq IN (SELECT seq FROM pend WHERE lane = 0) ORDER BY seq DESC`;
  const planned = db.prepare<[number], WireMedia>('SELECT idx, kind, camera, offset_ms FROM media WHERE seq = ?').raw();
  for (const ev of db.prepare<[], EvValues>(sql).raw().iterate()) {
    const media = planned.all(ev[evAt.seq]);
    yield [ev, true, media.length === 0 ? null : media];
  }
}

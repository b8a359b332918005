import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Health } from '#lib/health.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import type { ArmingRecord, AuditEntry, MediaUpdate, PlaybackRow } from '#site/model/index.ts';
import { chainWalk, readAuditEntry } from './audit-chain.ts';
import type { AuditLink, AuditSlice, AuditVerdict } from './audit-types.ts';
import { type StoreEvidence, storeHealth } from './health.ts';
import { LeftLosses } from './left-losses.ts';
import { defaultLimits, type StoreLimits } from './limits.ts';
import { type StoreMetrics, storeMetrics } from './metrics.ts';
import { perFile } from './per-file.ts';
import { playbackBytes } from './playback-row.ts';
import type { Report, StoreAnswers, StoreCall } from './protocol.ts';
import { RequestQueue } from './queue.ts';
import { type RoomMemory, roomMemory } from './room-memory.ts';
import { failureError, notRunning, type Opened, StoreThread } from './thread.ts';
import type {
  Anchor,
  Commit,
  EventAt,
  EventRecord,
  Gap,
  GapMark,
  MediaRow,
  MediaState,
  NewGap,
  OutboxStats,
  ParkedRecord,
  PendingRow,
  Recovery,
  StorageState,
  Store,
  StoredInput,
  Verdict,
} from './types.ts';
import type { VerificationRow } from './verification-row.ts';
import { byClock } from './waited.ts';
import { eventRecord, holdsAlarm, ofNumber, parkedRecord, sizeOfCommit, wireCommit, withNumbers } from './wire.ts';

export interface StoreOptions {
  /** State directory; made with mode 0700 if it is not there. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** The worker's script; by default the one that lies beside this module. */
  readonly workerUrl?: URL;
  /** A thread with that script that runs already. */
  readonly ahead?: ThreadAhead | undefined;
  readonly limits?: Partial<StoreLimits>;
  /** Told when a damaged file gave back events that wait for the cloud. */
  readonly onRestored?: () => void;
  /** Told which pictures nobody wants any more: they were given up, or their events. */
  readonly onForgotten?: (files: readonly string[]) => void;
  /** Told when the disk's level changed, and when there are gap records that no event tells of. */
  readonly onNews?: () => void;
}

const callBytes = 128;
/** For one small file, written in place. */
const leaveMs = 2000;
const verifySlice = 500;
const maxRows = 10_000;

/** The store of the main thread. All work happens in the store thread; nothing here blocks. */
export class WorkerStore implements Store {
  readonly name = 'store';
  readonly #clock: Clock;
  readonly #queue: RequestQueue;
  readonly #metrics: StoreMetrics;
  readonly #thread: StoreThread;
  /** Failed commits: a repeat (the same object) keeps its order number, so an old state never overwrites a newer one. */
  readonly #orders = new WeakMap<Commit, number>();
  readonly #evidence: StoreEvidence = { lastCommit: undefined, lastError: undefined };
  readonly #log: Logger;
  readonly #left: LeftLosses;
  readonly #leaving: (() => readonly NewGap[])[] = [];
  readonly #stopping = new AbortController();
  readonly #onRestored: () => void;
  readonly #onNews: () => void;
  readonly #onForgotten: (files: readonly string[]) => void;
  #storage: StorageState = { level: 'ok', freeBytes: undefined, totalBytes: undefined, reserveBytes: 0 };
  #openGaps = 0;
  #opened: Opened | undefined;
  #nextOrder = 1;
  #maxSeq = 0;
  #stopped: Promise<void> | undefined;

  constructor(options: StoreOptions) {
    const limits = { ...defaultLimits, ...options.limits };
    this.#clock = options.clock;
    this.#log = options.log;
    this.#left = new LeftLosses(options.dir);
    this.#onRestored = options.onRestored ?? (() => {});
    this.#onNews = options.onNews ?? (() => {});
    this.#onForgotten = options.onForgotten ?? (() => {});
    this.#queue = new RequestQueue(limits);
    this.#metrics = storeMetrics({ metrics: options.metrics, queue: () => this.#queue });
    this.#thread = new StoreThread({
      url:
        options.workerUrl ?? new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './store.js', import.meta.url),
      ahead: options.ahead,
      data: { dir: options.dir, bootId: options.clock.bootId, limits },
      log: options.log,
      queue: this.#queue,
      onReport: (report) => this.#onReport(report),
      onRestart: () => this.#metrics.restarted(),
    });
  }

  /** Throws `state_dir_unusable`, `store_unavailable` or `store_failed` (no FULL). A file of a newer siteward is set aside. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#opened = await this.#thread.open();
    this.#nextOrder = this.#opened.nextOrder;
    this.#maxSeq = this.#opened.recovery.nextSeq - 1;
    void this.#takeLeft().catch(() => undefined);
    if (!signal.aborted) return;
    await this.stop();
    signal.throwIfAborted();
  }

  stop(): Promise<void> {
    this.#stopping.abort(new SitewardError('stopped', 'the store is stopping'));
    this.#stopped ??= this.#close();
    return this.#stopped;
  }

  recovery(): Recovery {
    if (this.#opened === undefined) throw new SitewardError('store_unavailable', 'The store has not been started.');
    return this.#opened.recovery;
  }

  /**
   * The input lines ride along: they are on disk at most 250 ms later, everything else before this resolves. Repeat
   * a failed commit with the same object.
   */
  commit(commit: Commit): Promise<void> {
    const order = this.#orders.get(commit) ?? this.#nextOrder++;
    const wire = wireCommit(commit, order);
    const { maxSeq } = wire;
    if (maxSeq > this.#maxSeq) this.#maxSeq = maxSeq;
    const failed = () => this.#orders.set(commit, order);
    return this.#ask({ op: 'commit', commit: wire }, sizeOfCommit(wire), {
      urgent: holdsAlarm(commit),
      failed,
    });
  }

  take(lane: PendingRow['lane'], afterSeq: number, limit: number): Promise<PendingRow[]> {
    return this.#ask({ op: 'take', lane, afterSeq, limit: bounded(limit) });
  }

  before(row: { orderKey: string; seq: number }): Promise<PendingRow[]> {
    return this.#ask({ op: 'before', orderKey: row.orderKey, seq: row.seq });
  }

  row({ seq, lane }: { seq: number; lane: PendingRow['lane'] }): Promise<PendingRow | undefined> {
    return this.#ask({ op: 'row', lane, seq });
  }

  settle(verdicts: readonly Verdict[], { until }: { until?: AbortSignal } = {}): Promise<void> {
    return this.#ask({ op: 'settle', verdicts }, verdicts.length * callBytes, { until });
  }

  retryParked(events: readonly EventAt[]): Promise<number> {
    return perFile(events, (some) => this.#ask({ op: 'retryParked', events: some }));
  }

  async parked(query: { limit: number; beforeSeq?: number }): Promise<ParkedRecord[]> {
    const { limit, beforeSeq = Number.MAX_SAFE_INTEGER } = query;
    const rows = await this.#ask({ op: 'parked', limit: bounded(limit), beforeSeq });
    return withNumbers(rows.map(parkedRecord), this);
  }

  parkedOf(number: number): Promise<ParkedRecord | undefined> {
    return ofNumber(number, this, (query) => this.parked(query));
  }

  dropParked(events: readonly EventAt[]): Promise<number> {
    const at = this.#clock.wall();
    return perFile(events, (some) => this.#ask({ op: 'dropParked', events: some, at }));
  }

  gaps({ limit, unreported = false, withSilent = false }: Parameters<Store['gaps']>[0]): Promise<Gap[]> {
    return this.#ask({ op: 'gaps', limit: bounded(limit), unreported, withSilent });
  }

  rowOf(number: number): Promise<number> {
    return this.#ask({ op: 'rowOf', number });
  }

  numbersOf(seqs: readonly number[]): Promise<number[]> {
    return seqs.length === 0 ? Promise.resolve([]) : this.#ask({ op: 'numbersOf', seqs });
  }

  addGap(gap: NewGap): Promise<void> {
    return this.#ask({ op: 'addGap', gap });
  }

  leave(losses: () => readonly NewGap[]): void {
    this.#leaving.push(losses);
  }

  gapsReported(gaps: readonly GapMark[]): Promise<void> {
    const marks = gaps.map(({ lane, id, seqFrom, seqTo }) => ({ lane, id, seqFrom, seqTo }));
    return this.#ask({ op: 'gapsReported', gaps: marks });
  }

  anchors(): Promise<Anchor[]> {
    return this.#ask({ op: 'anchors' });
  }

  addAnchor(anchor: Anchor): Promise<void> {
    return this.#ask({ op: 'addAnchor', anchor });
  }

  verifications(): Promise<VerificationRow[]> {
    return this.#ask({ op: 'verifications' });
  }

  playbacks(): Promise<PlaybackRow[]> {
    return this.#ask({ op: 'playbacks' });
  }

  setPlaybacks(rows: readonly PlaybackRow[], alarm: boolean): Promise<void> {
    return this.#ask({ op: 'setPlaybacks', rows, alarm }, playbackBytes(rows), { urgent: alarm });
  }

  updateMedia(updates: readonly MediaUpdate[]): Promise<void> {
    return this.#ask({ op: 'updateMedia', updates }, updates.length * callBytes);
  }

  media(states: readonly MediaState[], limit: number): Promise<MediaRow[]> {
    return this.#ask({ op: 'media', states: [...new Set(states)], limit: bounded(limit) });
  }

  /** A filtered search goes through the history in slices, so that it never holds up a commit for long. */
  async events(query: Parameters<Store['events']>[0]): Promise<EventRecord[]> {
    const limit = bounded(query.limit);
    const records: EventRecord[] = [];
    let beforeSeq = query.beforeSeq ?? Number.MAX_SAFE_INTEGER;
    while (records.length < limit && beforeSeq > 0) {
      const { partition = null, class: eventClass = null, withSilent = false, media: found } = query;
      const media = found === undefined ? null : { state: found.state ?? null, camera: found.camera ?? null };
      const slice = { limit: limit - records.length, beforeSeq, partition, eventClass, withSilent, media };
      const { records: rows, next } = await this.#ask({ op: 'events', query: slice });
      records.push(...(await withNumbers(rows.map(eventRecord), this)));
      beforeSeq = next;
    }
    return records;
  }

  eventOf(number: number): Promise<EventRecord | undefined> {
    return ofNumber(number, this, (query) => this.events(query));
  }

  /** Newest first. */
  arming(query: Parameters<Store['arming']>[0]): Promise<ArmingRecord[]> {
    return this.#ask({ op: 'arming', partition: query.partition ?? null, limit: bounded(query.limit) });
  }

  async audit({ limit, before = Number.MAX_SAFE_INTEGER }: Parameters<Store['audit']>[0]): Promise<AuditEntry[]> {
    const { rows } = await this.auditSlice({ to: before - 1, limit, newest: true });
    return rows.flatMap(({ record }) => readAuditEntry(record) ?? []);
  }

  auditSlice(query: Parameters<Store['auditSlice']>[0]): Promise<AuditSlice> {
    const { from = 0, to = Number.MAX_SAFE_INTEGER, limit, newest = false } = query;
    return this.#ask({ op: 'audit', from, to, limit: bounded(limit), newest });
  }

  async verifyAudit(): Promise<AuditVerdict> {
    const walk = chainWalk();
    while (walk.take(await this.auditSlice({ from: walk.from, limit: verifySlice })));
    return walk.verdict();
  }

  async auditExported({ n, hash }: AuditLink): Promise<boolean> {
    return (await this.#ask({ op: 'auditExported', last: { n, hash } })) > 0;
  }

  /** The newest `limit` lines, in the order they were written. */
  inputs(query: { limit: number }): Promise<string[]> {
    return this.#ask({ op: 'inputs', limit: bounded(query.limit) });
  }

  inputsAfter({ after, limit }: { after: number; limit: number }): Promise<StoredInput[]> {
    return this.#ask({ op: 'inputsAfter', after, limit: bounded(limit) });
  }

  async stats(): Promise<OutboxStats> {
    return byClock(await this.#ask({ op: 'stats' }), this.#clock);
  }

  storage(): StorageState {
    return this.#storage;
  }

  memory(room: string): RoomMemory {
    return roomMemory((call, bytes) => this.#ask(call, bytes), room);
  }

  hold(isOn: boolean): Promise<boolean> {
    return this.#ask({ op: 'hold', isOn });
  }

  /** `PRAGMA synchronous` of both connections as it reads now; 2 is FULL. For tests. */
  synchronous(): Promise<StoreAnswers['synchronous']> {
    return this.#ask({ op: 'synchronous' });
  }

  health(): Health {
    return storeHealth({
      evidence: this.#evidence,
      started: this.#opened !== undefined && this.#stopped === undefined,
      thread: this.#thread,
      queue: this.#queue,
    });
  }

  #ask<Call extends StoreCall>(
    call: Call,
    bytes = callBytes,
    { urgent = false, failed, until }: { urgent?: boolean; failed?: () => void; until?: AbortSignal | undefined } = {},
  ): Promise<StoreAnswers[Call['op']]> {
    return new Promise((resolve, reject) => {
      const refuse = (error: unknown) => {
        failed?.();
        reject(error);
      };
      if (this.#stopped !== undefined || this.#opened === undefined) return refuse(notRunning(this.#opened));
      if (this.#thread.refusal !== undefined) return refuse(failureError(this.#thread.refusal));
      try {
        const waiting = this.#queue.add(call, bytes, urgent, (reply) => {
          // The worker answers each op with its own type; the cast is the only place that relies on it.
          if (reply.ok) resolve(reply.value as StoreAnswers[Call['op']]);
          else refuse(failureError(reply.failure));
        });
        this.#thread.send(waiting, until);
      } catch (error) {
        this.#metrics.refused();
        refuse(error);
      }
    });
  }

  async #close(): Promise<void> {
    await this.#thread.close(this.#maxSeq);
    const failure = { code: 'stopped', message: 'The store was stopped before it confirmed this.' } as const;
    for (const { request } of this.#queue.all()) this.#queue.answer({ id: request.id, ok: false, failure });
    // Whoever asked hears of its last answers first.
    await nextTurn();
    const losses = this.#leaving.flatMap((ask) => ask());
    const leave = () => this.#left.leave(losses);
    await withDeadline(leaveMs, never(), leave, 'writing to the disk').catch((error: unknown) => {
      this.#log.error({ err: error, losses }, 'what was lost cannot be left on disk for the next start');
    });
  }

  /** What a former stop left becomes gap records; tried until the disk takes them. */
  async #takeLeft(): Promise<void> {
    const pause = backoff({ baseMs: 500, capMs: 30_000 });
    const left = await this.#left.begin();
    // Repeated as they are: the store takes the same record once.
    const take = () => Promise.all(left.map((gap) => this.addGap(gap)));
    while (!(await take().then(isTrue, isFalse))) await sleep(pause.next(), this.#stopping.signal);
    await this.#left.taken();
  }

  #onReport(report: Report): void {
    this.#metrics.report(report);
    const isNews = report.storage.level !== this.#storage.level || report.openGaps > this.#openGaps;
    this.#storage = report.storage;
    this.#openGaps = report.openGaps;
    if (report.restored > 0) this.#onRestored();
    if (isNews) this.#onNews();
    if (report.forgotten.length > 0) this.#onForgotten(report.forgotten);
    const at = this.#clock.wall();
    for (const { file, code } of report.errors) this.#evidence.lastError = { file, code, at };
    for (const { file, shown } of report.transactions) {
      if (shown) this.#evidence.lastCommit = { at };
      // Only a transaction of the same file shows that the trouble is over.
      if (report.errors.length === 0 && this.#evidence.lastError?.file === file) this.#evidence.lastError = undefined;
    }
  }
}

const bounded = (limit: number): number => Math.max(1, Math.min(maxRows, Math.trunc(limit)));
const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

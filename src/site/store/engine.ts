import { describe, isCode, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import type { BulkFile } from './bulk-file.ts';
import type { Files } from './files.ts';
import { type FileName, fileNames, laneIndex, lanePick } from './lanes.ts';
import type { StoreLimits } from './limits.ts';
import { answerOf, answerRead, applyWrites, isShown, touches, type Work } from './operations.ts';
import { importance, Pressure } from './pressure.ts';
import {
  evAt,
  type Failure,
  type Report,
  type StoreAnswers,
  type StoreOp,
  type StoreReply,
  type StoreRequest,
  type Trimmed,
  type WireRow,
} from './protocol.ts';
import type { Sources } from './queries.ts';
import type { SiteFile } from './site-file.ts';
import { isDamage, isFileFault, sqliteCode } from './sqlite.ts';
import type { Durably } from './transactions.ts';

/** Finished events, input lines and arming records deleted in one transaction at least, if they are over their cap. */
const trimStep = 200;

/** Things that give way for one transaction that does not fit, at most. */
const roomTries = 16;

/** Below so much free space, bytes, no second copy of the alarms is kept. */
const copyFreeBytes = 64 * 1024 ** 2;

/** Names of pictures to be removed that one report holds; above it they lie there for a day. */
const maxForgotten = 10_000;

const nothingTrimmed: Report['trimmed'] = { inputs: 0, history: 0, arming: 0, activity: 0, pictures: 0 };

/** Requests in one group at most, so that the first of a flood need not wait for all of it. */
const maxGroup = 1024;

/** Requests that arrived while a group is being written. */
export interface More {
  matching(fits: (request: StoreRequest) => boolean): StoreRequest[];
}

/** What may still join a transaction that has begun. A row of `site.db` cannot join one of `bulk.db`. */
const fits: Readonly<Record<FileName, (request: StoreRequest) => boolean>> = {
  site: (request) => touches(request, 'site'),
  bulk: (request) => touches(request, 'bulk') && !touches(request, 'site'),
};

interface Task extends Work {
  failure?: Failure;
}

/**
 * Executes groups of requests: all writes of a group are one transaction in each file they touch, `site.db` first;
 * reads follow, so that nobody is shown what is not yet on disk. Knows nothing of threads.
 */
export class Engine {
  readonly #files: Files;
  readonly #limits: StoreLimits;
  readonly #durably: Durably;
  #transactions: Report['transactions'][number][] = [];
  #errors: Report['errors'][number][] = [];
  #trimmed: Record<Trimmed, number> = { ...nothingTrimmed };
  /** Input lines that wait for a transaction of `bulk.db`. Bounded by one flush per `trimStep`. */
  #inputs: { order: number; lines: readonly string[] }[] = [];
  #maxSeq = 0;
  readonly #pressure: Pressure;

  constructor(files: Files, limits: StoreLimits) {
    this.#files = files;
    this.#limits = limits;
    this.#durably = files.transactions.durably;
    files.transactions.ended = (file, hasWritten) => this.#ended(file, hasWritten);
    this.#pressure = new Pressure({
      dir: files.dir,
      files,
      limits,
      durably: this.#durably,
      wall: files.wall,
      trimmed: (what, count) => {
        this.#trimmed[what] += count;
      },
    });
  }

  /** Opens both files; see `Files.open`. */
  open(): ReturnType<Files['open']> {
    this.#pressure.start();
    return this.#files.open();
  }

  /** Looks after the disk. To be called now and then. */
  tend(): void {
    this.#pressure.tend();
  }

  /** One short transaction of what gives way on a disk that runs full; true when there is more. */
  relieve(): boolean {
    return this.#pressure.sweep();
  }

  /**
   * Writes of the group, in order. An alarm's answer does not wait for anything else: the input lines of a commit
   * ride along with the next transaction of `bulk.db`, which `flushInputs` makes if none comes.
   */
  write(requests: readonly StoreRequest[], more?: More): StoreReply[] {
    const tasks: Task[] = requests.map(task);
    for (const name of fileNames) {
      const part = tasks.filter(({ request, failure }) => failure === undefined && touches(request, name));
      this.#writeFile(name, tasks, part, more);
    }
    for (const { request } of tasks) {
      if (request.op !== 'commit') continue;
      const { order, maxSeq, inputs } = request.commit;
      if (inputs !== null) this.#inputs.push({ order, lines: inputs });
      this.#maxSeq = Math.max(this.#maxSeq, maxSeq);
    }
    this.#files.handed = this.#maxSeq;
    if (this.#inputs.length >= trimStep) this.flushInputs();
    return tasks.map((one) => reply(one.request, answerOf(one), one.failure));
  }

  read(request: StoreRequest): StoreReply {
    if (request.op === 'inputs' || request.op === 'inputsAfter') this.flushInputs();
    if (request.op === 'recall' || request.op === 'keys') return this.#recall(request);
    try {
      const site = this.#files.site();
      if (site === undefined) throw unavailable('site', this.#files);
      return reply(request, this.#answer(request, site, this.#files.bulk()));
    } catch (error) {
      return reply(request, undefined, this.#failed(error, 'site'));
    }
  }

  /** Only `bulk.db` knows it: while that cannot be read nobody does, which is not the same as "never written". */
  #recall(request: StoreRequest): StoreReply {
    try {
      const [site, bulk] = [this.#files.site(), this.#files.bulk()];
      if (site === undefined || bulk === undefined) throw unavailable('bulk', this.#files);
      const value = answerRead(request, this.#sources(site, bulk));
      // What is not in a new file may still be in the one that is being read back.
      if (value === undefined && this.#files.mending.isAtWork('bulk')) throw unavailable('bulk', this.#files);
      return reply(request, value);
    } catch (error) {
      return reply(request, undefined, this.#failed(error, 'bulk'));
    }
  }

  /** An error does not say which file it comes from; what `site.db` answers alone shows that it is not the one. */
  #answer(request: StoreRequest, site: SiteFile, bulk: BulkFile | undefined): StoreAnswers[StoreOp] {
    const sources = this.#sources(site, bulk);
    try {
      return answerRead(request, sources);
    } catch (error) {
      if (bulk === undefined || !isFileFault(error)) throw error;
      const value = answerRead(request, { ...sources, bulk: undefined });
      this.#failed(error, 'bulk');
      return value;
    }
  }

  #sources(site: SiteFile, bulk: BulkFile | undefined): Sources {
    const files = this.#files;
    return {
      ...{ site, bulk, bytes: () => files.bytes(), durably: this.#durably, hold: files.hold, wall: files.wall },
      failed: (error, file) => void this.#failed(error, file),
    };
  }

  /** An error met outside a request: counted, and the file opened again. */
  failed(error: unknown, file: FileName): void {
    this.#failed(error, file);
  }

  /** Looks whether a file still lies at its path; false when it does not and cannot be brought there. */
  follow(name: FileName): boolean {
    const followed = this.#files.follow(name);
    if (followed !== 'in place') this.#pressure.moved(name, followed);
    return followed !== false;
  }

  /** Input lines, or the newest entry of the audit log, that `bulk.db` was not told yet. */
  get inputsWait(): boolean {
    return this.#inputs.length > 0 || this.#files.auditNews !== undefined;
  }

  /** Writes waiting input lines. They are for diagnosis: if the file refuses them they are counted and dropped. */
  flushInputs(): void {
    if (!this.inputsWait) return;
    const bulk = this.#files.bulk();
    try {
      if (bulk === undefined) throw unavailable('bulk', this.#files);
      this.#transact(bulk, [], () => {});
    } catch (error) {
      this.#failed(error, 'bulk');
      this.#trimmed.inputs += this.#inputs.reduce((sum, { lines }) => sum + lines.length, 0);
      this.#inputs = [];
    }
  }

  /** Writes what waits and closes both files. */
  close(maxSeq: number): void {
    void this.#pressure.close();
    this.flushInputs();
    this.#files.close(Math.max(maxSeq, this.#maxSeq));
  }

  /** What happened since the last call. */
  report(): Report {
    const [site, bulk] = [this.#files.site()?.outbox.counts.pending, this.#files.bulk()?.outbox.counts.pending];
    const report: Report = {
      transactions: this.#transactions,
      errors: this.#errors,
      trimmed: this.#trimmed,
      pending: lanePick((lane) => (site?.[lane] ?? 0) + (bulk?.[lane] ?? 0)),
      bytes: this.#files.bytes(),
      files: this.#files.states(),
      storage: this.#pressure.state,
      restored: this.#files.mending.takeRestored(),
      forgotten: this.#files.emergency.forgotten.splice(0),
      ...this.#losses(),
    };
    this.#transactions = [];
    this.#errors = [];
    this.#trimmed = { ...nothingTrimmed };
    return report;
  }

  #losses(): Pick<Report, 'lost' | 'openGaps'> {
    const [site, bulk] = [this.#files.site()?.outbox.gaps.sums(), this.#files.bulk()?.outbox.gaps.sums()];
    return {
      lost: lanePick((lane) => (site?.lost[lane] ?? 0) + (bulk?.lost[lane] ?? 0)),
      openGaps: (site?.open ?? 0) + (bulk?.open ?? 0),
    };
  }

  /** `part`: those of `all` that touch the file; both grow by what arrives meanwhile and fits into the transaction. */
  #writeFile(name: FileName, all: Task[], part: Task[], more?: More): void {
    if (part.length === 0) return;
    const grow = () => {
      const late = all.length >= maxGroup ? [] : (more?.matching(fits[name]).map(task) ?? []);
      all.push(...late);
      part.push(...late);
      return late;
    };
    try {
      this.#run(name, part, grow);
    } catch (error) {
      // One request that cannot be written must not take the others with it; a sick disk would fail them all.
      if (part.length > 1 && !isDisk(error)) {
        for (const one of part) this.#writeFile(name, [one], [one]);
        return;
      }
      const failure = this.#failed(error, name);
      for (const one of part) one.failure = failure;
    }
  }

  #run(name: FileName, part: readonly Work[], grow: () => readonly Work[]): void {
    const file = name === 'site' ? this.#files.site() : this.#files.bulk();
    if (file === undefined) throw unavailable(name, this.#files);
    let alarms: WireRow[] = [];
    const apply = () => {
      alarms = [];
      for (let batch: readonly Work[] = part.slice(); batch.length > 0; batch = grow()) {
        this.#reserve(file, batch);
        applyWrites(file, batch, this.#limits);
        if (file.name === 'site') alarms.push(...alarmsOf(batch));
      }
      // The second copy must not take the last blocks from the rows themselves.
      if (this.#isTight()) this.#files.alarms.giveWay();
    };
    for (let tries = 0; ; tries += 1) {
      try {
        this.#transact(file, part, apply);
        // Before it is acknowledged, and never before its commit: an alarm that came back without the state that knows it would be told twice.
        if (!this.#isTight()) this.#files.alarms.add(alarms);
        return;
      } catch (error) {
        if (sqliteCode(error) !== 'SQLITE_FULL' || tries >= roomTries) throw error;
        if (this.#files.alarms.giveWay()) continue;
        if (!this.#pressure.makeRoom(file, importance(part.map(({ request }) => request)))) throw error;
      }
    }
  }

  #isTight(): boolean {
    return (this.#pressure.state.freeBytes ?? Number.POSITIVE_INFINITY) < copyFreeBytes;
  }

  /** Numbers are set aside in `site.db` before a row of either file uses them. */
  #reserve(file: SiteFile | BulkFile, batch: readonly Work[]): void {
    const top = batch.reduce((max, { request: r }) => Math.max(max, r.op === 'commit' ? r.commit.maxSeq : 0), 0);
    const site = file.name === 'site' ? file : this.#files.site();
    if (site?.needsReserve(top) !== true) return;
    if (file.name === 'site') site.reserve(top);
    else this.#transact(site, [], () => site.reserve(top));
  }

  /** One transaction with all that rides along. The outcome of a failed one counts as unknown. */
  #transact(file: SiteFile | BulkFile, part: readonly Work[], apply: () => void): void {
    const began = performance.now();
    const trimmed = { ...this.#trimmed };
    try {
      this.#durably(file, () => {
        crashPoint('commit.begun');
        apply();
        if (file.name === 'bulk') this.#ride(file);
        this.#trim(file, Math.max(trimStep, part.length));
        crashPoint('commit.rows');
      });
      crashPoint('commit.committed');
    } catch (error) {
      this.#trimmed = trimmed;
      throw error;
    }
    const rows = part.filter(({ request }) => isShown(request)).length;
    // Nothing of a silent event is in the input log, but its entry in the audit log may go to `bulk.db` alone.
    const shown = rows > 0 || (file.name === 'bulk' && this.#inputs.length > 0);
    this.#transactions.push({ file: file.name, rows, shown, seconds: (performance.now() - began) / 1000 });
    if (file.name === 'bulk') this.#inputs = [];
    this.#files.checkFull(file);
  }

  /** What rides along with any transaction of `bulk.db`. */
  #ride(bulk: BulkFile): void {
    for (const { order, lines } of this.#inputs) bulk.addInputs(order, lines);
    const head = this.#files.auditNews;
    if (head !== undefined) bulk.setAuditHead(head);
  }

  #ended(file: SiteFile | BulkFile, hasWritten: boolean): void {
    if (file.name === 'site') this.#files.auditHead = file.audit.head;
    const { forgotten } = this.#files.emergency;
    if (forgotten.length < maxForgotten) forgotten.push(...file.outbox.takeForgotten());
    // One that is being opened is nobody's yet.
    if (hasWritten && this.#files.opened(file.name) === file) this.#pressure.wrote(file);
  }

  /** At least as many rows go as came, so that no cap is outrun. */
  #trim(file: SiteFile | BulkFile, most: number): void {
    const limits = this.#limits;
    const cap = file.name === 'site' ? limits.siteHistory : limits.bulkHistory;
    this.#trimmed.history += file.outbox.trimHistory(cap, most);
    if (file.name === 'site') this.#trimmed.arming += file.trimArming(limits.arming, most);
    else this.#trimmed.inputs += file.trimInputs(limits.inputs, most * 4);
  }

  /** Turns an error into an answer, counts it, and opens the file again where its connection is worthless. */
  #failed(error: unknown, file: FileName): Failure {
    const code = sqliteCode(error) || (error instanceof SitewardError ? error.code : 'other');
    this.#errors.push({ file, code });
    this.#pressure.failed(file, code);
    // What was stored stays deliverable from a card that takes no more writes; `tend` tries one until it does again.
    const isKept = this.#pressure.state.level === 'readonly' && !isDamage(error);
    if (isFileFault(error) && !isKept) this.#files.reopen(file, isDamage(error) ? describe(error) : undefined);
    if (error instanceof SitewardError) return { code: error.code, message: error.message, facts: error.facts };
    return {
      code: 'store_failed',
      message: `${file}.db did not confirm a write (${describe(error)}). It is sent again under the same number; check the disk if this stays.`,
      facts: { file: `${file}.db`, cause: code },
    };
  }
}

/** What the second copy of the alarms gets of a batch. */
function alarmsOf(batch: readonly Work[]): WireRow[] {
  return batch.flatMap(({ request }) =>
    request.op === 'commit' ? (request.commit.site ?? []).filter(isWaitingAlarm) : [],
  );
}

/** Errors that would meet every request alike. */
const isDisk = (error: unknown): boolean =>
  isFileFault(error) || sqliteCode(error).startsWith('SQLITE_FULL') || isCode(error, 'store_unavailable');

function unavailable(name: FileName, files: Files): SitewardError {
  const reason = files.states()[name].reason ?? 'it is not open';
  return new SitewardError('store_unavailable', `${name}.db cannot be used: ${reason}. siteward keeps trying.`, {
    facts: { file: `${name}.db` },
  });
}

const isWaitingAlarm = ([ev, toCloud]: WireRow): boolean => ev[evAt.lane] === laneIndex('alarm') && toCloud;

const task = (request: StoreRequest): Task => ({ request, values: {} });

function reply({ id }: StoreRequest, value: StoreAnswers[StoreOp], failure?: Failure): StoreReply {
  return failure === undefined ? { id, ok: true, value } : { id, ok: false, failure };
}

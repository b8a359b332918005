import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { packer } from './pack.ts';
import type { Failure, FileStates, FromWorker, Report, ToWorker, WorkerData } from './protocol.ts';
import type { RequestQueue, Waiting } from './queue.ts';
import type { Recovery } from './types.ts';

/** A request that was in hand when so many workers died is taken for their cause and given up. */
const maxDeaths = 3;
const closeMs = 5000;
/** Far more than ending a thread takes that runs. */
const terminateMs = 1000;
const storeThreadName = 'siteward-store';
/** Requests in one message. */
const part = 8;

export interface Opened {
  readonly recovery: Recovery;
  readonly nextOrder: number;
}

/**
 * The store thread as seen from the main thread: sends one message a tick, starts a dead worker again with growing
 * waits, and sends again what was not answered. All of it is idempotent: rows by seq, states and inputs by order.
 */
export class StoreThread {
  readonly #url: URL;
  readonly #ahead: ThreadAhead | undefined;
  readonly #data: WorkerData;
  readonly #log: Logger;
  readonly #queue: RequestQueue;
  readonly #onReport: (report: Report) => void;
  readonly #onRestart: () => void;
  readonly #wait = backoff({ baseMs: 50, capMs: 30_000 });
  #worker: Worker | undefined;
  /** For this worker: what crossed is not known to the next one. */
  #pack = packer();
  #opened = false;
  #unsent: Waiting[] = [];
  #scheduled = false;
  /** The last message said that more follows. */
  #owes = false;
  readonly #sent: Int32Array;
  #retry: NodeJS.Timeout | undefined;
  #closing = false;
  /** Why no worker can open the files; requests are refused at once then. */
  refusal: Failure | undefined;
  files: FileStates | undefined;
  lastDeath: string | undefined;

  constructor(options: {
    url: URL;
    ahead?: ThreadAhead | undefined;
    data: Omit<WorkerData, 'sent'>;
    log: Logger;
    queue: RequestQueue;
    onReport: (report: Report) => void;
    onRestart: () => void;
  }) {
    this.#url = options.url;
    this.#ahead = options.ahead;
    this.#sent = new Int32Array(new SharedArrayBuffer(4));
    this.#data = { ...options.data, sent: this.#sent };
    this.#log = options.log;
    this.#queue = options.queue;
    this.#onReport = options.onReport;
    this.#onRestart = options.onRestart;
  }

  get running(): boolean {
    return this.#opened;
  }

  /** First start: rejects with what the worker refused with. Later starts happen by themselves. */
  open(): Promise<Opened> {
    return new Promise((resolve, reject) => {
      this.#launch((result) => {
        if ('recovery' in result) return resolve(result);
        this.#closing = true;
        reject(failureError(result));
      });
    });
  }

  /**
   * Leaves when the code that runs now, and all that it settled, is done. In a rush it goes in parts, so that the
   * thread writes the first rows while the main thread still makes the last; each part but the last says that more
   * follows, so that all end up in the same transaction. With `until` it leaves with the next request, or once that
   * signal aborts.
   */
  send(waiting: Waiting, until?: AbortSignal): void {
    this.#unsent.push(waiting);
    if (until?.aborted === false) {
      until.addEventListener('abort', () => this.#flush(false), { once: true });
      return;
    }
    if (this.#unsent.length >= part) this.#flush(true);
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(() => {
      this.#scheduled = false;
      this.#flush(false);
    });
  }

  /**
   * Waits for everything queued, checkpoints and closes; after 5 s the thread is ended as it is. One that hangs in a call
   * to the disk ends with that call: nobody waits for it.
   */
  async close(maxSeq: number): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#retry);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const inTime = (ms: number) => withDeadline(ms, never(), () => ended).then(isTrue, isFalse);
    this.#flush(false);
    worker.postMessage({ kind: 'close', maxSeq });
    if (await inTime(closeMs)) return;
    void worker.terminate();
    if (!(await inTime(terminateMs)))
      this.#log.error('the store thread hangs in a call to the disk and is left behind');
  }

  #flush(more: boolean): void {
    if (!this.#opened || (this.#unsent.length === 0 && !this.#owes)) return;
    const requests = this.#pack(this.#unsent.map(({ request }) => request));
    this.#unsent = [];
    this.#owes = more;
    this.#worker?.postMessage({ kind: 'requests', requests, more } satisfies ToWorker);
    Atomics.add(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
  }

  #launch(done: (result: Opened | Failure) => void): void {
    const worker =
      this.#ahead?.take(this.#data) ??
      // Flags of the main thread (inspectors, test loaders) are not for this one.
      new Worker(this.#url, { workerData: this.#data, execArgv: [], name: storeThreadName });
    this.#worker = worker;
    this.#pack = packer();
    let cause = 'it ended by itself';
    worker.on('message', (message: FromWorker) => this.#receive(message, done));
    worker.on('error', (error) => {
      cause = describe(error);
    });
    worker.on('exit', () => this.#ended(worker, cause, done));
  }

  #receive(message: FromWorker, done: (result: Opened | Failure) => void): void {
    switch (message.kind) {
      case 'replies':
        for (const id of message.done) this.#queue.answer({ id, ok: true, value: undefined });
        for (const reply of message.replies) this.#queue.answer(reply);
        return;
      case 'report':
        this.#reported(message.report);
        return;
      case 'note':
        this.#log[message.level](message.facts, message.text);
        return;
      case 'opened':
        this.#opened = true;
        this.files = message.files;
        this.refusal = undefined;
        this.#resend();
        done(message);
        return;
      case 'refused':
        this.refusal = message.failure;
        this.#refuseAll(message.failure);
        done(message.failure);
        return;
    }
  }

  #reported(report: Report): void {
    this.files = report.files;
    if (report.transactions.length > 0) this.#wait.reset();
    this.#onReport(report);
  }

  #ended(worker: Worker, cause: string, done: (result: Opened | Failure) => void): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const wasOpen = this.#opened;
    this.#opened = false;
    if (this.#closing) return;
    this.lastDeath = cause;
    if (!wasOpen && this.refusal === undefined) {
      const message = `The store thread cannot start: ${cause}.`;
      this.refusal = { code: 'store_unavailable', message };
      this.#refuseAll(this.refusal);
      done(this.refusal);
      if (this.#closing) return;
    }
    const waitMs = this.#wait.next();
    this.#log.error({ cause, waitMs: Math.round(waitMs) }, 'the store thread ended, starting it again');
    this.#onRestart();
    this.#retry = setTimeout(() => this.#launch(() => {}), waitMs);
  }

  /** Everything without an answer, in its order. */
  #resend(): void {
    const sent = new Set(this.#unsent);
    for (const waiting of this.#queue.all()) {
      if (sent.has(waiting)) continue;
      waiting.deaths += 1;
      if (waiting.deaths < maxDeaths) continue;
      const message = 'The store thread died several times over this request.';
      this.#queue.answer({ id: waiting.request.id, ok: false, failure: { code: 'store_failed', message } });
    }
    this.#unsent = this.#queue.all();
    this.#flush(false);
  }

  #refuseAll(failure: Failure): void {
    this.#unsent = [];
    for (const { request } of this.#queue.all()) this.#queue.answer({ id: request.id, ok: false, failure });
  }
}

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

/** What a store says that has nobody to do the work. */
export function notRunning(opened: Opened | undefined): SitewardError {
  if (opened === undefined) return new SitewardError('store_unavailable', 'The store has not been started.');
  return new SitewardError('stopped', 'The store has been stopped.');
}

export function failureError(failure: Failure): SitewardError {
  return new SitewardError(failure.code, failure.message, failure.facts === undefined ? {} : { facts: failure.facts });
}

import { pipeline, type Readable } from 'node:stream';
import type { Logger } from 'pino';
import { type RawRequest, retryAfterMs } from '#cloud/client/index.ts';
import type { Dialect } from '#cloud/contract/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { WireAnswer, WireFailure } from '#lib/contract/client.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { isLoopback } from '#lib/host.ts';
import { sleep, wakeup } from '#lib/wait.ts';
import { lanes, type MediaUpdate } from '#site/model/index.ts';
import type { MediaRow, Store } from '#site/store/index.ts';
import type { AddressBook } from './address-book.ts';
import type { Address } from './addresses.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { type MediaFiles, type VerifiedFile, verifiedFile } from './files.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { readUploadAnswer } from './upload-answer.ts';
import { createUploadGate } from './upload-gate.ts';
import { type UploadRow, uploadRowFor } from './upload-table.ts';

/** How an upload that was cut goes on: from the start, or where the server says (`cloud.dialect.upload_resume`). */
export type UploadResume = Dialect['upload_resume'];

export interface UploaderOptions {
  readonly store: Pick<Store, 'media' | 'updateMedia'>;
  readonly files: MediaFiles;
  readonly book: AddressBook;
  readonly raw: (request: RawRequest) => Promise<WireAnswer | WireFailure>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DeliveryMetrics;
  /** Uploads side by side. */
  readonly slots: number;
  readonly eventsUnderWay: () => boolean;
  readonly resume: UploadResume;
  /** Most bytes per second over all uploads together. */
  readonly bytesPerS?: number;
  /** Addresses may be plain http on this machine: the cloud itself is there (sandbox, tests). */
  readonly allowLoopbackHttp: boolean;
  readonly random: () => number;
}

export interface Uploader {
  /** Files may have become ready. */
  wake(): void;
  /** The event was accepted, its addresses have come. `fresh`: it is of this moment, not one that waited long. */
  accepted(seq: number, fresh: boolean): void;
  run(signal: AbortSignal): Promise<void>;
  linkUp(): void;
  /** Files that fail through a fault of ours, for people; undefined when there are none. */
  trouble(): string | undefined;
}

const perScan = 500;
/** Looked at when all of fewer only wait: they must not hide what could be uploaded. */
const longestScan = 8_000;
/** Continuations of one upload without a pause. */
const maxParts = 5;
/** A file that became ready without anybody saying so is found after this time. */
const idleMs = 5_000;
const jobWaitMs = 30_000;
const scanGapMs = 50;
const newsGapMs = 250;

/**
 * Uploads what is ready, on slots of its own, so that no event ever waits behind a picture. Pictures of alarms of this
 * moment first, the newest of them, on one slot more, then alarms, pictures before clips, older events first.
 */
export function createUploader(options: UploaderOptions): Uploader {
  const { clock, store, metrics } = options;
  const wakeups = wakeup();
  const running = new Set<string>();
  /** Events whose files are not tried again before a moment, monotonic, by seq. */
  const later = new BoundedMap<number, number>(2_000);
  const origins = new BoundedMap<string, Breaker>(16);
  /** Addresses where an upload was cut, by file: the server may hold a part of it. In memory, like all addresses. */
  const cut = new BoundedMap<string, string>(100);
  /** Files whose failure without a verdict was logged, by file. */
  const told = new BoundedMap<string, true>(2_000);
  /** Files whose last try met a fault of ours, with what went wrong, by file. */
  const faulty = new BoundedMap<string, string>(2_000);
  /** What became of files and is not on record yet, by file: only the record is repeated, not the upload. */
  const unrecorded = new BoundedMap<string, MediaUpdate>(2_000);
  /** Files whose fate came on record since the rows were read: what these say of them is over. */
  const settled = new Set<string>();
  /** Events of this moment whose pictures somebody may be waiting for. */
  const fresh = new BoundedMap<number, true>(1_000);
  const gate = createUploadGate(options);
  let scanned = perScan;
  /** Something has come since the rows were read. */
  let hasNews = false;

  function breakerOf(url: string): Breaker {
    const { origin } = new URL(url);
    let breaker = origins.get(origin);
    if (breaker === undefined) {
      breaker = createBreaker({ clock, slots: options.slots, random: options.random });
      origins.set(origin, breaker);
    }
    return breaker;
  }

  /** A fresh snapshot of an alarm: whoever looks at the alarm now needs it. */
  const isUrgent = (row: MediaRow) => row.lane === 'alarm' && row.kind === 'snapshot' && fresh.get(row.seq) === true;
  const rankOf = (row: MediaRow) => (isUrgent(row) ? -1 : importance(row));

  /** True when the rows are to be read again at once: what has come may be worth more than the rest of them. */
  async function scan(signal: AbortSignal): Promise<boolean> {
    hasNews = false;
    settled.clear();
    const rows = await store.media(['ready'], scanned);
    let started = 0;
    const bySeq = (a: MediaRow, b: MediaRow) => (isUrgent(a) ? b.seq - a.seq : a.seq - b.seq);
    rows.sort((a, b) => rankOf(a) - rankOf(b) || bySeq(a, b) || a.index - b.index);
    for (const row of rows) {
      while (running.size >= options.slots + (isUrgent(row) ? 1 : 0)) {
        await wakeups.wait(1_000, signal);
        if (hasNews) return true;
      }
      const key = keyOf(row);
      if (running.has(key) || settled.has(key) || (later.get(row.seq) ?? 0) > clock.monotonic()) continue;
      started += 1;
      running.add(key);
      void handle(row, signal)
        .then(
          (again) => {
            faulty.delete(key);
            if (again) later.set(row.seq, clock.monotonic() + jobWaitMs);
          },
          (error: unknown) => {
            later.set(row.seq, clock.monotonic() + jobWaitMs);
            if (!signal.aborted) tell(row, error);
          },
        )
        .finally(() => {
          running.delete(key);
          wakeups.wake();
        });
    }
    if (rows.length < scanned) forgetFaulty(new Set(rows.map(keyOf)));
    scanned = started > 0 || rows.length < scanned ? perScan : Math.min(scanned * 2, longestScan);
    return false;
  }

  /** Of those that are no longer ready nothing is to be said. */
  function forgetFaulty(ready: ReadonlySet<string>): void {
    for (const [key] of [...faulty.entries()]) if (!ready.has(key)) faulty.delete(key);
  }

  /** The file is tried for ever, so its trouble is logged once. */
  function tell(row: MediaRow, error: unknown): void {
    if (row.silent === true) return;
    // What has a code is known elsewhere: a store that is away says so itself.
    if (!(error instanceof SitewardError)) faulty.set(keyOf(row), describe(error));
    if (told.get(keyOf(row)) === true) return;
    told.set(keyOf(row), true);
    options.log.error({ err: error, eventId: row.eventId, index: row.index }, 'an upload failed and is tried again');
  }

  /** Brings one file a step further; true when it is to be looked at again after a while. */
  async function handle(row: MediaRow, signal: AbortSignal): Promise<boolean> {
    const known = unrecorded.get(keyOf(row));
    if (known !== undefined) return finish(row, known);
    const found = await options.book.addressFor(row, signal);
    if (found.kind === 'wait') {
      if (found.tell !== undefined && row.silent !== true)
        options.log.warn({ eventId: row.eventId, index: row.index }, `a picture or clip waits: ${found.tell}`);
      return true;
    }
    if (found.kind === 'never') return fail(row, found.reason);
    const { address } = found;
    if (!mayUse(address.url)) {
      options.book.useless(row.eventId, 'the upload address is not https');
      return false;
    }
    const breaker = breakerOf(address.url);
    if (breaker.limit() === 0) return true;
    return upload(row, address, breaker, signal);
  }

  async function upload(row: MediaRow, address: Address, breaker: Breaker, signal: AbortSignal): Promise<boolean> {
    const file = await verifiedFile(options.files, row);
    if (typeof file === 'string') return fail(row, file);
    const sentMono = clock.monotonic();
    const { decided, reason, retryAfterMs } = await sendAll(row, address, file, signal);
    switch (decided.action) {
      case 'uploaded':
        breaker.succeeded(sentMono);
        options.book.useful(row.eventId);
        if (row.silent !== true) metrics.uploadedBytes.inc(file.bytes);
        crashPoint('media.uploaded');
        return finish(row, { ...place(row), at: clock.wall(), state: 'uploaded' });
      case 'ask':
        options.book.useless(row.eventId, reason);
        return false;
      case 'resume':
      case 'later':
        breaker.failed(
          { trouble: 'busy', fromMs: 1_000, toMs: 300_000, endsWithLink: true, reason, retryAfterMs },
          sentMono,
        );
        return true;
      case 'failed':
        return fail(row, reason);
    }
  }

  /** The whole file; after a cut, if the server can tell what it has, only the rest. */
  async function sendAll(row: MediaRow, address: Address, file: VerifiedFile, signal: AbortSignal): Promise<Tried> {
    const canResume = options.resume === 'content_range';
    const wasCut = canResume && cut.get(keyOf(row)) === address.url;
    const question = { range: `bytes */${file.bytes}`, bytes: 0 };
    let tried = wasCut ? await put(row, address, signal, { file, ...question }) : undefined;
    // A success either means that all is there, or that a server without the protocol has stored nothing as the file
    // (and may say so): the whole goes up once more, which harms neither.
    if (tried === undefined || tried.isSuccess)
      tried = await put(row, address, signal, { file, bytes: file.bytes, body: file.stream() });
    for (let parts = 0; tried.decided.action === 'resume' && parts < maxParts; parts += 1) {
      const from = Math.min(heldBytes(tried.range), file.bytes - 1);
      const range = `bytes ${from}-${file.bytes - 1}/${file.bytes}`;
      tried = await put(row, address, signal, { file, range, bytes: file.bytes - from, body: file.stream(from) });
    }
    return tried;
  }

  /** One request to the address of a file. */
  async function put(row: MediaRow, address: Address, signal: AbortSignal, part: Part): Promise<Tried> {
    const body = part.body === undefined ? undefined : gated(part.body, signal);
    const result = await options.raw({
      url: address.url,
      method: address.method,
      // No credential of ours: the address itself is the permission (S-167).
      headers: {
        'content-type': row.mime ?? mimeOf(row.kind),
        'content-length': String(part.bytes),
        ...(part.range !== undefined && { 'content-range': part.range }),
      },
      body: body ?? '',
      signal,
      deadlineMs: deadlineOf(part.bytes),
      repeatable: false,
    });
    body?.destroy();
    const decided = uploadRowFor({ ...outcomeOf(result, part.file), resumable: options.resume === 'content_range' });
    if (result.kind === 'failure') cut.set(keyOf(row), address.url);
    else if (decided.action !== 'later') cut.delete(keyOf(row));
    if (row.silent !== true) metrics.uploads.inc({ outcome: decided.name });
    const reason = result.kind === 'failure' ? result.message : `${result.status} ${decided.name}`;
    if (result.kind === 'failure') return { decided, reason };
    const { headers } = result;
    const isSuccess = decided.action === 'uploaded' || decided.when.answer === 'other';
    return { decided, reason, isSuccess, range: headers.range, retryAfterMs: retryAfterMs(headers, clock.wall()) };
  }

  function gated(body: Readable, signal: AbortSignal): Readable {
    const through = gate.through(signal);
    // Whoever reads it sees the error; both streams end together.
    return pipeline(body, through, () => {});
  }

  async function fail(row: MediaRow, reason: string): Promise<boolean> {
    if (row.silent !== true) {
      metrics.uploads.inc({ outcome: 'failed' });
      options.log.warn({ eventId: row.eventId, index: row.index, reason }, 'a picture or clip cannot be uploaded');
    }
    return finish(row, { ...place(row), at: clock.wall(), state: 'failed', reason: reason.slice(0, 300) });
  }

  /** The file goes only after its fate is on disk. */
  async function finish(row: MediaRow, fate: MediaUpdate): Promise<false> {
    unrecorded.set(keyOf(row), fate);
    await store.updateMedia([fate]);
    unrecorded.delete(keyOf(row));
    settled.add(keyOf(row));
    if (fate.state === 'uploaded') crashPoint('media.unlink');
    if (row.file === undefined) return false;
    // Nothing stays that tells of a silent event (safety 4).
    if (fate.state === 'uploaded' && row.silent !== true) await options.files.keep(row.file);
    else await options.files.discard(row.file);
    return false;
  }

  return {
    wake() {
      hasNews = true;
      wakeups.wake();
    },
    accepted(seq, isFresh) {
      later.delete(seq);
      if (isFresh) fresh.set(seq, true);
      hasNews = true;
      wakeups.wake();
    },
    linkUp() {
      for (const [, breaker] of origins.entries()) breaker.linkUp();
      later.clear();
      wakeups.wake();
    },
    trouble() {
      const [first] = faulty.entries();
      if (first === undefined) return undefined;
      return `${faulty.size} pictures or clips fail by a fault of siteward and are tried again: ${first[1]}`;
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          const isNotDone = await scan(signal);
          // Wake-ups come with every event; the store is not asked for each of them.
          await sleep(isNotDone ? newsGapMs : scanGapMs, signal);
          if (!isNotDone) await wakeups.wait(idleMs, signal);
        } catch {
          if (signal.aborted) return;
          // The store is away; its own health says so.
          await sleep(idleMs, signal).catch(() => {});
        }
      }
    },
  };

  function mayUse(text: string): boolean {
    const url = new URL(text);
    if (url.protocol === 'https:') return true;
    return url.protocol === 'http:' && options.allowLoopbackHttp && isLoopback(url.hostname);
  }
}

interface Part {
  /** Value of `Content-Range`; absent for the whole file at once. */
  readonly range?: string;
  readonly bytes: number;
  readonly body?: Readable;
  /** The whole. */
  readonly file: VerifiedFile;
}

interface Tried {
  readonly decided: UploadRow;
  readonly reason: string;
  /** The storage has stored something, be it this or something else. */
  readonly isSuccess?: boolean;
  /** The `Range` header of the answer: what the server has. */
  readonly range?: string | undefined;
  /** What the server asked for. */
  readonly retryAfterMs?: number | undefined;
}

/** `bytes=0-499` are 500 bytes; without the header the server has none. */
const heldBytes = (range: string | undefined): number => {
  const last = /^bytes=0-(\d{1,15})$/.exec(range ?? '')?.[1];
  return last === undefined ? 0 : Number(last) + 1;
};

const keyOf = (row: MediaRow): string => `${row.lane}:${row.seq}:${row.index}`;
const place = ({ seq, lane, index, silent }: MediaRow) => ({ seq, lane, index, ...(silent === true && { silent }) });
const mimeOf = (kind: MediaRow['kind']): string => (kind === 'snapshot' ? 'image/jpeg' : 'video/mp4');
const importance = (row: MediaRow): number => lanes.indexOf(row.lane) * 2 + (row.kind === 'snapshot' ? 0 : 1);

/** Half a minute, and what the file needs at 8 KiB/s; at most a quarter of an hour. */
const deadlineOf = (bytes: number): number => Math.min(900_000, 30_000 + bytes / 8.192);

function outcomeOf(result: WireAnswer | WireFailure, file: VerifiedFile) {
  if (result.kind === 'failure') return { failure: result.failure };
  return { status: result.status, answer: readUploadAnswer(result, file) };
}

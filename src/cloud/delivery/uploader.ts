import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { isLoopbackHost, type RawRequest } from '#cloud/client/index.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { WireAnswer, WireFailure } from '#lib/contract/client.ts';
import { sleep, wakeup } from '#lib/wait.ts';
import { lanes } from '#site/model/index.ts';
import type { MediaRow, MediaUpdate, Store } from '#site/store/index.ts';
import type { AddressBook } from './address-book.ts';
import type { Address } from './addresses.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { uploadRowFor } from './upload-table.ts';

/** Where pictures and clips lie until they are uploaded. */
export interface MediaFiles {
  /** Size and contents of a file; rejects when it is gone. */
  open(file: string): Promise<{ readonly bytes: number; stream(): Readable }>;
  /** The cloud has it. */
  discard?(file: string): Promise<void>;
}

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
  /** Addresses may be plain http on this machine: the cloud itself is there (sandbox, tests). */
  readonly allowLoopbackHttp: boolean;
  readonly random?: () => number;
}

export interface Uploader {
  /** Files may have become ready. */
  wake(): void;
  /** The event was accepted, its addresses have come. */
  accepted(seq: number): void;
  run(signal: AbortSignal): Promise<void>;
  linkUp(): void;
}

const perScan = 500;
/** A file that became ready without anybody saying so is found after this time. */
const idleMs = 5_000;
const jobWaitMs = 30_000;
const scanGapMs = 50;

/**
 * Uploads what is ready, on slots of its own, so that no event ever waits behind a picture. Alarms first, pictures
 * before clips, older events first.
 */
export function createUploader(options: UploaderOptions): Uploader {
  const { clock, store, metrics } = options;
  const wakeups = wakeup();
  const running = new Set<string>();
  /** Events whose files are not tried again before a moment, monotonic, by seq. */
  const later = new BoundedMap<number, number>(2_000);
  const origins = new BoundedMap<string, Breaker>(16);

  function breakerOf(url: string): Breaker {
    const { origin } = new URL(url);
    let breaker = origins.get(origin);
    if (breaker === undefined) {
      const random = options.random === undefined ? {} : { random: options.random };
      breaker = createBreaker({ clock, slots: options.slots, ...random });
      origins.set(origin, breaker);
    }
    return breaker;
  }

  async function scan(signal: AbortSignal): Promise<void> {
    const rows = await store.media(['ready'], perScan);
    rows.sort((a, b) => importance(a) - importance(b) || a.seq - b.seq || a.index - b.index);
    for (const row of rows) {
      while (running.size >= options.slots) await wakeups.wait(1_000, signal);
      const key = keyOf(row);
      if (running.has(key) || (later.get(row.seq) ?? 0) > clock.monotonic()) continue;
      running.add(key);
      void handle(row, signal)
        .then(
          (again) => again && later.set(row.seq, clock.monotonic() + jobWaitMs),
          () => later.set(row.seq, clock.monotonic() + jobWaitMs),
        )
        .finally(() => {
          running.delete(key);
          wakeups.wake();
        });
    }
  }

  /** Brings one file a step further; true when it is to be looked at again after a while. */
  async function handle(row: MediaRow, signal: AbortSignal): Promise<boolean> {
    const found = await options.book.addressFor(row, signal);
    if (found.kind === 'wait') return true;
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
    let file: Awaited<ReturnType<MediaFiles['open']>>;
    try {
      file = await options.files.open(row.file ?? '');
    } catch {
      return fail(row, 'the file is gone');
    }
    const sentMono = clock.monotonic();
    const result = await options.raw({
      url: address.url,
      method: address.method,
      // No credential of ours: the address itself is the permission (S-167).
      headers: { 'content-type': row.mime ?? mimeOf(row.kind), 'content-length': String(file.bytes) },
      body: file.stream(),
      signal,
      deadlineMs: deadlineOf(file.bytes),
      repeatable: false,
    });
    const decided = uploadRowFor(outcomeOf(result));
    const shown = row.silent !== true;
    if (shown) metrics.uploads.inc({ outcome: decided.name });
    const reason = result.kind === 'failure' ? result.message : `${result.status} ${decided.name}`;
    switch (decided.action) {
      case 'uploaded':
        breaker.succeeded(sentMono);
        if (shown) metrics.uploadedBytes.inc(file.bytes);
        await record({ ...place(row), at: clock.wall(), state: 'uploaded' });
        await options.files.discard?.(row.file ?? '');
        return false;
      case 'ask':
        options.book.useless(row.eventId, reason);
        return false;
      case 'later':
        breaker.failed(
          { trouble: 'busy', fromMs: 1_000, toMs: 300_000, endsWithLink: true, reason, retryAfterMs: undefined },
          sentMono,
        );
        return true;
      case 'failed':
        return fail(row, reason);
    }
  }

  async function fail(row: MediaRow, reason: string): Promise<boolean> {
    if (row.silent !== true) {
      metrics.uploads.inc({ outcome: 'failed' });
      options.log.warn({ eventId: row.eventId, index: row.index, reason }, 'a picture or clip cannot be uploaded');
    }
    await record({ ...place(row), at: clock.wall(), state: 'failed', reason: reason.slice(0, 300) });
    return false;
  }

  const record = (update: MediaUpdate) => store.updateMedia([update]);

  return {
    wake: wakeups.wake,
    accepted(seq) {
      later.delete(seq);
      wakeups.wake();
    },
    linkUp() {
      for (const [, breaker] of origins.entries()) breaker.linkUp();
      later.clear();
      wakeups.wake();
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await scan(signal);
          // Wake-ups come with every event; the store is not asked for each of them.
          await sleep(scanGapMs, signal);
          await wakeups.wait(idleMs, signal);
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
    return url.protocol === 'http:' && options.allowLoopbackHttp && isLoopbackHost(url.hostname);
  }
}

const keyOf = (row: MediaRow): string => `${row.lane}:${row.seq}:${row.index}`;
const place = ({ seq, lane, index }: MediaRow) => ({ seq, lane, index });
const mimeOf = (kind: MediaRow['kind']): string => (kind === 'snapshot' ? 'image/jpeg' : 'video/mp4');
const importance = (row: MediaRow): number => lanes.indexOf(row.lane) * 2 + (row.kind === 'snapshot' ? 0 : 1);

/** Half a minute, and what the file needs at 8 KiB/s; at most a quarter of an hour. */
const deadlineOf = (bytes: number): number => Math.min(900_000, 30_000 + bytes / 8.192);

function outcomeOf(result: WireAnswer | WireFailure) {
  if (result.kind === 'failure') return { failure: result.failure };
  return { status: result.status, html: (result.headers['content-type'] ?? '').includes('html') };
}

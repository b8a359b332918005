import type { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import { SitewardError } from '#errors.ts';
import type { WireAnswer } from '#lib/contract/client.ts';

export interface Exchange {
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Readable | null;
  readonly idempotent: boolean;
  readonly signal: AbortSignal;
  /** From connecting to the last byte, milliseconds. */
  readonly deadlineMs: number;
  /** Largest answer, bytes. */
  readonly answerCap: number;
  /** The monotonic clock. */
  readonly now: () => number;
}

/** The answer is larger than its cap. */
export class TooLarge extends Error {}

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/**
 * One request and its whole answer, on undici's own level: no stream, no signal and no promise is made per chunk, which
 * is half the price of `request()`. Settles at the deadline, or when the signal aborts, also while undici is still
 * connecting and hears neither. Rejects with the signal's reason, `deadline`, `TooLarge`, or undici's error.
 */
export function exchange(pool: Pool, request: Exchange): Promise<WireAnswer> {
  const { signal, deadlineMs, body } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const sentMono = request.now();
    let running: Dispatcher.DispatchController | undefined;
    let failed: Error | undefined;
    let status = 0;
    let headMono = sentMono;
    let headers: Record<string, string> = {};
    let chunks: Buffer[] = [];
    let bytes = 0;

    const timer = setTimeout(() => {
      fail(
        new SitewardError('deadline', `the request took longer than ${deadlineMs} ms`, { facts: { ms: deadlineMs } }),
      );
    }, deadlineMs);
    const onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });

    function settled(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
    function fail(error: Error): void {
      if (failed !== undefined) return;
      failed = error;
      settled();
      running?.abort(error);
      if (body !== null && typeof body === 'object' && 'destroy' in body) body.destroy();
      reject(error);
    }

    pool.dispatch(request as Dispatcher.DispatchOptions, {
      onRequestStart(controller) {
        running = controller;
        // Given up while it was connecting.
        if (failed !== undefined) controller.abort(failed);
      },
      onResponseStart(_controller, statusCode, head) {
        // Interim answers come here too; the last one counts.
        status = statusCode;
        headMono = request.now();
        headers = flatten(head);
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length;
        if (bytes > request.answerCap) fail(new TooLarge(`more than ${request.answerCap} bytes`));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (failed !== undefined) return;
        settled();
        const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes);
        chunks = [];
        resolve({ kind: 'answer', status, headers, body: whole, sentMono, headMono });
      },
      onResponseError(_controller, error) {
        fail(error);
      },
    });
  });
}

function flatten(headers: Headers): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

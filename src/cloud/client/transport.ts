import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { Transport, WireAnswer, WireFailure } from '#lib/contract/client.ts';
import { exchange, TooLarge } from './exchange.ts';
import { failureOf } from './failure.ts';
import { cloudUrlProblem } from './options.ts';
import { createPools } from './pools.ts';

/** One request to any address: what both operations and uploads are made of. */
export interface RawRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  readonly signal: AbortSignal;
  /** For the whole exchange from connecting to the last byte, milliseconds. */
  readonly deadlineMs: number;
  /** Repeating it does no harm: it may share a connection, and is sent again at once when a kept socket was dead. */
  readonly repeatable: boolean;
}

export interface HttpOptions {
  readonly clock: Clock;
  /** Addresses of the configuration by the name operations use; the key in the file is named in errors. */
  readonly bases: Readonly<Record<string, { readonly url: string; readonly key: string }>>;
  /** Connections per origin: room for 10 events, 3 uploads and a token side by side unless given. */
  readonly connections?: number;
  /** Largest answer, bytes (S-198). */
  readonly answerCap?: number;
  readonly connectTimeoutMs?: number;
  /** Used where a call names none: S-198. */
  readonly deadlineMs?: number;
  readonly userAgent?: string;
  readonly ca?: readonly string[];
  /** Told about each answer's `Date` header: server minus local wall clock at the middle of the exchange. */
  readonly onDate?: (sample: { origin: string; offsetMs: number; roundTripMs: number }) => void;
}

export interface Http {
  /** Sends an operation to its base address. */
  readonly transport: Transport;
  /** Sends to any address; redirects are never followed, because the credentials would leak (S-198). */
  raw(request: RawRequest): Promise<WireAnswer | WireFailure>;
  /** Every connection is given up for a fresh one; requests under way may end on the old ones. */
  renew(): void;
  close(): Promise<void>;
}

/**
 * HTTP over undici with siteward's own rules: a pool per origin, deadlines that cover connecting, capped answers, no
 * redirects. Throws `config_invalid` for a base address that must not be used.
 */
export function createHttp(options: HttpOptions): Http {
  for (const { url, key } of Object.values(options.bases)) {
    const problem = cloudUrlProblem(url);
    if (problem !== undefined) throw new SitewardError('config_invalid', `${key}: ${problem}`, { facts: { key, url } });
  }
  const pools = createPools({
    connections: options.connections ?? 14,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  const { clock, userAgent = 'siteward', answerCap = 10 * 1024 * 1024 } = options;
  const bases = new Map(Object.entries(options.bases).map(([name, { url }]) => [name, url.replace(/\/+$/, '')]));

  async function raw(request: RawRequest): Promise<WireAnswer | WireFailure> {
    const url = new URL(request.url);
    let result = await attempt(url, request);
    // A kept socket that the server just closed looks like a reset. One fresh try, if the request can be sent again.
    const again = request.repeatable && (request.body === undefined || !('pipe' in Object(request.body)));
    if (result.kind === 'failure' && result.failure === 'reset' && again) result = await attempt(url, request);
    return result;
  }

  async function attempt(url: URL, request: RawRequest): Promise<WireAnswer | WireFailure> {
    const pool = pools.of(url.origin);
    try {
      const answer = await exchange(pool, {
        path: url.pathname + url.search,
        method: request.method as Dispatcher.HttpMethod,
        headers: { 'user-agent': userAgent, ...request.headers },
        body: request.body ?? null,
        // undici sends POSTs of one connection one after another unless it is told that they may be repeated.
        idempotent: request.repeatable,
        signal: request.signal,
        deadlineMs: request.deadlineMs,
        answerCap,
        now: clock.monotonic,
      });
      tellDate(url.origin, answer);
      return answer;
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      const failure = error instanceof TooLarge ? tooLarge(url, error) : failureOf(error, url.host);
      if (failure.failure === 'timeout') pools.retire(url.origin, pool);
      return failure;
    }
  }

  function tellDate(origin: string, { headers: { date }, sentMono, headMono }: WireAnswer): void {
    if (options.onDate === undefined || date === undefined) return;
    const server = Date.parse(date);
    if (Number.isNaN(server)) return;
    const middleWall = clock.wall() - (clock.monotonic() - headMono) - (headMono - sentMono) / 2;
    options.onDate({ origin, offsetMs: server - middleWall, roundTripMs: headMono - sentMono });
  }

  const transport: Transport = async ({ operation, target, headers, body, signal, deadlineMs }) => {
    const base = bases.get(operation.base);
    if (base === undefined) {
      const message = `${operation.id}: the configuration has no address "${operation.base}" for it`;
      return { kind: 'failure', failure: 'forbidden_address', message };
    }
    return raw({
      url: base + target,
      method: operation.method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal,
      deadlineMs: deadlineMs ?? options.deadlineMs ?? 15_000,
      // Whoever deletes must know that a reply was lost: only then does the 404 to a repeat mean that it is done (S-196).
      repeatable: operation.repeatable !== 'no' && operation.method !== 'DELETE',
    });
  };

  return { transport, raw, renew: () => pools.renew(), close: () => pools.close() };
}

const tooLarge = (url: URL, error: Error): WireFailure => ({
  kind: 'failure',
  failure: 'too_large',
  message: `${url.host}: the answer is larger than siteward takes (${error.message})`,
});

import { armingStateOf, type CloudClient, cloudTime, nothingSent, retryAfterMs } from '#cloud/client/index.ts';
import { type ArmingStatusForm, armingStatusBody } from '#cloud/contract/index.ts';
import type { WireAnswer, WireFailure } from '#lib/contract/client.ts';
import { withDeadline } from '#lib/wait.ts';
import type { CloudStatus, SyncInput } from '#site/core/index.ts';

/** The site in the paths of the partner interface. */
export interface Place {
  readonly dealerId: string;
  readonly siteId: string;
}

export type StatusCalls = Pick<CloudClient['api'], 'getArmingStatus' | 'updateArmingStatus'>;

type Bare<K extends SyncInput['kind'], Gone extends string = 'at' | 'request'> =
  Extract<SyncInput, { kind: K }> extends infer I ? (I extends unknown ? Omit<I, Gone> : never) : never;
export type ReadOutcome = Bare<'polled', 'at' | 'request' | 'id'> | Bare<'pollFailed'>;
export type WriteOutcome = Bare<'putAnswered'> | Bare<'putFailed'>;

export interface RequestOptions {
  readonly api: StatusCalls;
  readonly place: Place;
  readonly form: ArmingStatusForm;
  readonly wall: () => number;
  readonly signal: AbortSignal;
}

/** For the whole exchange, the token included: an answer that comes later says nothing about the present. */
const deadlineMs = 8_000;
/** What somebody on the way has kept says nothing about the present either. */
const uncached = { 'cache-control': 'no-cache' } as const;

/** One read of the arming status. Rejects only with the reason of the signal. */
export async function readStatus({ api, place, signal, wall }: RequestOptions): Promise<ReadOutcome> {
  const result = await ended(signal, (cut) =>
    api.getArmingStatus({ params: place, headers: uncached, signal: cut, deadlineMs }),
  );
  if (result === 'late') return { kind: 'pollFailed', why: 'unreachable' };
  if (result.kind === 'failure') return { kind: 'pollFailed', ...readFailure(result) };
  const { status, headers } = result;
  if (status >= 200 && status < 300 && result.json !== undefined)
    return { kind: 'polled', ...seen(result.json, headers) };
  if (status === 404) return { kind: 'pollFailed', why: 'gone' };
  if (status === 429 || (status === 503 && headers['retry-after'] !== undefined)) {
    return { kind: 'pollFailed', why: 'throttled', ...waitOf(headers, wall()) };
  }
  const passing = status < 300 || status === 408 || status === 425 || status >= 500;
  return { kind: 'pollFailed', why: passing ? 'unreachable' : 'refused' };
}

/**
 * One write. What may have been done, or may still arrive, is `lost` (C4): no answer in time, a 5xx, and a 2xx in a
 * form that no cloud gives, which something on the line may have made up.
 */
export async function writeStatus(options: RequestOptions, status: CloudStatus): Promise<WriteOutcome> {
  const { api, place, form, signal, wall } = options;
  const encoded = JSON.stringify(armingStatusBody(form, status));
  const result = await ended(signal, (cut) =>
    api.updateArmingStatus({ params: place, encoded, signal: cut, deadlineMs }),
  );
  if (result === 'late') return { kind: 'putFailed', why: 'lost' };
  if (result.kind === 'failure') return { kind: 'putFailed', why: writeFailure(result) };
  const { status: code, headers } = result;
  if (code >= 200 && code < 300) {
    if (result.json === undefined && result.body.length > 0) return { kind: 'putFailed', why: 'lost' };
    const { value, version, writtenAt, answeredAt } = seen(result.json, headers);
    return {
      kind: 'putAnswered',
      ...(value !== 'unknown' && { value }),
      ...(version !== undefined && { version }),
      ...(writtenAt !== undefined && { writtenAt }),
      ...(answeredAt !== undefined && { answeredAt }),
    };
  }
  if (code === 429) return { kind: 'putFailed', why: 'throttled', ...waitOf(headers, wall()) };
  return { kind: 'putFailed', why: refusals[code] ?? (code >= 400 && code < 500 ? 'refused' : 'lost') };
}

type WriteFailed = Extract<SyncInput, { kind: 'putFailed' }>['why'];

/** Any other 4xx says nothing about the body: it is `refused`, and tried again. */
const refusals: Readonly<Record<number, WriteFailed>> = {
  400: 'body',
  404: 'gone',
  408: 'lost',
  409: 'changed',
  412: 'changed',
  413: 'body',
  415: 'body',
  422: 'body',
  425: 'lost',
};

function writeFailure({ failure }: WireFailure): WriteFailed {
  if (failure === 'token_refused') return 'refused';
  return nothingSent.has(failure) ? 'unsent' : 'lost';
}

function readFailure({ failure, retryAfterMs: askedMs }: WireFailure): {
  why: 'refused' | 'throttled' | 'unreachable';
} {
  if (failure === 'token_refused') return { why: 'refused' };
  return askedMs === undefined ? { why: 'unreachable' } : { why: 'throttled', ...{ retryAfterMs: askedMs } };
}

function seen(json: unknown, headers: WireAnswer['headers']) {
  const version = updatedAt(json);
  // A time without seconds cannot be compared.
  const writtenAt = /:\d{2}:\d{2}/.test(version ?? '') ? cloudTime(version) : undefined;
  // An answer that was kept on the way has the `Date` of its making, and that is not when it was given.
  const answeredAt = headers.age === undefined ? Date.parse(headers.date ?? '') : Number.NaN;
  return {
    value: armingStateOf(json),
    ...(version !== undefined && { version }),
    ...(writtenAt !== undefined && { writtenAt }),
    ...(!Number.isNaN(answeredAt) && { answeredAt }),
  };
}

/** `updated_at`, bare or in `data`: never an ETag, which may be the same for equal values. */
function updatedAt(json: unknown): string | undefined {
  const outer = json as { updated_at?: unknown; data?: { updated_at?: unknown } | null } | null;
  if (typeof outer !== 'object' || outer === null) return undefined;
  const text = outer.updated_at ?? outer.data?.updated_at;
  return typeof text === 'string' && text.length <= 64 ? text : undefined;
}

const waitOf = (headers: WireAnswer['headers'], wallMs: number): { retryAfterMs?: number } => {
  const askedMs = retryAfterMs(headers, wallMs);
  return askedMs === undefined ? {} : { retryAfterMs: askedMs };
};

async function ended<T>(signal: AbortSignal, work: (cut: AbortSignal) => Promise<T>): Promise<T | 'late'> {
  try {
    return await withDeadline(deadlineMs, signal, work, 'a request for the arming status');
  } catch (error) {
    if (signal.aborted) throw error;
    return 'late';
  }
}

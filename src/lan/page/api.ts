import { type Deadline, deadlineOf } from './deadline.ts';

/** What the bridge answers when it does not do what was asked (RFC 9457). */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly field: string; readonly detail: string }[];
}

export class ApiError extends Error {
  readonly problem: Problem;
  /** Seconds after which it may be tried again. */
  readonly retryAfterS: number | undefined;

  constructor(problem: Problem, retryAfterS?: number) {
    super(problem.detail ?? problem.title);
    this.name = 'ApiError';
    this.problem = problem;
    this.retryAfterS = retryAfterS;
  }
}

/** The bridge could not be reached; nobody knows whether it has done what was asked. */
export class OfflineError extends Error {
  constructor() {
    super('offline');
    this.name = 'OfflineError';
  }
}

/** There was no answer in time; nobody knows whether it was done. */
export class LateError extends Error {
  constructor() {
    super('no answer in time');
    this.name = 'LateError';
  }
}

/** What answered is not the bridge, or not as it answers; nobody knows whether it was done. */
export class StrangeError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`a strange answer: ${status}`);
    this.name = 'StrangeError';
    this.status = status;
  }
}

export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** How long the answer may not begin; 15 s unless set. Once it has, a part of it must come every 15 s. */
  readonly deadlineMs?: number;
  /** Told how many bytes have come so far. */
  readonly onBytes?: (count: number) => void;
}

export interface Api {
  /** Rejects with `ApiError`, `OfflineError`, `LateError`, `StrangeError` or what the signal says. */
  ask<T>(path: string, ask?: Ask): Promise<T>;
  bytes(path: string, ask?: Ask): Promise<Blob>;
}

const usualMs = 15_000;

/** `onLoggedOut`: an answer said that the session does not count any more. */
export function createApi(onLoggedOut: () => void): Api {
  async function send(path: string, { method = 'GET', body, onBytes }: Ask, deadline: Deadline): Promise<Blob> {
    const answer = await fetch(path, {
      method,
      signal: deadline.signal,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    deadline.moved(usualMs);
    const type = answer.headers.get('content-type') ?? '';
    const read = await wholeOf(answer, type, (count) => {
      deadline.moved(usualMs);
      onBytes?.(count);
    });
    // The bridge gives no page where it is asked for data: this is of something that stands before it.
    if (answer.ok && !type.startsWith('text/html')) return read;
    if (!type.startsWith('application/problem+json')) throw new StrangeError(answer.status);
    const problem = await jsonOf<Problem>(read, answer.status);
    if (problem.code === 'access_needed' && !path.endsWith('/login') && !path.endsWith('/claim')) onLoggedOut();
    const wait = Number(answer.headers.get('retry-after') ?? Number.NaN);
    throw new ApiError(problem, Number.isFinite(wait) ? wait : undefined);
  }

  async function bytes(path: string, ask: Ask = {}): Promise<Blob> {
    const { signal, deadlineMs = usualMs } = ask;
    const deadline = deadlineOf(deadlineMs, ...(signal === undefined ? [] : [signal]));
    try {
      return await send(path, ask, deadline);
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline.signal.aborted) throw new LateError();
      throw error instanceof TypeError ? new OfflineError() : error;
    } finally {
      deadline.clear();
    }
  }

  return { ask: async <T>(path: string, ask?: Ask) => jsonOf<T>(await bytes(path, ask), 200), bytes };
}

/** Told with each part that comes. */
async function wholeOf(answer: Response, type: string, onBytes: (count: number) => void): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  const reader = answer.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    parts.push(next.value);
    count += next.value.length;
    onBytes(count);
  }
  return new Blob(parts, { type });
}

async function jsonOf<T>(read: Blob, status: number): Promise<T> {
  const text = await read.text();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as T;
  } catch {
    // Told below: no JSON either.
  }
  throw new StrangeError(status);
}

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, test } from 'vitest';
import { type Answer, type Ask, type Loose, type Method, send } from './http.ts';
import { openTarget, type Target } from './target.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test was skipped, for the summary of `npm run conformance`. */
    reason?: string;
  }
}

/** Thrown where a test finds that the service under test lacks what it needs. */
class NotPossible extends Error {}

export type TokenKind = 'partner' | 'user' | 'event' | 'api_key';
export type Base = 'base' | 'auth' | 'ext';

export interface Service {
  readonly target: () => Target;
  /** One test. The title begins with the number of the rule in the checklist. */
  rule(title: string, body: () => Promise<void>): void;
  /** One request to the service, plain. */
  call(method: Method, path: string, ask?: Ask & { readonly to?: Base }): Promise<Answer>;
  /** One request to the control path; without one the test is skipped. */
  control(method: Method, path: string, json?: unknown): Promise<Loose>;
  token(kind: TokenKind, options?: TokenOptions): Promise<string>;
  /** Ends the test as skipped unless the value is there. */
  need<T>(value: T | undefined, reason: string): T;
  /** Does something with the service's clock moved, and puts it back. */
  withClock<T>(offsetS: number, body: () => Promise<T>): Promise<T>;
}

export interface TokenOptions {
  readonly dealers?: readonly number[];
  /** Seconds; negative for one that has expired. */
  readonly expires_in?: number;
  readonly may_ingest?: boolean;
}

export const needsControl = 'needs a control path';

/** Opens the service before the tests of a file and closes it after them. Call it once, at the top of the file. */
export function conformance(): Service {
  let opened: Target | undefined;
  const made: Made[] = [];
  beforeAll(async () => {
    opened = await openTarget();
  });
  afterAll(async () => {
    for (const { url, token } of made.reverse()) await send('DELETE', url, { token });
    await opened?.stop();
  });
  const target = (): Target => {
    if (opened === undefined) throw new Error('the service is not open yet');
    return opened;
  };
  const service: Service = {
    target,
    rule: (title, body) => register(title, body),
    call: async (method, path, { to = 'base', ...ask } = {}) => {
      const base = target()[`${to}Url`];
      const answer = await send(method, `${base}${path}`, ask);
      const top = method === 'POST' && answer.status === 201 ? topOf(path, answer) : undefined;
      if (top !== undefined && !target().control) made.push({ url: `${base}${top}`, token: ask.token });
      return answer;
    },
    control: async (method, path, json) => {
      service.need(target().control || undefined, needsControl);
      const answer = await service.call(method, `/__sandbox${path}`, json === undefined ? {} : { json });
      if (answer.status > 299) throw new Error(`control path: ${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.json ?? {};
    },
    token: (kind, options) => tokenOf(service, kind, options),
    need: (value, reason) => {
      if (value === undefined) throw new NotPossible(reason);
      return value;
    },
    withClock: async (offset_s, body) => {
      await service.control('POST', '/clock', { offset_s });
      try {
        return await body();
      } finally {
        await service.control('POST', '/clock', { offset_s: 0 });
      }
    },
  };
  return service;
}

/** Made in a dealer that was given, which is somebody's: it is deleted at the end. */
interface Made {
  readonly url: string;
  readonly token: string | undefined;
}

/** The path of a new site or station; all else goes with its site. */
function topOf(path: string, { json }: Answer): string | undefined {
  const list = path.replace(/\?.*/, '');
  if (list.endsWith('/sites')) return `${list}/${json?.site_id}`;
  return list.endsWith('/monitoring-stations') ? `${list}/${json?.monitoring_station_id}` : undefined;
}

function register(title: string, body: () => Promise<void>): void {
  test(title, async (context) => {
    try {
      await body();
    } catch (error) {
      if (!(error instanceof NotPossible)) throw error;
      context.task.meta.reason = error.message;
      context.skip(error.message);
    }
  });
}

/** A token the control path makes, or the one that was given. One with wishes needs the control path. */
async function tokenOf(service: Service, kind: TokenKind, options?: TokenOptions): Promise<string> {
  const { control, given } = service.target();
  if (!control && options === undefined) {
    const known = {
      partner: given.partnerToken,
      user: given.userToken,
      event: given.eventToken,
      api_key: given.apiKey,
    }[kind];
    return service.need(known, `needs a control path or a token of kind ${kind}`);
  }
  const { token } = await service.control('POST', '/tokens', { kind, ...options });
  return String(token);
}

/** A name nobody used before, so that the suite can run twice against one service. */
export const unique = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 13)}`;

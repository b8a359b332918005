import type { Logger } from 'pino';
import { type cloudOperations, jwtBearerGrant, type jwtBearerToken } from '#cloud/contract/index.ts';
import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Answer, Client, WireFailure } from '#lib/contract/client.ts';
import { Secret } from '#lib/secret.ts';
import { type SigningKey, signAssertion } from './assertion.ts';
import { retryAfterMs } from './retry-after.ts';
import { serverClock } from './server-clock.ts';

export interface Token {
  readonly kind: 'token';
  readonly value: Secret;
  /** Counts tokens; `invalidate` needs it, so that a late 401 does not discard a newer token. */
  readonly generation: number;
}

/** A source of access tokens. One request at a time goes to the token server, however many callers wait. */
export interface TokenSource {
  /** A token that is valid for a while, or why there is none. Rejects only with the reason of the signal. */
  get(signal: AbortSignal): Promise<Token | WireFailure>;
  /** The server refused the token of this generation; ignored when a newer one is there already. */
  invalidate(generation: number): void;
  /** Other keys, for instance after SIGHUP; forgets refusals. */
  reload(keys: SigningKeys): void;
  /** The line is back: a wait after a network failure ends now. Waits after a refusal go on. */
  retryNow(): void;
  state(): TokenState;
}

export interface TokenState {
  readonly valid: boolean;
  /** Server minus local clock, milliseconds; above 10,000 it is worth showing, above 120,000 it is a fault. */
  readonly clockOffsetMs: number;
  readonly fault?: string;
}

export interface SigningKeys {
  readonly current: SigningKey;
  readonly next?: SigningKey;
}

export interface TokenSourceOptions {
  readonly clientId: string;
  /** Sent as `aud`, letter by letter. */
  readonly audience: string;
  readonly keys: SigningKeys;
  readonly client: Pick<Client<typeof cloudOperations>, 'jwtBearerToken'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  /** Ends a request that runs when the daemon stops. */
  readonly signal: AbortSignal;
}

interface Held {
  readonly token: Token;
  readonly softMono: number;
  readonly hardMono: number;
}

type Attempt =
  | { readonly kind: 'token'; readonly accessToken: string; readonly lifeMs: number; readonly sentMono: number }
  | { readonly kind: 'refused'; readonly error: string; readonly clockMoved: boolean }
  | { readonly kind: 'unreachable'; readonly message: string; readonly retryAfterMs?: number };

const minute = 60_000;
/** Waits after a refusal, milliseconds; the last one repeats (notes/oauth.md 3.6). */
const refusalWaits = [minute, 5 * minute, 15 * minute, 30 * minute] as const;

/** Access tokens by the JWT bearer grant, after the nine points of notes/oauth.md section 3. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { clock, log } = options;
  const random = options.random ?? Math.random;
  const time = serverClock(clock);
  const networkWaits = backoff({ baseMs: 1_000, capMs: 5 * minute, random });
  let keys = options.keys;
  let signWith: 'current' | 'next' = 'current';
  let held: Held | undefined;
  let generation = 0;
  /** Rises with each invalidation; a refresh that began before is not kept. */
  let epoch = 0;
  let flight: { readonly epoch: number; readonly done: Promise<Token | WireFailure> } | undefined;
  let blocked: { readonly untilMono: number; readonly failure: WireFailure } | undefined;
  let refusals = 0;

  function startFlight(): { readonly epoch: number; readonly done: Promise<Token | WireFailure> } {
    if (flight?.epoch === epoch) return flight;
    const mine = { epoch, done: refresh(epoch) };
    flight = mine;
    const clear = () => {
      if (flight === mine) flight = undefined;
    };
    mine.done.then(clear, clear);
    return mine;
  }

  async function refresh(startedIn: number): Promise<Token | WireFailure> {
    let result = await attempt(signWith);
    if (result.kind === 'refused' && result.clockMoved) result = await attempt(signWith);
    if (result.kind === 'refused' && result.error === 'invalid_grant' && keys.next !== undefined) {
      const other = signWith === 'current' ? 'next' : 'current';
      const second = await attempt(other);
      if (second.kind === 'token') {
        signWith = other;
        log.info({ key: other, kid: keys[other]?.keyId }, 'the token server takes the other key now');
      }
      if (second.kind !== 'refused') result = second;
    }
    return startedIn === epoch ? settle(result) : outdated;
  }

  async function attempt(which: 'current' | 'next'): Promise<Attempt> {
    const key = keys[which] ?? keys.current;
    const usedOffset = time.offsetMs();
    let assertion: string;
    try {
      const nowMs = clock.wall() + usedOffset;
      const signed = await signAssertion(key, { clientId: options.clientId, audience: options.audience, nowMs });
      log.debug({ ...signed.facts, offsetMs: usedOffset }, 'asking for an access token');
      assertion = signed.assertion;
    } catch (error) {
      return { kind: 'refused', error: describe(error), clockMoved: false };
    }
    const body = { grant_type: jwtBearerGrant, assertion };
    const answer = await options.client.jwtBearerToken({ body, signal: options.signal });
    if (answer.kind === 'failure') return { kind: 'unreachable', message: answer.message };
    // Only JSON surely comes from the token server; a portal's page has its own clock.
    if (answer.json !== undefined) time.learn({ date: answer.headers.date, ...answer });
    return readAnswer(answer, usedOffset);
  }

  function readAnswer(answer: Answer<typeof jwtBearerToken>, usedOffset: number): Attempt {
    const body = objectOf(answer.json);
    const accepted = answer.status >= 200 && answer.status < 300;
    if (accepted && typeof body.access_token === 'string' && body.access_token !== '' && isBearer(body.token_type)) {
      return {
        kind: 'token',
        accessToken: body.access_token,
        lifeMs: lifeOf(body.expires_in),
        sentMono: answer.sentMono,
      };
    }
    const transient = answer.status === 408 || answer.status === 429 || answer.status >= 500;
    if (answer.json === undefined || transient || answer.status < 400) {
      const wait = retryAfterMs(answer.headers, clock.wall());
      return {
        kind: 'unreachable',
        message: transient
          ? `the token server answered with status ${answer.status}`
          : 'what answered is not the token server; something on the line may answer in its place',
        ...(wait === undefined ? {} : { retryAfterMs: wait }),
      };
    }
    const error = typeof body.error === 'string' ? body.error.slice(0, 64) : `status ${answer.status}`;
    if (error === 'invalid_grant') time.trustNewest();
    return { kind: 'refused', error, clockMoved: Math.abs(time.offsetMs() - usedOffset) > 3_000 };
  }

  function lifeOf(expiresIn: unknown): number {
    if (expiresIn === undefined || expiresIn === null || expiresIn === '') return 600_000;
    const seconds = Number(expiresIn);
    if (!Number.isFinite(seconds)) return 600_000;
    if (seconds > 0) return Math.min(seconds, 30 * 86_400) * 1000;
    log.warn({ expiresIn: seconds }, 'the token server gave a token that is already over; it is used for 30 s');
    return 30_000;
  }

  function settle(result: Attempt): Token | WireFailure {
    if (result.kind === 'token') {
      networkWaits.reset();
      refusals = 0;
      blocked = undefined;
      generation += 1;
      held = hold(result);
      return held.token;
    }
    const { failure, waitMs } = result.kind === 'refused' ? refused(result.error) : unreachable(result);
    blocked = { untilMono: clock.monotonic() + waitMs, failure };
    return { ...failure, retryAfterMs: waitMs };
  }

  function hold(result: Attempt & { kind: 'token' }): Held {
    const { lifeMs, sentMono } = result;
    return {
      token: { kind: 'token', value: new Secret(result.accessToken), generation },
      // Shares of the life, never fixed seconds: a 300 s margin on a 300 s token would ask on every call.
      softMono: sentMono + lifeMs * (0.8 + (random() - 0.5) * 0.1),
      hardMono: sentMono + lifeMs - Math.min(30_000, lifeMs * 0.2),
    };
  }

  function unreachable(result: Attempt & { kind: 'unreachable' }) {
    const asked = Math.min(result.retryAfterMs ?? 0, 60 * minute);
    const failure = failed('token_unreachable', `no access token: ${result.message}`);
    return { failure, waitMs: Math.max(asked, networkWaits.next()) };
  }

  function refused(error: string) {
    const waitMs = refusalWaits[Math.min(refusals, refusalWaits.length - 1)] ?? 30 * minute;
    refusals += 1;
    const kid = keys[signWith]?.keyId ?? 'none';
    const offsetS = Math.round(time.offsetMs() / 1000);
    const message =
      `the token server refused this client (${error}). Check the key (kid ${kid}), the clock of this machine ` +
      `(off by ${offsetS} s), the audience (${options.audience}) and the client id (${options.clientId})`;
    return { failure: failed('token_refused', message), waitMs };
  }

  return {
    async get(signal) {
      for (;;) {
        signal.throwIfAborted();
        const now = clock.monotonic();
        const waiting = blocked !== undefined && now < blocked.untilMono;
        if (held !== undefined && now < held.hardMono) {
          // In the soft window the old token still serves, also when the refresh fails.
          if (now >= held.softMono && !waiting) startFlight().done.catch(() => {});
          return held.token;
        }
        if (blocked !== undefined && waiting) return { ...blocked.failure, retryAfterMs: blocked.untilMono - now };
        const mine = startFlight();
        const result = await unlessAborted(mine.done, signal);
        if (result !== outdated) return result;
      }
    },
    invalidate(refusedGeneration) {
      if (held?.token.generation !== refusedGeneration) return;
      held = undefined;
      epoch += 1;
    },
    reload(next) {
      keys = next;
      signWith = 'current';
      held = undefined;
      blocked = undefined;
      refusals = 0;
      epoch += 1;
    },
    retryNow() {
      if (blocked?.failure.failure !== 'token_unreachable') return;
      blocked = undefined;
      networkWaits.reset();
    },
    state: () => ({
      valid: held !== undefined && clock.monotonic() < held.hardMono,
      clockOffsetMs: time.offsetMs(),
      ...(blocked === undefined ? {} : { fault: blocked.failure.message }),
    }),
  };
}

const failed = (failure: WireFailure['failure'], message: string): WireFailure => ({
  kind: 'failure',
  failure,
  message,
});

/** The result of a refresh that began before the last invalidation: dropped, its waiters ask again. */
const outdated: WireFailure = Object.freeze(failed('token_unreachable', 'outdated'));

const objectOf = (json: unknown): Readonly<Record<string, unknown>> =>
  typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};

const isBearer = (type: unknown): boolean =>
  type === undefined || (typeof type === 'string' && type.toLowerCase() === 'bearer');

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

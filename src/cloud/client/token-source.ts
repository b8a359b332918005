import type { Logger } from 'pino';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Answer, WireFailure } from '#lib/contract/client.ts';
import { Secret } from '#lib/secret.ts';
import { unlessAborted } from '#lib/wait.ts';
import { objectOf } from './json.ts';
import { retryAfterMs } from './retry-after.ts';

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
  /** The line is back: a wait after a network failure ends now. Waits after a refusal, or asked for, go on. */
  retryNow(): void;
  /** An alarm waits: after a network failure the server is asked again within a minute of it, unless it asked for more. */
  hurry(): void;
  state(): TokenState;
}

export interface TokenState {
  readonly valid: boolean;
  readonly fault?: string;
}

/** What one request to a token server came to. */
export type Attempt =
  | { readonly kind: 'token'; readonly accessToken: string; readonly lifeMs: number; readonly sentMono: number }
  | { readonly kind: 'refused'; readonly error: string }
  | {
      readonly kind: 'unreachable';
      readonly message: string;
      /** Where it is more than a line that is down. */
      readonly failure?: WireFailure['failure'];
      readonly retryAfterMs?: number;
    };

export interface GrantOptions {
  /** Asks the token server; never rejects but for the end of the daemon. */
  attempt(): Promise<Attempt>;
  /** For people: what the refusal may come from, with the local values to compare. */
  refusal(error: string): string;
  readonly clock: Clock;
  readonly random?: () => number;
}

interface Held {
  readonly token: Token;
  readonly softMono: number;
  readonly hardMono: number;
}

interface Flight {
  readonly epoch: number;
  readonly sinceMono: number;
  readonly done: Promise<Token | WireFailure>;
}

const minute = 60_000;
const hungMs = 2_000;
/** Waits after a refusal, milliseconds; the last one repeats. */
const refusalWaits = [minute, 5 * minute, 15 * minute, 30 * minute] as const;

/**
 * What every grant shares: one request at a time, refresh in the background while the old token still serves, waits after
 * failures and refusals. `restart` forgets all of it.
 */
export function tokenSource(options: GrantOptions): TokenSource & { restart(): void } {
  const { clock } = options;
  const random = options.random ?? Math.random;
  const networkWaits = backoff({ baseMs: 1_000, capMs: 5 * minute, random, jitter: 'full' });
  let held: Held | undefined;
  let generation = 0;
  /** Rises with each invalidation; a refresh that began before is not kept. */
  let epoch = 0;
  let flight: Flight | undefined;
  /** Nobody asks before `untilMono`; news of the line ends that, though not before `askedMono`: the server asked for it. */
  let blocked:
    | {
        readonly sinceMono: number;
        readonly untilMono: number;
        readonly askedMono: number;
        readonly failure: WireFailure;
      }
    | undefined;
  let refusals = 0;

  function startFlight(): Flight {
    if (flight?.epoch === epoch) return flight;
    const mine = { epoch, sinceMono: clock.monotonic(), done: refresh(epoch) };
    flight = mine;
    const clear = () => {
      if (flight === mine) flight = undefined;
    };
    mine.done.then(clear, clear);
    return mine;
  }

  async function refresh(startedIn: number): Promise<Token | WireFailure> {
    const result = await options.attempt();
    return startedIn === epoch ? settle(result) : outdated;
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
    const { failure, waitMs, askedMs } = result.kind === 'refused' ? refused(result.error) : unreachable(result);
    const now = clock.monotonic();
    blocked = { sinceMono: now, untilMono: now + waitMs, askedMono: now + askedMs, failure };
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
    const { failure: kind = 'token_unreachable' } = result;
    const failure = failed(kind, `no access token: ${result.message}`);
    // As for a certificate of the cloud (status-table.ts): somebody may set the clock at any moment.
    const capMs = kind === 'tls_time' ? minute : Number.POSITIVE_INFINITY;
    return { failure, waitMs: Math.max(asked, Math.min(networkWaits.next(), capMs)), askedMs: asked };
  }

  function refused(error: string) {
    const waitMs = refusalWaits[Math.min(refusals, refusalWaits.length - 1)] ?? 30 * minute;
    refusals += 1;
    return { failure: failed('token_refused', options.refusal(error)), waitMs, askedMs: waitMs };
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
    restart() {
      held = undefined;
      blocked = undefined;
      refusals = 0;
      epoch += 1;
    },
    retryNow() {
      // A request that has hung for so long went out on the old line; who waits for it asks anew.
      if (flight !== undefined && clock.monotonic() - flight.sinceMono > hungMs) epoch += 1;
      if (blocked === undefined || isRefused(blocked.failure)) return;
      networkWaits.reset();
      blocked = clock.monotonic() < blocked.askedMono ? { ...blocked, untilMono: blocked.askedMono } : undefined;
    },
    hurry() {
      if (blocked === undefined || isRefused(blocked.failure)) return;
      const untilMono = Math.min(blocked.untilMono, Math.max(blocked.askedMono, blocked.sinceMono + minute));
      blocked = { ...blocked, untilMono };
    },
    state: () => ({
      valid: held !== undefined && clock.monotonic() < held.hardMono,
      ...(blocked === undefined ? {} : { fault: blocked.failure.message }),
    }),
  };
}

const isRefused = ({ failure }: WireFailure): boolean => failure === 'token_refused';

/** A clock that is wrong and somebody else on the line are told as what they are: a person must do something about them. */
const toldAsSuch: ReadonlySet<WireFailure['failure']> = new Set(['tls_time', 'tls_untrusted', 'tls_name']);

export const notReached = ({ failure, message }: WireFailure): Attempt => ({
  kind: 'unreachable',
  message,
  ...(toldAsSuch.has(failure) && { failure }),
});

/** Reads what a token server answered (RFC 6749 5.1 and 5.2), tolerantly. */
export function readGrant(answer: Answer<unknown>, clock: Clock, log: Logger): Attempt {
  const body = objectOf(answer.json) ?? {};
  const accepted = answer.status >= 200 && answer.status < 300;
  if (accepted && typeof body.access_token === 'string' && body.access_token !== '' && isBearer(body.token_type)) {
    return {
      kind: 'token',
      accessToken: body.access_token,
      lifeMs: lifeOf(body.expires_in, log),
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
  return {
    kind: 'refused',
    error: typeof body.error === 'string' ? body.error.slice(0, 64) : `status ${answer.status}`,
  };
}

function lifeOf(expiresIn: unknown, log: Logger): number {
  if (expiresIn === undefined || expiresIn === null || expiresIn === '') return 600_000;
  const seconds = Number(expiresIn);
  if (!Number.isFinite(seconds)) return 600_000;
  if (seconds > 0) return Math.min(seconds, 30 * 86_400) * 1000;
  log.warn({ expiresIn: seconds }, 'the token server gave a token that is already over; it is used for 30 s');
  return 30_000;
}

export const failed = (failure: WireFailure['failure'], message: string): WireFailure => ({
  kind: 'failure',
  failure,
  message,
});

/** The result of a refresh that began before the last invalidation: dropped, its waiters ask again. */
const outdated: WireFailure = Object.freeze(failed('token_unreachable', 'outdated'));

const isBearer = (type: unknown): boolean =>
  type === undefined || (typeof type === 'string' && type.toLowerCase() === 'bearer');

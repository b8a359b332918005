import type { Logger } from 'pino';
import { type cloudOperations, jwtBearerGrant } from '#cloud/contract/index.ts';
import { describe } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { Client } from '#lib/contract/client.ts';
import { type SigningKey, signAssertion } from './assertion.ts';
import { serverClock } from './server-clock.ts';
import { type Attempt, notReached, readGrant, type TokenSource, type TokenState, tokenSource } from './token-source.ts';

export interface SigningKeys {
  readonly current: SigningKey;
  readonly next?: SigningKey;
}

/** Tokens that are signed for: the keys can change, and the server's time is learned on the way. */
export interface EventTokenSource extends TokenSource {
  /** Other keys, for instance after SIGHUP; forgets refusals. */
  reload(keys: SigningKeys): void;
  /** `clockOffsetMs`: server minus local clock, milliseconds; above 10,000 worth showing, above 120,000 a fault. */
  state(): TokenState & { readonly clockOffsetMs: number };
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

type Signed = Attempt | { readonly kind: 'refused'; readonly error: string; readonly clockMoved: boolean };

/** Access tokens by the JWT bearer grant (RFC 7523). */
export function createTokenSource(options: TokenSourceOptions): EventTokenSource {
  const { clock, log } = options;
  const time = serverClock(clock);
  let keys = options.keys;
  let signWith: 'current' | 'next' = 'current';

  /** A refusal is tried once more when the clock was just corrected, then with the other key. */
  async function attempt(): Promise<Attempt> {
    let result = await ask(signWith);
    if (result.kind === 'refused' && 'clockMoved' in result && result.clockMoved) result = await ask(signWith);
    if (result.kind === 'refused' && result.error === 'invalid_grant' && keys.next !== undefined) {
      const other = signWith === 'current' ? 'next' : 'current';
      const second = await ask(other);
      if (second.kind === 'token') {
        signWith = other;
        log.info({ key: other, kid: keys[other]?.keyId }, 'the token server takes the other key now');
      }
      if (second.kind !== 'refused') result = second;
    }
    return result;
  }

  async function ask(which: 'current' | 'next'): Promise<Signed> {
    const key = keys[which] ?? keys.current;
    const usedOffset = time.offsetMs();
    let signed: Awaited<ReturnType<typeof signAssertion>>;
    try {
      const nowMs = clock.wall() + usedOffset;
      signed = await signAssertion(key, { clientId: options.clientId, audience: options.audience, nowMs });
    } catch (error) {
      return { kind: 'refused', error: describe(error) };
    }
    const body = { grant_type: jwtBearerGrant, assertion: signed.assertion };
    const answer = await options.client.jwtBearerToken({ body, signal: options.signal });
    if (answer.kind === 'failure') return notReached(answer);
    // Only JSON surely comes from the token server; a portal's page has its own clock.
    if (answer.json !== undefined) time.learn({ date: answer.headers.date, ...answer });
    const result = readGrant(answer, clock, log);
    if (result.kind !== 'refused') return result;
    // Only then: a token that is granted would tell that something was sent, which may be a silent call (safety 4).
    log.debug({ ...signed.facts, offsetMs: usedOffset }, 'the token server refused an assertion');
    if (result.error === 'invalid_grant') time.trustNewest();
    return { ...result, clockMoved: Math.abs(time.offsetMs() - usedOffset) > 3_000 };
  }

  function refusal(error: string): string {
    const kid = keys[signWith]?.keyId ?? 'none';
    const offsetS = Math.round(time.offsetMs() / 1000);
    return (
      `the token server refused this client (${error}). Check the key (kid ${kid}), the clock of this machine ` +
      `(off by ${offsetS} s), the audience (${options.audience}) and the client id (${options.clientId})`
    );
  }

  const { restart, ...source } = tokenSource({ ...options, attempt, refusal });
  return {
    ...source,
    reload(next) {
      keys = next;
      signWith = 'current';
      restart();
    },
    state: () => ({ ...source.state(), clockOffsetMs: time.offsetMs() }),
  };
}

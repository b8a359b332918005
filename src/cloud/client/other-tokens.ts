import type { Logger } from 'pino';
import { clientCredentialsGrant, type cloudOperations } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Client } from '#lib/contract/client.ts';
import type { Secret } from '#lib/secret.ts';
import { failed, notReached, readGrant, type TokenSource, tokenSource } from './token-source.ts';

export interface ClientCredentials {
  readonly clientId: string;
  readonly secret: Secret;
}

export interface ClientCredentialsOptions extends ClientCredentials {
  readonly client: Pick<Client<typeof cloudOperations>, 'clientCredentialsToken'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  /** Ends a request that runs when the daemon stops. */
  readonly signal: AbortSignal;
}

/** Access tokens of the partner interface (S-030). Id and secret go into the body, which every server reads alike. */
export function clientCredentialsSource(options: ClientCredentialsOptions): TokenSource {
  const { client, clientId, clock, log, secret, signal } = options;
  return tokenSource({
    ...options,
    async attempt() {
      const body = { grant_type: clientCredentialsGrant, client_id: clientId, client_secret: secret.reveal() };
      const answer = await client.clientCredentialsToken({ body, signal });
      if (answer.kind === 'failure') return notReached(answer);
      return readGrant(answer, clock, log);
    },
    refusal: (error) =>
      `the token server refused this client (${error}). Check client id (${clientId}) and client secret`,
  });
}

/** A source whose token can be dropped for good. */
export interface GivenToken extends TokenSource {
  /** The token is used no more: a user-bound one is given once and forgotten (S-033). */
  forget(): void;
}

/**
 * A token that was given and cannot be renewed: an API key (S-041), or a user-bound token (S-033). A refusal is the
 * answer of each call that meets it; `what` names the token to people.
 */
export function givenToken(value: Secret, what: string): GivenToken {
  let held: Secret | undefined = value;
  return {
    async get(signal) {
      signal.throwIfAborted();
      if (held !== undefined) return { kind: 'token', value: held, generation: 1 };
      return failed('token_refused', `${what} was used and forgotten; give it again`);
    },
    invalidate() {},
    forget() {
      held = undefined;
    },
    retryNow() {},
    hurry() {},
    state: () => ({ valid: held !== undefined }),
  };
}

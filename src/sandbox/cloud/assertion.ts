import { compactVerify, decodeJwt, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import type { ClientBook, RegisteredClient } from './clients.ts';
import type { ReplayMemory } from './tokens.ts';
import type { AssertionRules } from './types.ts';

export type Verdict =
  | { readonly client: RegisteredClient }
  | { readonly refused: string }
  /** The replay memory is full: nothing is wrong with the assertion. */
  | { readonly busy: string };

const number = (name: string) => z.number({ error: `the claim ${name} must be there and be a number` });
const text = (name: string) => z.string({ error: `the claim ${name} must be there and be a string` });

const claimsSchema = z.looseObject({
  iss: text('iss'),
  sub: text('sub'),
  aud: z.union([z.string(), z.array(z.string())], { error: 'the claim aud must be there' }),
  exp: number('exp'),
  iat: number('iat'),
  nbf: number('nbf').optional(),
  jti: text('jti').min(1, 'the claim jti must not be empty').max(255, 'the claim jti is longer than 255 characters'),
});
type Claims = z.infer<typeof claimsSchema>;

/**
 * Checks an assertion as RFC 7523 section 3 and S-034 to S-039 say, in this order: form, algorithm, client, key,
 * signature, claims, replay. The id is used up only when everything else held, so that nobody can burn the ids of
 * others with a bad signature.
 */
export async function verifyAssertion(
  assertion: string,
  options: { clients: ClientBook; replay: ReplayMemory; rules: AssertionRules; nowMs: number },
): Promise<Verdict> {
  const { clients, replay, rules, nowMs } = options;
  const opened = open(assertion);
  if ('refused' in opened) return opened;
  const client = clients.get(opened.claims.iss);
  if (client === undefined) return { refused: 'the issuer (iss) is not a registered client' };
  const signed = await signedBy(client, assertion, opened.kid);
  if (signed !== true) return { refused: signed };
  const wrong = wrongClaim(opened.claims, rules, nowMs / 1000);
  if (wrong !== undefined) return { refused: wrong };
  const until = (opened.claims.exp + rules.toleranceS) * 1000;
  const use = replay.use(JSON.stringify([opened.claims.iss, opened.claims.jti]), until, nowMs);
  if (use === 'used') return { refused: 'the assertion was used before (jti); make a new one for each request' };
  if (use === 'full') return { busy: 'too many assertions are remembered; try again later' };
  return { client };
}

type Opened = { readonly claims: Claims; readonly kid: string | undefined } | { readonly refused: string };

function open(assertion: string): Opened {
  let header: { alg?: unknown; kid?: unknown };
  let payload: unknown;
  try {
    header = decodeProtectedHeader(assertion);
    payload = decodeJwt(assertion);
  } catch {
    return { refused: 'the assertion is not a signed JWT' };
  }
  if (header.alg !== 'RS256') return { refused: 'the algorithm (alg) must be RS256' };
  if (header.kid !== undefined && typeof header.kid !== 'string')
    return { refused: 'the key id (kid) must be a string' };
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) return { refused: claims.error.issues[0]?.message ?? 'the claims are malformed' };
  return { claims: claims.data, kid: header.kid };
}

/** With a key id only that key counts; without one, each key of the client is tried. */
async function signedBy(client: RegisteredClient, assertion: string, kid: string | undefined): Promise<true | string> {
  const candidates = kid === undefined ? client.keys : client.keys.filter((key) => key.kid === kid);
  if (client.keys.length === 0) return 'the client has no registered public key';
  if (candidates.length === 0) return 'the key id (kid) is not one of the client';
  for (const { key } of candidates) {
    const ok = await compactVerify(assertion, key, { algorithms: ['RS256'] }).then(
      () => true,
      () => false,
    );
    if (ok) return true;
  }
  return 'the signature does not fit the registered public key';
}

function wrongClaim(claims: Claims, rules: AssertionRules, now: number): string | undefined {
  const { audience, toleranceS, maxLifetimeS, audArray } = rules;
  if (claims.sub !== claims.iss) return 'the subject (sub) must be the client id, as the issuer (iss) is';
  if (Array.isArray(claims.aud) && !audArray) return 'the audience (aud) must be a string';
  if (![claims.aud].flat().includes(audience)) {
    return `the audience (aud) must be exactly ${audience}, the address of the token server`;
  }
  if (now >= claims.exp + toleranceS) return 'the assertion has expired (exp)';
  if (claims.iat > now + toleranceS) return 'the assertion was issued in the future (iat); check the clock';
  if (claims.nbf !== undefined && claims.nbf > now + toleranceS) return 'the assertion is not valid yet (nbf)';
  if (claims.exp <= claims.iat) return 'the assertion expires (exp) before it was issued (iat)';
  if (claims.exp - claims.iat > maxLifetimeS) return `the assertion is valid for more than ${maxLifetimeS} seconds`;
  if (now - claims.iat > maxLifetimeS + toleranceS) return 'the assertion was issued too long ago (iat)';
  return undefined;
}

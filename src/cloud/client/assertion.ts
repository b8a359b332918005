import { createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, SignJWT } from 'jose';
import { SitewardError } from '#errors.ts';
import type { Secret } from '#lib/secret.ts';

/** An RSA private key in PEM, and the key id the operator gave it, if any. */
export interface SigningKey {
  readonly pem: Secret;
  readonly keyId?: string;
}

/** What may be logged of an assertion. */
interface AssertionFacts {
  readonly jti: string;
  readonly kid?: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
}

/** Seconds an assertion is dated back: a clock that is a little ahead must not make it "issued in the future". */
const backdateS = 30;
const lifeS = 300;

/** Reads a key; throws `cloud_unauthorized` for anything but RSA of 2048 bits or more (RFC 7518 3.3). */
export function readKey(key: SigningKey): KeyObject {
  const bad = (what: string, cause?: unknown) =>
    new SitewardError('cloud_unauthorized', `the private key for events cannot be used: ${what}`, {
      facts: { kid: key.keyId },
      ...(cause === undefined ? {} : { cause }),
    });
  let parsed: KeyObject;
  try {
    parsed = createPrivateKey(key.pem.reveal());
  } catch {
    // The cause could quote the file; it is left out.
    throw bad('it is not a private key in PEM');
  }
  if (parsed.asymmetricKeyType !== 'rsa') throw bad(`it is of type ${parsed.asymmetricKeyType}, RSA is needed`);
  const bits = parsed.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < 2048) throw bad(`it has ${bits} bits, at least 2048 are needed`);
  return parsed;
}

/** Signs a new assertion with a new jti; every try needs its own (S-034, S-037). `nowMs` is the server's time. */
export async function signAssertion(
  key: SigningKey,
  claims: { clientId: string; audience: string; nowMs: number },
): Promise<{ assertion: string; facts: AssertionFacts }> {
  const iat = Math.floor(claims.nowMs / 1000) - backdateS;
  const facts: AssertionFacts = {
    jti: randomUUID(),
    ...(key.keyId === undefined ? {} : { kid: key.keyId }),
    aud: claims.audience,
    iat,
    exp: iat + lifeS,
  };
  const assertion = await new SignJWT({ jti: facts.jti })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(key.keyId === undefined ? {} : { kid: key.keyId }) })
    .setIssuer(claims.clientId)
    .setSubject(claims.clientId)
    .setAudience(claims.audience)
    .setIssuedAt(iat)
    .setExpirationTime(facts.exp)
    .sign(readKey(key));
  return { assertion, facts };
}

/** The public half as PEM for the operator, and its RFC 7638 thumbprint, which serves well as key id. */
export async function publicKeyOf(key: SigningKey): Promise<{ pem: string; thumbprint: string }> {
  const half = createPublicKey(readKey(key));
  return {
    pem: half.export({ type: 'spki', format: 'pem' }).toString(),
    thumbprint: await calculateJwkThumbprint(await exportJWK(half)),
  };
}

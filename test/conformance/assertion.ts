import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The claims of 5.2, good as they are; `members` overrides, an undefined one is left out. */
export function claims(clientId: string, audience: string, members: object = {}): object {
  const iat = Math.floor(Date.now() / 1000);
  return { iss: clientId, sub: clientId, aud: audience, iat, exp: iat + 300, jti: randomUUID(), ...members };
}

/** An assertion by hand, signed with RS256 unless the header names another algorithm. */
export function assertion(payload: object, key: KeyObject, header: object = {}): string {
  const head = { alg: 'RS256', typ: 'JWT', ...header };
  const input = `${base64url(head)}.${base64url(payload)}`;
  return `${input}.${signature(head.alg, Buffer.from(input), key).toString('base64url')}`;
}

function signature(alg: string, input: Buffer, key: KeyObject): Buffer {
  if (alg === 'none') return Buffer.alloc(0);
  if (alg === 'RS384') return sign('sha384', input, key);
  if (alg === 'PS256') return sign('sha256', input, { key, padding: 6, saltLength: 32 });
  // The public half as a secret: the confusion of keys an open list of algorithms allows.
  if (alg === 'HS256')
    return createHmac('sha256', key.export({ type: 'spki', format: 'pem' }))
      .update(input)
      .digest();
  return sign('sha256', input, key);
}

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly publicPem: string;
  readonly privatePem: string;
}

export function keyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    privateKey,
    publicKey,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

import { createPublicKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import type { CloudClient } from './types.ts';

export interface ClientKey {
  readonly kid: string | undefined;
  readonly key: KeyObject;
}

export interface RegisteredClient {
  readonly clientId: string;
  readonly keys: readonly ClientKey[];
  readonly secrets: readonly string[];
  readonly mayIngest: boolean;
  readonly dealers: readonly number[] | undefined;
}

/** Registered applications, at most 1,000; several keys of one client are allowed for rotation (S-043). */
export class ClientBook {
  readonly #clients = new Map<string, RegisteredClient>();

  /** Throws `config_invalid` for a key that is not RSA of at least 2048 bits (RFC 7518 3.3). */
  add(client: CloudClient): void {
    const known = this.#clients.get(client.clientId);
    if (known === undefined && this.#clients.size >= 1000) {
      throw new SitewardError('queue_full', 'The sandbox holds 1,000 clients already; reset it or use one of them.');
    }
    const keys = client.publicKeyPem === undefined ? [] : [{ kid: client.kid, key: readKey(client) }];
    const secrets = client.clientSecret === undefined ? [] : [client.clientSecret];
    this.#clients.set(client.clientId, {
      clientId: client.clientId,
      keys: [...(known?.keys ?? []), ...keys].slice(-8),
      secrets: [...(known?.secrets ?? []), ...secrets].slice(-8),
      mayIngest: client.mayIngest ?? known?.mayIngest ?? true,
      dealers: client.dealers ?? known?.dealers,
    });
  }

  get(clientId: string): RegisteredClient | undefined {
    return this.#clients.get(clientId);
  }

  ids(): string[] {
    return [...this.#clients.keys()];
  }
}

function readKey(client: CloudClient): KeyObject {
  const fail = (why: string, cause?: unknown) =>
    new SitewardError('config_invalid', `The public key of sandbox client ${client.clientId} ${why}.`, {
      facts: { field: 'public_key_pem', why },
      cause,
    });
  let key: KeyObject;
  try {
    key = createPublicKey(client.publicKeyPem ?? '');
  } catch (cause) {
    throw fail('is not a PEM public key', cause);
  }
  if (key.asymmetricKeyType !== 'rsa') throw fail('is not an RSA key');
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) throw fail('is shorter than 2048 bits');
  return key;
}

/** Compares in constant time for texts of the same length. */
export function sameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

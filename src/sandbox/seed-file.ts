import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { describe, SitewardError } from '#errors.ts';
import { type CloudClient, type Seed, seedSchema } from './cloud/index.ts';

/** Reads a seed file. Throws `config_unreadable`, and `config_invalid` with every wrong place. */
export async function readSeed(file: string): Promise<Seed> {
  const text = await readFile(file, 'utf8').catch((cause) => {
    throw new SitewardError('config_unreadable', `The seed file cannot be read: ${describe(cause)}`, { cause });
  });
  const invalid = (why: string, cause?: unknown) =>
    new SitewardError('config_invalid', `The seed file is not valid: ${why}`, { facts: { file }, cause });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
  const seed = seedSchema.safeParse(json);
  if (!seed.success) throw invalid(z.prettifyError(seed.error));
  return seed.data;
}

export const clientsOf = (seed: Seed): CloudClient[] =>
  seed.clients.map((client) => ({
    clientId: client.client_id,
    ...(client.public_key_pem === undefined ? {} : { publicKeyPem: client.public_key_pem }),
    ...(client.kid === undefined ? {} : { kid: client.kid }),
    ...(client.client_secret === undefined ? {} : { clientSecret: client.client_secret }),
    ...(client.may_ingest === undefined ? {} : { mayIngest: client.may_ingest }),
    ...(client.dealers === undefined ? {} : { dealers: client.dealers }),
  }));

import { createPublicKey, generateKeyPair, type JsonWebKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { publicKeyOf, readKey, type SigningKey } from '#cloud/client/index.ts';
import { freeSecretFile, secretFiles, secretFolder, secretsBeside, writeSecrets } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { Owner } from '#lib/durable-file.ts';
import { Secret } from '#lib/secret.ts';
import { resolveSecret, SecretRef, secretRef, secretSources } from '#lib/secret-ref.ts';
import { withFile } from '../named-file.ts';
import { openSiteFile, type SiteFile, secretOwner } from '../site-file.ts';

/** The RSA pairs that sign for events. The private half is made on the box, lies in a file of its own and is never shown. */

/** RFC 7518 3.3 asks for 2048 bits. */
const modulusBits = 3072;
/** `isOurSecret` knows the name, so that siteward may remove the file again. */
const keyName = 'cloud-events-private-key';

/** What everybody may know of a pair. */
export interface PublicHalf {
  /** SubjectPublicKeyInfo in PEM. */
  readonly pem: string;
  readonly jwk: JsonWebKey;
  /** RFC 7638. */
  readonly thumbprint: string;
}

export async function publicHalf(key: SigningKey): Promise<PublicHalf> {
  const { pem, thumbprint } = await publicKeyOf(key);
  const { kty, n, e } = createPublicKey(pem).export({ format: 'jwk' });
  const kid = key.keyId ?? thumbprint;
  return { pem, thumbprint, jwk: { kty, n, e, alg: 'RS256', use: 'sig', kid } as JsonWebKey };
}

export interface FoundKey {
  readonly key: SigningKey;
  /** Where it lies, in words. */
  readonly place: string;
  /** The file, where it is one. */
  readonly path?: string;
  readonly made: boolean;
}

/** Keys of `cloud.events` as they are written, read now. Throws `secret_unreadable`. */
export function writtenKey(site: SiteFile, which: 'current' | 'next'): FoundKey | undefined {
  const events = writtenEvents(site.text);
  const [member, idMember] =
    which === 'current' ? (['private_key', 'key_id'] as const) : (['next_private_key', 'next_key_id'] as const);
  const ref = secretRef.safeParse(events?.[member]);
  if (!ref.success) return undefined;
  const keyId = events?.[idMember];
  return {
    key: { pem: resolveSecret(ref.data, secretSources()), ...(typeof keyId === 'string' && { keyId }) },
    place: String(ref.data),
    ...(ref.data.kind === 'file' && { path: ref.data.name }),
    made: false,
  };
}

export function writtenEvents(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parse(text, { logLevel: 'silent' }) as {
    cloud?: { events?: Readonly<Record<string, unknown>> };
  } | null;
  return value?.cloud?.events;
}

/**
 * The pair of the configuration; without one there, the pair that was made earlier for a registration, or a new one. The file
 * of the configuration need not be there yet. Throws `config_*`, `secret_unreadable`, `file_unusable` and `cloud_unauthorized` for
 * a key that cannot sign.
 */
export async function registrationKey(config: string, { dryRun = false } = {}): Promise<FoundKey> {
  const site = existsSync(config) ? openSiteFile(config) : undefined;
  const written = site === undefined ? undefined : writtenKey(site, 'current');
  if (written !== undefined) {
    readKey(written.key);
    return written;
  }
  const path = join(site === undefined ? secretsBeside(config) : secretFolder(site.file, site.text), keyName);
  if (existsSync(path)) {
    const key = { pem: resolveSecret(new SecretRef('file', path), secretSources()) };
    readKey(key);
    return { key, place: `file ${path}`, path, made: false };
  }
  if (dryRun)
    throw new SitewardError('request_invalid', `there is no key yet; without --dry-run one is made in ${path}`);
  return await makeKey(path, site === undefined ? await ownerBeside(config) : await secretOwner(site));
}

/** A new pair in a file that nothing refers to yet; `before` is told which, before it is there. */
export async function newKey(site: SiteFile, before: (path: string) => Promise<void>): Promise<FoundKey> {
  const folder = secretFolder(site.file, site.text);
  const path = await freeSecretFile(folder, keyName, secretFiles(site.text));
  await before(path);
  return await makeKey(path, await secretOwner(site));
}

async function makeKey(path: string, owner: Owner): Promise<FoundKey> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: modulusBits,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  await withFile(path, () => writeSecrets([{ path, text: privateKey.trimEnd() }], owner));
  return { key: { pem: new Secret(privateKey) }, place: `file ${path}`, path, made: true };
}

/** Only root can give a file away: to whom the folder of the configuration belongs. */
async function ownerBeside(config: string): Promise<Owner> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid !== 0) return { uid, gid };
  return await withFile(dirname(resolve(config)), () => stat(dirname(resolve(config))));
}

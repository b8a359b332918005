import { execFile } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, SitewardError } from '#errors.ts';
import { type Owner, writeDurably } from './durable-file.ts';
import { isMissing } from './system-code.ts';

/**
 * A certificate authority of a site's own and the certificates of its servers. The command `openssl` signs; keys are made here
 * and lie in files that only their owner may read.
 */

const authorityDays = 7300;
const serverDays = 397;
const dayMs = 86_400_000;
/** A server's certificate with less left is made anew. */
const renewBeforeMs = 60 * dayMs;
/** A clock before this was never set: a certificate of such a day would be no good tomorrow. */
const clockFloor = Date.UTC(2026, 0, 1);

export interface CertifiedFiles {
  readonly cert: string;
  readonly key: string;
}

export const authorityFiles = (folder: string): CertifiedFiles => ({
  cert: join(folder, 'ca.crt'),
  key: join(folder, 'ca.key'),
});
export const serverFiles = (folder: string, name = 'server'): CertifiedFiles => ({
  cert: join(folder, `${name}.crt`),
  key: join(folder, `${name}.key`),
});

/** Makes the authority where there is none. Throws `certificate_failed`, and what the system throws. */
export async function ensureAuthority(
  files: CertifiedFiles,
  { name, owner, signal }: { name: string; owner: Owner; signal: AbortSignal },
): Promise<'made' | 'kept'> {
  const now = await readCertificate(files);
  if (now?.ca && now.validToDate.getTime() > Date.now()) return 'kept';
  await ensureKey(files.key, owner);
  const pem = await request(files.key, authorityDays, signal, [
    ...['-subj', `/O=siteward/CN=${plainName(name)}`],
    ...['-addext', 'basicConstraints=critical,CA:TRUE,pathlen:0'],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ]);
  await writeDurably(files.cert, pem, { mode: 0o644, owner });
  return 'made';
}

/**
 * Makes the certificate of a server where there is none, where it names others than these, was signed by another authority,
 * or ends within `renewBeforeMs`. Its key stays what it is. Throws `certificate_failed`, and what the system throws.
 */
export async function ensureServer(
  files: CertifiedFiles,
  options: {
    authority: CertifiedFiles;
    names: readonly string[];
    owner: Owner;
    signal: AbortSignal;
  },
): Promise<'made' | 'kept'> {
  const { authority, names, owner, signal } = options;
  if (!(await isServerDue(files, authority, names))) return 'kept';
  await ensureKey(files.key, owner);
  const sans = names.map((name) => (isIP(name) > 0 ? `IP:${name}` : `DNS:${plainName(name)}`));
  const pem = await request(files.key, serverDays, signal, [
    ...['-CA', authority.cert, '-CAkey', authority.key, '-subj', `/O=siteward/CN=${plainName(names[0] ?? 'siteward')}`],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
    ...['-addext', 'keyUsage=critical,digitalSignature'],
    ...['-addext', 'extendedKeyUsage=serverAuth'],
    ...['-addext', 'authorityKeyIdentifier=keyid'],
    ...['-addext', `subjectAltName=${sans.join(',')}`],
  ]);
  await writeDurably(files.cert, pem, { mode: 0o644, owner });
  return 'made';
}

/** Whether `ensureServer` would make one. */
export async function isServerDue(
  files: CertifiedFiles,
  authority: CertifiedFiles,
  names: readonly string[],
): Promise<boolean> {
  const [server, ca] = [await readCertificate(files), await readCertificate(authority)];
  if (server === undefined || ca === undefined) return true;
  const left = server.validToDate.getTime() - Date.now();
  const known = new Set(namesOf(server));
  return (
    left < renewBeforeMs ||
    server.validFromDate.getTime() > Date.now() ||
    !server.verify(ca.publicKey) ||
    known.size !== new Set(names).size ||
    !names.every((name) => known.has(name))
  );
}

/** The certificate of a file, where it is one and its key is the one beside it. */
async function readCertificate({ cert, key }: CertifiedFiles): Promise<X509Certificate | undefined> {
  try {
    const certificate = new X509Certificate(await readFile(cert));
    return certificate.checkPrivateKey(createPrivateKey(await readFile(key))) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/** Host names and addresses a certificate stands for. */
export const namesOf = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  subjectAltName.split(', ').flatMap((san) => {
    const [kind, ...rest] = san.split(':');
    const value = rest.join(':');
    if (kind === 'DNS') return [value];
    return kind === 'IP Address' ? [shortAddress(value)] : [];
  });

/** What this machine is called and reached under, besides `more`. Link-local addresses are no names of it. */
export function namesOfMachine(more: readonly string[] = []): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address)),
  );
  const host = hostname().toLowerCase();
  const names = [
    ...(isHostName(host) ? [host] : []),
    'localhost',
    '127.0.0.1',
    '::1',
    ...addresses.map(({ address }) => shortAddress(address)),
    ...more.map((name) => (isIP(name) > 0 ? shortAddress(name) : name.toLowerCase())),
  ];
  return [...new Set(names)];
}

/** One spelling for each IPv6 address. */
const shortAddress = (address: string): string =>
  isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;

export const isHostName = (name: string): boolean =>
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(name) && name.length <= 253;

/** Only what has no meaning of its own in the arguments of openssl. */
function plainName(name: string): string {
  if (!/^[A-Za-z0-9. -]{1,64}$/.test(name)) throw new TypeError('this name does not fit into a certificate');
  return name;
}

async function ensureKey(path: string, owner: Owner): Promise<void> {
  const known = await readFile(path).then(
    (pem) => createPrivateKey(pem),
    () => undefined,
  );
  if (known !== undefined) return;
  await rm(path, { force: true });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writeDurably(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { owner });
}

const run = promisify(execFile);

/** `openssl req -x509`: the certificate, PEM. */
async function request(key: string, days: number, signal: AbortSignal, more: readonly string[]): Promise<string> {
  if (Date.now() < clockFloor)
    throw new SitewardError('certificate_failed', 'no certificate is made while the clock of this machine is not set');
  const args = ['req', '-x509', '-new', '-sha256', '-key', key, '-days', `${days}`, '-config', '/dev/null', ...more];
  try {
    const { stdout } = await run('openssl', [...args, '-addext', 'subjectKeyIdentifier=hash'], {
      signal,
      timeout: 30_000,
      // Nothing of what the system sets up for openssl belongs in here.
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', OPENSSL_CONF: '/dev/null' },
    });
    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n')[0] : undefined;
    const why = isMissing(error) ? 'openssl is not installed: apt-get install openssl' : (said ?? describe(error));
    throw new SitewardError('certificate_failed', `no certificate could be made: ${why}`, { cause: error });
  }
}

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { authorityFiles, ensureAuthority, ensureServer, namesOfMachine, serverFiles } from '#lib/certificates.ts';
import { createTurns } from '#lib/turns.ts';
import { slugOf } from './broker.ts';

/** Certificate and key, PEM. */
export interface OwnCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A server of this machine, by the name of its files. */
export type OwnServer = 'server' | 'http';

/**
 * The certificate of a server for the names of this machine and `names`, made by the authority of the site where there is
 * none that fits; the authority is made where there is none. Throws `certificate_failed`, and what the system throws.
 */
export type Certify = (
  server: OwnServer,
  settings: Settings,
  names: readonly string[],
  stopping: AbortSignal,
) => Promise<OwnCertificate>;

const makingMs = 60_000;

/** The servers of a site ask for their certificates one after the other: they have one authority, which only one of them is to make. */
export function certifier(): Certify {
  const inTurn = createTurns();
  return (server, { site, store }, names, stopping) =>
    inTurn('authority', async () => {
      const dir = tlsFolder(store.dir);
      const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(makingMs)]);
      const [authority, files] = [authorityFiles(dir), serverFiles(dir, server)];
      await mkdir(dir, { recursive: true, mode: 0o750 });
      await ensureAuthority(authority, { name: `siteward ${slugOf(site.external_id)}`, owner, signal });
      await ensureServer(files, { authority, names: namesOfMachine(names), owner, signal });
      return readPair(files);
    });
}

/** What was made before, as it is; rejects where there is none. */
export const ownCertificate = (server: OwnServer, { store }: Settings): Promise<OwnCertificate> =>
  readPair(serverFiles(tlsFolder(store.dir), server));

/** The authority of the site, PEM. Rejects with `authority_unknown` where none was made yet. */
export async function siteAuthority({ store }: Settings): Promise<string> {
  try {
    return await readFile(authorityFiles(tlsFolder(store.dir)).cert, 'utf8');
  } catch (cause) {
    throw new SitewardError('authority_unknown', 'the authority of the site was not made yet, or cannot be read', {
      cause,
    });
  }
}

/** Where the authority of the site and its servers lie. */
export const tlsFolder = (stateDir: string): string => join(stateDir, 'tls');

const readPair = async ({ cert, key }: OwnCertificate): Promise<OwnCertificate> => ({
  cert: await readFile(cert, 'utf8'),
  key: await readFile(key, 'utf8'),
});

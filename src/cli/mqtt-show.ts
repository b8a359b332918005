import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { passwordsIn } from '#lan/mqtt/index.ts';
import { namesOf, serverFiles } from '#lib/certificates.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { accountsOf, filesIn, ownAccount, siteAuthority, textOf } from './mqtt-files.ts';
import { openSiteFile } from './site-file.ts';
import { table } from './table.ts';

export interface ShowOptions {
  readonly config: string;
  readonly dir: string;
  readonly json: boolean;
}

/** `siteward mqtt show`: nothing of a password but whether there is one. */
export async function show(options: ShowOptions): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const { mqtt } = site.settings;
  const dir = resolve(options.dir);
  const isEmbedded = mqtt.broker === 'embedded';
  const hashes = isEmbedded ? undefined : passwordsIn(await textOf(filesIn(dir).passwords));
  const accounts = accountsOf(site);
  const known = new Set([ownAccount, ...accounts.map(({ id }) => id)]);
  const clients = [
    ...(isEmbedded ? [] : [{ id: ownAccount, role: ownAccount, panels: undefined }]),
    ...accounts,
    ...[...(hashes?.keys() ?? [])]
      .filter((id) => !known.has(id))
      .map((id) => ({ id, role: undefined, panels: undefined })),
  ].map(({ id, role, panels }) => ({
    id,
    role: role ?? null,
    panels: panels ?? null,
    // The configuration refuses a client of the embedded broker without one.
    password: hashes?.has(id) ?? true,
  }));
  const certificate = await certificateOf(
    isEmbedded ? siteAuthority(site).cert.replace(/ca\.crt$/, 'server.crt') : serverFiles(dir).cert,
  );
  const authority = await certificateOf(siteAuthority(site).cert);
  const broker = isEmbedded ? `embedded, on ${mqtt.listen}` : mqtt.broker;
  if (options.json) {
    console.log(
      JSON.stringify({
        broker,
        clients,
        certificate: certificate && { names: namesOf(certificate), until: certificate.validToDate.toISOString() },
        authority: authority && { fingerprint: authority.fingerprint256, until: authority.validToDate.toISOString() },
      }),
    );
    return exitCodes.ok;
  }
  console.log(`broker  ${broker}`);
  if (certificate !== undefined) {
    const days = Math.floor((certificate.validToDate.getTime() - Date.now()) / 86_400_000);
    console.log(`certificate  ${namesOf(certificate).join(', ')}; ${days} days left`);
  }
  if (authority !== undefined) console.log(`authority  SHA-256 ${authority.fingerprint256}`);
  const rows = clients.map(({ id, role, panels, password }) => [
    id,
    role === null ? 'not in the configuration: the next provision removes it' : role,
    password ? 'has a password' : 'has none yet: run "siteward mqtt provision"',
    panels?.join(', ') ?? '',
  ]);
  if (rows.length > 0) console.log(`\n${table(rows)}`);
  return exitCodes.ok;
}

async function certificateOf(path: string): Promise<X509Certificate | undefined> {
  const text = await textOf(path);
  return text === '' ? undefined : new X509Certificate(text);
}

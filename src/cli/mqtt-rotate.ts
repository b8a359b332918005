import { join, resolve } from 'node:path';
import { writeSecretFile } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { passwordHash, passwordsIn } from '#lan/mqtt/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import {
  accountsOf,
  filesIn,
  mosquittoOwners,
  newPassword,
  ownAccount,
  passwordFileOf,
  refused,
  textOf,
  writeChanged,
} from './mqtt-files.ts';
import { withFile } from './named-file.ts';
import { openSiteFile, secretFolder, secretOwner } from './site-file.ts';

export interface RotateOptions {
  readonly config: string;
  readonly dir: string;
  readonly user: string;
  readonly json: boolean;
}

/** The session of the panels at the broker is named after the password. */
const gap =
  'Give both commands as one, in this order, while the site is quiet: what a panel says between them is heard only where its bridge retains it. Then look at "siteward status".';

/** `siteward mqtt rotate ID`: the old password counts no more once mosquitto, or the daemon, has read the new one. */
export async function rotate(id: string, options: RotateOptions): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const { mqtt } = site.settings;
  const isOwn = id === ownAccount;
  if (!isOwn && !accountsOf(site).some((one) => one.id === id))
    throw new SitewardError('mqtt_client_unknown', `${site.file} has no MQTT client ${id}`);
  const isEmbedded = mqtt.broker === 'embedded';
  if (isOwn && isEmbedded) throw refused('siteward has no password at the embedded broker: it is in the same process');
  const secret = isOwn ? join(secretFolder(site), 'mqtt-siteward') : passwordFileOf(site, id);
  if (secret === 'elsewhere')
    throw refused(`the password of ${id} lies in a systemd credential or a variable: change it there`);
  const { passwords } = filesIn(resolve(options.dir));
  const hashes = new Map(isEmbedded ? [] : passwordsIn(await textOf(passwords)));
  if (!isEmbedded && !hashes.has(id))
    throw refused(`${passwords} has no password of ${id} yet: run "siteward mqtt provision"`);
  const password = newPassword();
  const readers = isEmbedded ? undefined : (await mosquittoOwners(options.user)).shared;
  const owner = await secretOwner(site);
  const keep = async (text: string) => {
    if (secret !== 'none') await withFile(secret, () => writeSecretFile(secret, text, owner));
  };
  const before = secret === 'none' ? '' : (await textOf(secret)).trimEnd();
  await keep(password);
  if (readers !== undefined) {
    hashes.set(id, passwordHash(password));
    const text = [...hashes].map(([name, hash]) => `${name}:${hash}\n`).join('');
    try {
      await writeChanged(passwords, text, 0o640, readers);
    } catch (error) {
      // mosquitto knows the old one alone.
      if (before !== '') await keep(before);
      throw error;
    }
  }
  // siteward's own is read from its file and needs no one to see it.
  const shown = isOwn ? undefined : password;
  if (options.json) console.log(JSON.stringify({ id, ...(shown !== undefined && { password: shown }) }));
  else {
    console.log(
      shown === undefined ? `${id} has a new password` : `${id} has a new password, shown this once:\n\n  ${shown}\n`,
    );
    const mosquitto = isEmbedded ? [] : ['systemctl reload mosquitto'];
    const daemon = isOwn || isEmbedded ? ['systemctl reload siteward'] : [];
    console.log(`It counts, and the old one no more, with: ${[...mosquitto, ...daemon].join(' && ')}`);
    if (isOwn) console.log(gap);
  }
  return exitCodes.ok;
}

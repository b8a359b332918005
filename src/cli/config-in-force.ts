import { runningDaemon } from '#box/lock.ts';
import { configShown } from '#lan/http/index.ts';
import { sha256 } from '#lib/digest.ts';
import { answered, openControl, patience } from './control.ts';
import { reloadUntil } from './reload-daemon.ts';
import { mustRunWith } from './runs-with.ts';
import type { SiteFile } from './site-file.ts';

/**
 * Whether the daemon has taken the file as it is written, to the letter: what it shows leaves out what nobody may see (safety 4), and blanks what
 * is a secret elsewhere. Throws as `answered` does.
 */
export async function isInForce(text: string, socket: string): Promise<boolean> {
  await using control = openControl(socket);
  const { in_force: taken } = configShown.parse(answered(await control.client.getConfig({ signal: patience() })).json);
  return taken === sha256(text);
}

/** Has a daemon that runs take the file; false where none does. Throws as `reloadUntil` does. */
export async function putInForce({ file, settings, text }: SiteFile, socket: string): Promise<boolean> {
  if (runningDaemon(settings.store.dir) === undefined) return false;
  await mustRunWith(file, socket, 'the change is written, and no siteward was told: ');
  const isTaken = () => isInForce(text, socket);
  if (!(await isTaken())) await reloadUntil({ stateDir: settings.store.dir, socket, isTaken, isWritten: true });
  return true;
}

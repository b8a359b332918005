import { SitewardError } from '#errors.ts';
import { runningDaemon } from '../daemon/lock.ts';
import { isInForce } from './config-in-force.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { reloadUntil } from './reload-daemon.ts';
import { openSiteFile } from './site-file.ts';

/**
 * `siteward reload`: has the daemon read its configuration again, secrets and certificates too, and waits until it has taken it. A file with
 * errors is not even shown to it. Throws `config_*`, `control_unreachable`, `deadline`.
 */
export async function reload(options: { config: string; socket: string; json: boolean }): Promise<ExitCode> {
  const { settings, text } = openSiteFile(options.config);
  const { dir: stateDir } = settings.store;
  if (runningDaemon(stateDir) === undefined)
    throw new SitewardError(
      'control_unreachable',
      `no siteward runs over ${stateDir} that this user can see; start it: systemctl start siteward`,
    );
  await reloadUntil({ stateDir, socket: options.socket, isTaken: () => isInForce(text, options.socket) });
  console.log(options.json ? JSON.stringify({ taken: true }) : `${options.config} is in force.`);
  return exitCodes.ok;
}

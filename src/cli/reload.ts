import { runningDaemon } from '#box/lock.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { isInForce } from './config-in-force.ts';
import { openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { reloadUntil } from './reload-daemon.ts';
import { mustRunWith, otherOn } from './runs-with.ts';
import { openSiteFile, type SiteFile } from './site-file.ts';

/**
 * `siteward reload`: has the daemon read its configuration again, secrets and certificates too, and waits until it has taken it. A file with
 * errors is not even shown to it. Throws `config_*`, `control_unreachable`, `deadline`, and `request_invalid` where the daemon on the socket is another one.
 */
export async function reload(options: { config: string; socket: string; json: boolean }): Promise<ExitCode> {
  const { settings, text } = await siteFileFor(options);
  const { dir: stateDir } = settings.store;
  if (runningDaemon(stateDir) === undefined) throw await noneOver(stateDir, options);
  await mustRunWith(options.config, options.socket);
  await reloadUntil({ stateDir, socket: options.socket, isTaken: () => isInForce(text, options.socket) });
  console.log(options.json ? JSON.stringify({ taken: true }) : `${options.config} is in force.`);
  return exitCodes.ok;
}

/** One that is not there is perhaps not the one that is meant: then it is said which the daemon on the socket has. */
async function siteFileFor({ config, socket }: { config: string; socket: string }): Promise<SiteFile> {
  try {
    return openSiteFile(config);
  } catch (error) {
    if (!isCode(error, 'config_unreadable')) throw error;
    const other = await otherOn(socket, config).catch(() => undefined);
    if (other === undefined) throw error;
    throw new SitewardError('config_unreadable', `${describe(error)}; ${other}`, { cause: error });
  }
}

/** One that answers all the same runs over the folder of the configuration before. */
async function noneOver(
  stateDir: string,
  { config, socket }: { config: string; socket: string },
): Promise<SitewardError> {
  await using control = openControl(socket);
  const answer = await control.client.getStatus({ signal: patience() });
  if (answer.kind === 'failure')
    return new SitewardError(
      'control_unreachable',
      `no siteward runs over ${stateDir} that this user can see; start it: systemctl start siteward`,
    );
  await mustRunWith(config, socket);
  return new SitewardError(
    'config_invalid',
    `the siteward that runs has another store.dir than ${config} names (${stateDir}): nothing was taken. It takes another one at a start only, and begins there with no events and nothing known of the arming. Put the old one back; or stop siteward, move its folder to ${stateDir}, and start it`,
  );
}

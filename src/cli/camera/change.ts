import { hostAndPort, sameDevice } from '#box/known-cameras.ts';
import { removeSecrets, unusedSecrets, writeSecrets } from '#config/index.ts';
import { type Inspected, inspectDevice } from '#devices/onvif/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import type { Secret } from '#lib/secret.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { withFile } from '../named-file.ts';
import { howToReload } from '../reload-daemon.ts';
import { mustBeGood, type SiteFile, secretOwner, writeSiteFile } from '../site-file.ts';
import { printable, table } from '../table.ts';
import { placesOf } from './config.ts';
import { camerasOrWhy, reloadCameras } from './entries.ts';
import type { PasswordOptions } from './password.ts';

export interface ChangeOptions extends PasswordOptions {
  readonly config: string;
  readonly socket: string;
  readonly dryRun: boolean;
  readonly reload: boolean;
  readonly json: boolean;
}

/** Clock, information, services and profiles of a slow camera. */
const inspectMs = 45_000;
const progressMs = 5000;

export const refused = (message: string) => new SitewardError('camera_refused', message);

export function refuseAddress(id: string | undefined, url: string): void {
  if (id !== undefined) throw refused(`${id} is at ${hostAndPort(url)} already; "siteward camera list" shows it`);
}

export async function refuseSame(
  found: Inspected,
  socket: string,
  { settings }: SiteFile,
  but?: string,
): Promise<void> {
  const cameras = await camerasOrWhy(socket);
  // One that was taken out of the file is seen by the daemon until the next reload.
  const written = new Set(placesOf(settings).map(({ id }) => id));
  const known = typeof cameras === 'string' ? [] : cameras.filter(({ id }) => written.has(id));
  const same = sameDevice(known, found, but);
  if (same !== undefined)
    throw refused(
      `this is ${same}, which has the same serial number ${found.serial}; it is added once, under one address. If it has another one now: siteward camera replace ${same} ADDRESS`,
    );
}

/** Asks the device what it is, and says so: it may take a while. */
export async function look(about: {
  url: string;
  username?: string | undefined;
  password: Secret | undefined;
}): Promise<Inspected> {
  const place = printable(hostAndPort(about.url));
  console.error(`asking ${place} what it is`);
  const seconds = inspectMs / 1000;
  const waiting = `${place} has not told all of it yet; siteward waits ${seconds} s at most, Ctrl-C ends it`;
  const progress = setInterval(() => console.error(waiting), progressMs);
  try {
    return await inspectDevice({ ...about, clock: systemClock(), signal: AbortSignal.timeout(inspectMs) });
  } catch (error) {
    if (isCode(error, 'camera_unreachable')) console.error(unreached);
    if (isCode(error, 'camera_auth')) console.error(notLetIn);
    throw error;
  } finally {
    clearInterval(progress);
  }
}

const unreached =
  'Check power, cable, address and port; "siteward camera test ADDRESS" tries the usual ports and says what to do';
const notLetIn =
  'Many cameras lock the account after a few more tries: be sure of the password before the next one; "siteward camera test ADDRESS --user NAME" says what else it may be';

/** Only a certificate that nobody vouches for must be named. */
export const fingerprintOf = ({ certificate }: Inspected): { readonly tls_fingerprint?: string } =>
  certificate === undefined || certificate.vouched ? {} : { tls_fingerprint: certificate.fingerprint };

/** The secret first: the file never names one that is not there. What is not written leaves none behind. */
export async function keep(change: {
  readonly site: SiteFile;
  readonly text: string;
  readonly password: Secret | undefined;
  readonly secretFile: string | undefined;
  readonly options: Pick<ChangeOptions, 'dryRun'>;
}): Promise<void> {
  const { site, text, password, secretFile, options } = change;
  mustBeGood(site, text);
  if (options.dryRun) return;
  if (password === undefined || secretFile === undefined) return writeSiteFile(site, text);
  const owner = await secretOwner(site);
  const undo = await withFile(secretFile, () => writeSecrets([{ path: secretFile, text: password.reveal() }], owner));
  try {
    await writeSiteFile(site, text);
  } catch (error) {
    await undo();
    throw error;
  }
}

/** A secret of ours that nothing refers to any more. */
export async function removeSecret(password: unknown, after: string, site: SiteFile): Promise<string | undefined> {
  if (typeof password !== 'object' || password === null || !('file' in password)) return undefined;
  const unused = unusedSecrets(site.file, [String(password.file)], { before: site.text, after });
  await removeSecrets(unused);
  return unused[0];
}

/** Says what is to be done, or has the daemon take the change. */
export async function finish(
  { file, settings }: SiteFile,
  { dryRun, reload, json, socket }: Pick<ChangeOptions, 'dryRun' | 'reload' | 'json' | 'socket'>,
  done: string,
  as: Parameters<typeof reloadCameras>[0]['as'],
): Promise<ExitCode> {
  const say = (text: string) => (json ? undefined : console.log(printable(text)));
  if (dryRun) say(`nothing was written to ${file}`);
  else if (reload) {
    await reloadCameras({ stateDir: settings.store.dir, socket, as });
    say(`${done}, and siteward has taken it`);
  } else {
    say(done);
    say(howToReload);
  }
  return exitCodes.ok;
}

export function foundText(found: Inspected): string {
  const { manufacturer, model, firmware, serial, clockOffsetS, certificate, profiles, events, authenticated, sources } =
    found;
  const clock = clockOffsetS === undefined ? 'not told' : Math.abs(clockOffsetS) < 2 ? 'right' : ahead(clockOffsetS);
  const rows = [
    ['device', `${manufacturer} ${model}`],
    ['firmware', firmware],
    ['serial number', serial],
    ['clock', clock],
    ['password', authenticated ? 'accepted' : 'not asked for: anybody in this network may use this device'],
    ['events', events ? 'yes' : 'it names no service for them'],
    ['profiles', `${profiles.length}`],
    ...(sources.length > 1
      ? [['channels', sources.map(({ token, resolution = '' }) => `${token} ${resolution}`.trim()).join(', ')]]
      : []),
    ...(certificate === undefined
      ? []
      : [['certificate', `${certificate.fingerprint}${certificate.vouched ? '' : ', made by itself'}`]]),
  ];
  return table(rows);
}

/** Above this, events and tokens suffer. */
const wrongClockS = 30;
function ahead(seconds: number): string {
  const text = `${Math.abs(Math.round(seconds))} s ${seconds > 0 ? 'ahead' : 'behind'}`;
  return Math.abs(seconds) > wrongClockS ? `${text}; set it, best by NTP` : text;
}

export const shownFound = ({ certificate, clockOffsetS, profiles, ...found }: Inspected) => ({
  ...found,
  ...(clockOffsetS !== undefined && { clock_offset_s: clockOffsetS }),
  ...(certificate !== undefined && { certificate }),
  profiles: profiles.length,
});

import { stat } from 'node:fs/promises';
import { isInAlarm, partitionText } from '#box/standing.ts';
import { checkText, loadLastGood, readConfigText, type Settings } from '#config/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { systemCode } from '#lib/system-code.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { otherFile, otherText } from './runs-with.ts';
import { printable } from './table.ts';

/**
 * `siteward upgrade-check`: whether siteward may be stopped for an upgrade now. The package asks it before it stops the daemon, so that
 * nobody is without protection for an upgrade that could wait, or that would end it, as where the configuration is gone. A daemon that does not run has nothing to stop; one that does not answer
 * is not held up for: the upgrade may be what mends it. A file that was named and is gone ends with no, whatever answers: it said where to ask; so does one that
 * cannot be used, where nobody answers.
 */
export async function upgradeCheck(options: {
  readonly json: boolean;
  readonly config: string;
  /** Not the one of the package, which nobody named. */
  readonly isConfigNamed: boolean;
  /** That of the configuration where it is not given. */
  readonly socket: string | undefined;
  readonly defaultSocket: string;
}): Promise<ExitCode> {
  const named = await settingsOf(options.config);
  const socket = options.socket ?? named?.http.control_socket ?? options.defaultSocket;
  const status = await statusOf(socket);
  // What an upgrade stops is the daemon that runs, whatever file was named.
  const other = status === undefined ? undefined : otherFile(status, options.config);
  if (other !== undefined)
    console.error(
      `siteward: ${printable(otherText({ socket, file: options.config, other }))}; what is said here is of that one`,
    );
  const config = other ?? options.config;
  const settings = other === undefined ? named : await settingsOf(other);
  const isGone = status !== undefined && (await isNotThere(config));
  const isNoneNamed = options.isConfigNamed && !(isGone && other === undefined) && (await isNotThere(options.config));
  // Without its settings nobody knows on which socket to ask, and that nobody answers on the usual one tells nothing.
  const isUnknown =
    options.isConfigNamed &&
    !isNoneNamed &&
    named === undefined &&
    options.socket === undefined &&
    status === undefined;
  const busy = [
    ...(status?.partitions.filter(isBusy).map((one) => `${partitionText(one)} is ${wordOf(one)}`) ?? []),
    ...(isGone ? [goneText(config)] : []),
    ...(isNoneNamed ? [noneText(options.config, other)] : []),
    ...(isUnknown ? [unknownText(options.config)] : []),
  ];
  // The package keeps the databases of that folder for a way back.
  const folder = settings?.store.dir ?? null;
  if (options.json) console.log(JSON.stringify({ may_stop: busy.length === 0, because: busy, state_dir: folder }));
  else if (busy.length === 0) console.log('siteward may be stopped now.');
  else {
    for (const line of busy) console.log(printable(line));
    console.log(
      `${isGone || isNoneNamed || isUnknown ? 'Mend that' : 'Disarm'} first, or upgrade all the same: sudo SITEWARD_UPGRADE_ANYWAY=1 dpkg -i FILE`,
    );
  }
  return busy.length === 0 ? exitCodes.ok : exitCodes.refused;
}

/** Those the daemon runs on, as far as that can be told here. */
async function settingsOf(config: string): Promise<Settings | undefined> {
  try {
    const { loaded } = checkText(config, await readConfigText(config), { secrets: 'unread' });
    return (loaded ?? loadLastGood(config))?.settings;
  } catch {
    return undefined;
  }
}

/** Not one that this user may not see. */
const isNotThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => false,
    (error) => ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? ''),
  );

/** A start would run on the last good copy; that its folder is still there, and whole, nobody has looked at since. */
const goneText = (config: string): string =>
  `${config} is gone; put it back before siteward stops: its last good copy is config.last-good.yaml in the state directory`;

const noneText = (config: string, other = 'the file that it runs with'): string =>
  `there is no ${config}, so nobody knows which siteward is meant; name ${other} with --config`;

const unknownText = (config: string): string =>
  `${config} cannot be used (siteward check --config ${config} says why), so nobody knows which siteward is meant; mend it, or name its socket with --socket`;

/** Undefined where siteward does not run. */
async function statusOf(socket: string): Promise<StatusDocument | undefined> {
  try {
    await using control = openControl(socket);
    return statusDocument.parse(answered(await control.client.getStatus({ signal: patience() })).json);
  } catch (error) {
    const mayNotAsk = error instanceof SitewardError && error.facts.code === 'EACCES';
    if (isCode(error, 'control_unreachable') && !mayNotAsk) return undefined;
    throw error;
  }
}

type Partition = StatusDocument['partitions'][number];

/** One whose state was never known is not waited for: that would be for ever. */
const isBusy = (one: Partition): boolean => isInAlarm(one) || (one.state !== 'disarmed' && one.state !== 'unknown');

function wordOf(one: Partition): string {
  if (one.state === 'pending') return 'in its entry delay';
  return isInAlarm(one) ? 'in alarm' : one.state.replaceAll('_', ' ');
}

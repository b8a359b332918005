import { isCode, SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { isInAlarm, partitionText } from '../daemon/standing.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { printable } from './table.ts';

/**
 * `siteward upgrade-check`: whether siteward may be stopped for an upgrade now. The package asks it before it stops the daemon, so that
 * nobody is without protection for an upgrade that could wait. A daemon that does not run has nothing to stop; one that does not answer
 * is not held up for: the upgrade may be what mends it.
 */
export async function upgradeCheck(options: { json: boolean; socket: string }): Promise<ExitCode> {
  const busy = await inTheWay(options.socket);
  if (options.json) console.log(JSON.stringify({ may_stop: busy.length === 0, because: busy }));
  else if (busy.length === 0) console.log('siteward may be stopped now.');
  else {
    for (const line of busy) console.log(printable(line));
    console.log('Disarm first, or upgrade all the same: sudo SITEWARD_UPGRADE_ANYWAY=1 dpkg -i FILE');
  }
  return busy.length === 0 ? exitCodes.ok : exitCodes.refused;
}

async function inTheWay(socket: string): Promise<readonly string[]> {
  try {
    await using control = openControl(socket);
    const status = statusDocument.parse(answered(await control.client.getStatus({ signal: patience() })).json);
    return status.partitions.filter(isBusy).map((one) => `${partitionText(one)} is ${wordOf(one)}`);
  } catch (error) {
    const mayNotAsk = error instanceof SitewardError && error.facts.code === 'EACCES';
    if (isCode(error, 'control_unreachable') && !mayNotAsk) return [];
    throw error;
  }
}

type Partition = StatusDocument['partitions'][number];

/** One whose state was never known is not waited for: that would be for ever. */
const isBusy = (one: Partition): boolean => isInAlarm(one) || (one.state !== 'disarmed' && one.state !== 'unknown');

const wordOf = (one: Partition): string => (isInAlarm(one) ? 'in alarm' : one.state.replaceAll('_', ' '));

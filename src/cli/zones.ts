import { type ZoneEntry, zoneList } from '#lan/http/index.ts';
import { dangerTypes } from '#site/model/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { table } from './table.ts';

/** `siteward zones`. */
export async function zones(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.listZones({ signal: patience() }));
  const { items } = zoneList.parse(json);
  if (options.json) for (const zone of items) console.log(JSON.stringify(zone));
  else console.log(items.length === 0 ? 'the configuration has no zones' : table(items.map(row)));
  return exitCodes.ok;
}

/** Number, name, partitions, state, and what somebody should know of it. */
function row(zone: ZoneEntry): string[] {
  const notes = [
    ...(zone.alarm ? ['IN ALARM'] : []),
    ...(zone.bypassed ? ['left out'] : []),
    ...(zone.shut ? ['shut'] : []),
    ...(zone.tamper ? ['tamper'] : []),
    ...(zone.low_battery ? ['low battery'] : []),
    ...(zone.online ? [] : ['not heard any more']),
  ];
  return [zone.number, zone.name, zone.type, zone.partitions.join(' '), stateOf(zone), notes.join(', ')];
}

function stateOf({ reports_only, open, type }: ZoneEntry): string {
  if (reports_only === true) return 'by reports only';
  if (open === null) return 'not heard yet';
  // A detector of danger is no door.
  if (dangerTypes.has(type)) return open ? 'tripped' : 'no alarm';
  return open ? 'open' : 'closed';
}

import { numericId, rowsOf } from '#cloud/client/index.ts';
import { numbersOf, withoutZones, zoneKey } from '#cloud/sync/index.ts';
import { loadConfig } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { partnerPlace } from '../daemon/cloud.ts';
import { wantedDevices } from '../daemon/wanted-devices.ts';
import type { Access } from './api-access.ts';
import { openAccess } from './api-access.ts';
import { typed } from './consent.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { inTime } from './in-time.ts';
import { counted, printable, table } from './table.ts';

interface Options {
  readonly config: string;
  readonly json: boolean;
}

/** A row of the cloud; ids as text, unknown members left out. */
type Row = Awaited<ReturnType<Access['manage']['listDevices']>>['value'][number];

/** For the call with its retries. */
const askMs = 60_000;

/** `siteward device list`. */
export async function list({ config, json }: Options): Promise<ExitCode> {
  const site = siteOf(config);
  await using access = openAccess({ config });
  const rows = (await readAll(access, site)).map(site.shown);
  if (json)
    for (const row of rows) console.log(JSON.stringify({ ...row, of_this_bridge: site.wants(row) !== undefined }));
  else if (rows.length === 0) console.log('the cloud has no devices of this site');
  else
    console.log(
      table([
        ['id', 'external id', 'type', 'zone', 'name', 'what it is', ''],
        ...rows.map((row) => [
          row.device_id ?? '',
          row.external_device_id ?? '',
          row.device_type ?? '',
          [row.zone_number, row.additional_zone_numbers].filter((one) => one !== undefined && one !== '').join(','),
          row.name ?? '',
          [row.manufacturer, row.model, row.serial_number].filter((one) => one !== undefined && one !== '').join(' '),
          site.wants(row) === undefined ? 'not of this bridge' : '',
        ]),
      ]),
    );
  return exitCodes.ok;
}

/** `siteward device show ID`. */
export async function show(id: string, { config, json }: Options): Promise<ExitCode> {
  const site = siteOf(config);
  await using access = openAccess({ config });
  const row = site.shown(mustFind(await readAll(access, site), id));
  const isOurs = site.wants(row) !== undefined;
  if (json) console.log(JSON.stringify({ ...row, of_this_bridge: isOurs }));
  else {
    console.log(table(Object.entries(row).map(([name, value]) => [name, printable(String(value ?? ''))])));
    console.log(isOurs ? 'it is told by this bridge' : 'this bridge has no such device');
  }
  return exitCodes.ok;
}

export interface Members {
  readonly name?: string;
  readonly zone_number?: string;
  readonly additional_zone_numbers?: string;
  readonly mac?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
}

/** What was said on the command line, by the members of the interface. */
export function membersOf(given: {
  readonly name?: string;
  readonly zone?: string;
  readonly moreZones?: string;
  readonly mac?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serialNumber?: string;
}): Members {
  const { name, zone, moreZones, mac, manufacturer, model, serialNumber } = given;
  return {
    ...(name !== undefined && { name }),
    ...(zone !== undefined && { zone_number: zone }),
    ...(moreZones !== undefined && { additional_zone_numbers: moreZones }),
    ...(mac !== undefined && { mac }),
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model !== undefined && { model }),
    ...(serialNumber !== undefined && { serial_number: serialNumber }),
  };
}

/** `siteward device set ID`. */
export async function set(
  id: string,
  members: Members,
  { config, json, dryRun }: Options & { readonly dryRun: boolean },
): Promise<ExitCode> {
  const site = siteOf(config);
  await using access = openAccess({ config });
  const rows = await readAll(access, site);
  const row = mustFind(rows, id);
  site.refuseOwn(row, members);
  site.refuseTaken(rows, row, members);
  const changes = Object.entries(members).filter(([name, to]) => (row[name as keyof Members] ?? '') !== to);
  const before = site.shown(row);
  const said = changes.map(([name, to]) => [name, `${before[name as keyof Members] ?? ''} -> ${to}`.trim()]);
  if (changes.length === 0) {
    console.log(json ? JSON.stringify({ changed: [], dry_run: dryRun }) : 'it is so already');
    return exitCodes.ok;
  }
  if (!dryRun) {
    const items = [{ device_id: numericId(row.device_id), ...Object.fromEntries(changes) }];
    const outcome = await inTime(askMs, (signal) => access.manage.updateDevices({ params: site.place, items, signal }));
    const [failed] = outcome.failed;
    if (failed !== undefined) throw refusedBy(failed);
  }
  if (json) console.log(JSON.stringify({ changed: changes.map(([name]) => name), dry_run: dryRun }));
  else console.log(`${dryRun ? 'would be changed' : 'changed'} in the cloud:\n${table(said, '  ')}`);
  return exitCodes.ok;
}

/** `siteward device delete ID...`. Without `--yes` the id is typed on a terminal. */
export async function remove(
  ids: readonly string[],
  { config, json, dryRun, yes }: Options & { readonly dryRun: boolean; readonly yes: boolean },
): Promise<ExitCode | 'nobody to ask'> {
  const site = siteOf(config);
  await using access = openAccess({ config });
  const rows = await readAll(access, site);
  const chosen = ids.map((id) => mustFind(rows, id));
  for (const row of chosen) site.refuseOwn(row);
  if (!json || !yes) console.error(lost(chosen.map(site.shown)));
  if (dryRun) {
    if (json) console.log(JSON.stringify({ deleted: [], dry_run: true }));
    return exitCodes.ok;
  }
  if (!yes) {
    const [only] = chosen;
    const word = chosen.length === 1 ? (only?.external_device_id ?? only?.device_id ?? '') : String(chosen.length);
    const answer = await typed(`Delete ${counted(chosen.length, 'device')} for good?`, word);
    if (answer === 'nobody to ask') return answer;
    if (answer === 'no') {
      console.error('siteward: nothing was deleted');
      return exitCodes.failure;
    }
  }
  const items = chosen.map((row) => row.device_id);
  const outcome = await inTime(askMs, (signal) => access.manage.deleteDevices({ params: site.place, items, signal }));
  const { failed } = outcome;
  const done = outcome.succeeded(() => undefined);
  if (json) console.log(JSON.stringify({ deleted: done.map(({ input }) => input), dry_run: false }));
  else console.log(`${counted(done.length, 'device')} deleted`);
  for (const one of failed) console.error(`siteward: ${printable(`${one.input}: ${refusedBy(one).message}`)}`);
  return failed.length === 0 ? exitCodes.ok : exitCodes.failure;
}

const lost = (rows: readonly Row[]): string =>
  `Deleted in the cloud for good, with what the cloud keeps under them, such as their history; a device that is made anew has another id there:\n${table(
    rows.map((row) => [row.device_id ?? '', row.external_device_id ?? '', row.device_type ?? '', row.name ?? '']),
    '  ',
  )}`;

const refusedBy = ({ status, message }: { readonly status?: number; readonly message: string }) =>
  new SitewardError('cloud_refused', `the cloud refused it${status === undefined ? '' : ` (${status})`}: ${message}`, {
    facts: { status },
  });

async function readAll({ manage }: Access, { place }: Site): Promise<readonly Row[]> {
  const { value, raw } = await inTime(askMs, (signal) => manage.listDevices({ params: place, signal }));
  const unread = rowsOf(raw).length - value.length;
  if (unread > 0) console.error(`siteward: ${counted(unread, 'device')} of the cloud cannot be read and is not shown`);
  return value;
}

/** By the external id first: one may look like an id of the cloud. Throws `cloud_not_found`, and `request_invalid` where several have it. */
function mustFind(rows: readonly Row[], id: string): Row {
  const named = rows.filter((row) => row.external_device_id === id);
  const [found, another] = named.length > 0 ? named : rows.filter((row) => row.device_id === id);
  if (found === undefined)
    throw new SitewardError(
      'cloud_not_found',
      `the cloud has no device ${id} of this site; "siteward device list" lists them`,
    );
  if (another === undefined) return found;
  throw new SitewardError(
    'request_invalid',
    `several devices of the cloud have the external id ${id}; name it by its id there: ${named.map((row) => row.device_id).join(', ')}`,
  );
}

type Site = ReturnType<typeof siteOf>;

/** Where each member of a device of this site comes from. */
const places: Readonly<Record<string, string>> = {
  name: 'its name (of this bridge: site.name)',
  zone_number: 'its zone',
  additional_zone_numbers: 'its zones',
};

/** The way to the site, and what this bridge tells of it. Throws `config_*`. */
function siteOf(config: string) {
  const { settings } = loadConfig(config, { unreadableSecrets: 'degrade' });
  const way = partnerPlace(settings);
  if (typeof way === 'string') throw new SitewardError('config_invalid', `${config}: ${way}`);
  const { devices, reserved = [] } = wantedDevices(settings, []);
  const wants = (row: Row) => devices.find((one) => one.external_device_id === row.external_device_id);
  return {
    place: way.place,
    wants,
    /** Numbers of zones for silent calls stand in no list (safety 4). */
    shown: (row: Row): Row => ({
      ...row,
      ...zoneShown('zone_number', row.zone_number, reserved),
      ...zoneShown('additional_zone_numbers', row.additional_zone_numbers, reserved),
    }),
    /** A device of this bridge is changed where it is told from; all of it is refused without `members`. Throws `config_fixed`. */
    refuseOwn(row: Row, members?: Members) {
      const own = wants(row);
      if (own === undefined) return;
      const id = own.external_device_id;
      if (members === undefined)
        throw new SitewardError(
          'config_fixed',
          `this bridge has ${id}, and would register it again: take it out of ${config} first${own.device_type === 'camera' ? ` ("siteward camera remove ${id}", or the line of the channel)` : ''}`,
        );
      const told: Readonly<Record<string, unknown>> = {
        name: own.name,
        zone_number: own.zone,
        additional_zone_numbers: own.furtherZones.length > 0 ? own.furtherZones : undefined,
      };
      const fixed = Object.keys(members).find((name) => told[name] !== undefined);
      if (fixed === undefined) return;
      throw new SitewardError(
        'config_fixed',
        `${fixed} of ${id} is told from ${config}: change ${places[fixed] ?? fixed} there, then "siteward device sync"`,
      );
    },
    /** Throws `request_invalid` where another device has the number: the cloud does not see to that. */
    refuseTaken(rows: readonly Row[], row: Row, { zone_number = '', additional_zone_numbers = '' }: Members) {
      const asked = numbersOf(`${zone_number},${additional_zone_numbers}`);
      const taken = rows
        .filter((one) => one !== row)
        .flatMap((one) => numbersOf(`${one.zone_number ?? ''},${one.additional_zone_numbers ?? ''}`));
      const clash = asked.find((number) => [...taken, ...reserved].some((one) => zoneKey(one) === zoneKey(number)));
      if (clash === undefined) return;
      throw new SitewardError('request_invalid', `the zone number ${clash} is not free`);
    },
  };
}

const zoneShown = (
  member: 'zone_number' | 'additional_zone_numbers',
  text: string | undefined,
  reserved: readonly string[],
) => (text === undefined ? {} : { [member]: withoutZones(text, reserved) });

import { partnerPlace } from '#box/partner.ts';
import { wantedDevices } from '#box/wanted-devices.ts';
import { rowsOf } from '#cloud/client/index.ts';
import { numbersOf, oneRowEach, withoutZones } from '#cloud/sync/index.ts';
import { loadConfig } from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { cloudDeviceList, type DevicePlanShown } from '#lan/http/index.ts';
import { plainZone } from '#site/model/index.ts';
import type { Access } from '../cloud/access.ts';
import { openAccess } from '../cloud/access.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { inTime } from '../in-time.ts';
import { counted, printable, table } from '../table.ts';
import { heldLines } from './device-words.ts';

interface Options {
  readonly config: string;
  readonly json: boolean;
}

/** A row of the cloud; ids as text, unknown members left out. */
export type Row = Awaited<ReturnType<Access['manage']['listDevices']>>['value'][number];

/** For the call with its retries. */
const askMs = 60_000;

/** `siteward device list`. What is held is known to the daemon alone; without it the rest is shown. */
export async function list({ config, json, socket }: Options & { readonly socket: string }): Promise<ExitCode> {
  const site = siteOf(config);
  await using access = openAccess({ config });
  const [all, held] = await Promise.all([readAll(access, site), heldBy(socket)]);
  const rows = all.map(site.shown);
  if (json) {
    const heldOf = (id: string | undefined) => held.find(({ external_id }) => external_id === id);
    const there = new Set(rows.map(({ external_device_id: id }) => id));
    for (const row of rows) {
      const why = heldOf(row.external_device_id);
      const of_this_bridge = site.wants(row) !== undefined;
      console.log(JSON.stringify({ ...row, of_this_bridge, ...(of_this_bridge && why && { held: why }) }));
    }
    for (const one of held)
      if (!there.has(one.external_id))
        console.log(JSON.stringify({ external_device_id: one.external_id, of_this_bridge: true, held: one }));
  } else if (rows.length === 0) console.log('the cloud has no devices of this site');
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
  if (!json && held.length > 0) console.log(heldLines(held).join('\n'));
  return exitCodes.ok;
}

/** Devices of this site that the cloud does not know as they are, as the daemon tells; none where it does not answer. */
async function heldBy(socket: string): Promise<DevicePlanShown['held']> {
  try {
    await using control = openControl(socket);
    const { items } = cloudDeviceList.parse(
      answered(await control.client.listCloudDevices({ signal: patience() })).json,
    );
    return items.flatMap(({ external_id, kind, state: reason, status, message = '' }) => {
      if (kind === 'nvr' || reason === 'known' || reason === 'missing' || reason === 'absent') return [];
      return [{ external_id, kind: 'device' as const, reason, ...(status !== undefined && { status }), message }];
    });
  } catch (error) {
    console.error(`siteward: what is held is not shown: ${describe(error)}`);
    return [];
  }
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

export async function readAll({ manage }: Access, { place }: Site): Promise<readonly Row[]> {
  const { value, raw } = await inTime(askMs, (signal) => manage.listDevices({ params: place, signal }));
  const unread = rowsOf(raw).length - value.length;
  if (unread > 0) console.error(`siteward: ${counted(unread, 'device')} of the cloud cannot be read and is not shown`);
  return oneRowEach(value) ?? value;
}

/** By the external id first: one may look like an id of the cloud. Throws `cloud_not_found`, and `request_invalid` where several have it. */
export function mustFind(rows: readonly Row[], id: string): Row {
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
export function siteOf(config: string) {
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
    refuseOwn(row: Row, members?: object) {
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
    refuseTaken(
      rows: readonly Row[],
      row: Row,
      { zone_number = '', additional_zone_numbers = '' }: Pick<Row, 'zone_number' | 'additional_zone_numbers'>,
    ) {
      const asked = numbersOf(`${zone_number},${additional_zone_numbers}`);
      const taken = rows
        .filter((one) => one !== row)
        .flatMap((one) => numbersOf(`${one.zone_number ?? ''},${one.additional_zone_numbers ?? ''}`));
      const clash = asked.find((number) => [...taken, ...reserved].some((one) => plainZone(one) === plainZone(number)));
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

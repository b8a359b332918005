import { isObject, rowsOf } from '#cloud/client/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import type { KnownBook } from './known.ts';
import { type CloudDevice, oneRowEach } from './match.ts';
import { type Planned, planDevices } from './plan.ts';
import type { Wanted } from './types.ts';
import { type Work, workOf } from './work.ts';
import type { DeviceCalls, Site } from './write.ts';

export interface Look {
  readonly planned: Planned;
  readonly actual: readonly CloudDevice[];
  readonly work: Work;
}

interface Reading {
  readonly manage: Pick<DeviceCalls, 'listDevices' | 'getDevice'>;
  readonly place: Site;
  readonly known: KnownBook;
  readonly signal: AbortSignal;
}

/** Reads what the cloud has, and plans what is to be done; notes which device there is which of ours. */
export async function lookAt(wanted: Wanted, reading: Reading): Promise<Look> {
  const { known } = reading;
  let actual = await listed(reading);
  let planned = planDevices(wanted, actual, known);
  const unlisted = await lookFor(planned, actual, reading);
  if (unlisted.length > 0) {
    actual = [...actual, ...unlisted];
    planned = planDevices(wanted, actual, known);
  }
  for (const [id, { device_id, external_device_id: as }] of planned.found)
    known.device(id, { id: device_id, ...(as !== undefined && { as }) });
  return { planned, actual, work: workOf(planned, known) };
}

async function listed({ manage, place, signal }: Reading): Promise<readonly CloudDevice[]> {
  const { value, raw } = await manage.listDevices({ params: place, signal });
  // A row that cannot be read may be one of ours, and it may have any zone number.
  const rows = rowsOf(raw);
  const devices = oneRowEach(value);
  if (devices === undefined || rows.length > value.length || rows.some(hidesZones))
    throw new SitewardError('cloud_bad_answer', 'listDevices: some devices of the list cannot be read');
  return devices;
}

const zoneMembers = ['zone_number', 'additional_zone_numbers'] as const;

/** Whether a row, bare or in `data`, has zone numbers in a form nobody can read: as if it had none, they would be given away. */
const hidesZones = (row: unknown): boolean =>
  isObject(row) &&
  [row, row.data].some(
    (record) => isObject(record) && zoneMembers.some((name) => !readable.has(typeof (record[name] ?? ''))),
  );

const readable: ReadonlySet<string> = new Set(['string', 'number']);

/** Devices that were there once and are not in the list: each is asked for before it is made a second time. */
async function lookFor(
  { create }: Planned,
  actual: readonly CloudDevice[],
  { manage, place, known, signal }: Reading,
): Promise<readonly CloudDevice[]> {
  const there = new Set(actual.map(({ device_id }) => device_id));
  const found: CloudDevice[] = [];
  for (const { external_device_id: id } of create) {
    const before = known.devices.get(id);
    if (before === undefined) continue;
    try {
      // In the list, but as another device.
      if (there.has(before.id)) known.device(id, undefined);
      else found.push((await manage.getDevice({ params: { ...place, deviceId: before.id }, signal })).value);
    } catch (error) {
      if (!isCode(error, 'cloud_not_found')) throw error;
      known.device(id, undefined);
    }
  }
  return found;
}

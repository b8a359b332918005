import type { DeviceCreate, NvrCreate } from '#cloud/contract/index.ts';
import { type CloudDevice, type KnownDevice, macKey, matchDevices } from './match.ts';
import type { DevicePlan, Differences, HeldDevice, Wanted, WantedDevice, WantedNvr } from './types.ts';
import { allOf, assignZones, sameFurther, sameMain, type Zones, zonesOf } from './zones.ts';

/** What the cloud was told of a recorder: it cannot be read there (S-143). */
export interface KnownNvr {
  readonly id?: string;
  /** Without an id: it was asked for, and nobody knows whether it was done. */
  readonly asked?: boolean;
  /** Somebody has it registered again although it is perhaps there. */
  readonly doubtful?: boolean;
  /** What the service said to that. */
  readonly refusal?: string;
  /** The members as they were told last. */
  readonly told: Readonly<Record<string, string>>;
  /** Wall clock of the last change, milliseconds; 0: none since it was registered. */
  readonly changedAt: number;
  /** Ids of devices that were associated with it. */
  readonly attached: readonly string[];
  /** It was not found there, and was registered anew since. */
  readonly anew?: boolean;
}

export interface Known {
  /** By external id of ours. */
  readonly devices: Pick<ReadonlyMap<string, KnownDevice>, 'get'>;
  readonly nvrs: Pick<ReadonlyMap<string, KnownNvr>, 'get'>;
}

/** A plan and what it was made of. */
export interface Planned extends DevicePlan {
  /** The device of the cloud that is each of ours, by external id. */
  readonly found: ReadonlyMap<string, CloudDevice>;
  /** The numbers each of ours shall have in the end. */
  readonly targets: ReadonlyMap<string, Zones>;
  readonly reserved: readonly string[];
}

/**
 * What is to be done so that the cloud knows what is wanted. Pure; the same input gives the same plan, and a plan that was
 * carried out leaves nothing to do. Nothing is ever deleted: what is too much is only named.
 */
export function planDevices(wanted: Wanted, actual: readonly CloudDevice[], known: Known): Planned {
  const { found, missing, conflicts, others, disputed } = matchDevices(wanted.devices, actual, known.devices);
  const isNew = new Set(missing);
  const held = new Set(conflicts.map(({ external_id }) => external_id));
  const live = wanted.devices.filter(({ external_device_id: id }) => !held.has(id));
  const { zones, changes } = assignZones(
    live.map((device) => ({
      id: device.external_device_id,
      ...(device.zone !== undefined && { zone: device.zone }),
      ...furtherOf(device),
      now: zonesOf(found.get(device.external_device_id) ?? {}),
    })),
    [...others.flatMap((row) => allOf(zonesOf(row))), ...(wanted.reserved ?? [])],
  );

  const update: DevicePlan['update'][number][] = [];
  const unchanged: string[] = [];
  const unsendable: HeldDevice[] = [];
  for (const device of live) {
    const { external_device_id: id } = device;
    const row = found.get(id);
    const target = zones.get(id);
    if (row === undefined || target === undefined) continue;
    const differences = { ...detailsThatDiffer(device, row), ...zonesThatDiffer(row, target) };
    if (Object.keys(differences).length === 0) unchanged.push(id);
    else if (!isNumber(row.device_id)) unsendable.push({ external_id: id, kind: 'device', ...unsendableId(row) });
    else update.push({ device_id: row.device_id, external_device_id: id, changes: differences });
  }
  const settling = live.filter((device) => isNew.has(device) && device.isSettling === true).map(notYet);
  const nvrs = planNvrs(wanted, known.nvrs, { found, held });
  return {
    create: live
      .filter((device) => isNew.has(device) && device.isSettling !== true)
      .map((device) => creation(device, zones)),
    update,
    unchanged,
    absent: others.filter(({ device_id }) => !disputed.has(device_id)).map(absence),
    zones: changes.map(({ id, ...change }) => ({ external_device_id: id, ...change })),
    nvrs: nvrs.plan,
    held: [...conflicts, ...unsendable, ...settling, ...nvrs.held],
    found,
    targets: zones,
    reserved: wanted.reserved ?? [],
  };
}

const notYet = ({ external_device_id }: WantedDevice): HeldDevice => ({
  ...{ external_id: external_device_id, kind: 'device', reason: 'waiting' },
  message: 'it has not told what it is yet; it is created when it has, or half a minute after it was configured',
});

/** A body needs the id as a number (S-192). */
const isNumber = (id: string): boolean => /^\d+$/.test(id) && Number.isSafeInteger(Number(id));
const unsendableId = ({ device_id }: CloudDevice) => ({
  reason: 'refused' as const,
  message: `the cloud gave it the id ${device_id.slice(0, 64)}, which cannot be sent as a number; change it there`,
});

/** A bridge says which zones its panels have, none included; of a camera only what is said counts. */
const furtherOf = ({ device_type, furtherZones }: WantedDevice): { readonly further?: readonly string[] } =>
  device_type === 'bridge' || furtherZones.length > 0 ? { further: furtherZones } : {};

const details = ['name', 'mac', 'manufacturer', 'model', 'serial_number'] as const;

/** What we say nothing of is no difference. */
function detailsThatDiffer(device: WantedDevice, row: CloudDevice): Differences {
  const differing = details.flatMap((name) => {
    const to = device[name];
    if (to === undefined || to.trim() === '') return [];
    const from = row[name] ?? '';
    const isSame = name === 'mac' ? (macKey(to) ?? to) === (macKey(from) ?? from) : to.trim() === from.trim();
    return isSame ? [] : [[name, { from: from === '' ? null : from, to }] as const];
  });
  return Object.fromEntries(differing);
}

export function zonesThatDiffer(row: CloudDevice, target: Zones): Differences {
  const now = zonesOf(row);
  const further = target.further.join(',');
  return {
    ...(target.main !== undefined &&
      !sameMain(now, target) && { zone_number: { from: row.zone_number || null, to: target.main } }),
    ...(!sameFurther(now, target) && {
      additional_zone_numbers: { from: row.additional_zone_numbers || null, to: further },
    }),
  };
}

function creation(
  { zone: _, furtherZones: __, isSettling: ___, ...device }: WantedDevice,
  zones: ReadonlyMap<string, Zones>,
): DeviceCreate {
  const { main = '', further = [] } = zones.get(device.external_device_id) ?? {};
  return {
    ...device,
    zone_number: main,
    ...(further.length > 0 && { additional_zone_numbers: further.join(',') }),
  };
}

const absence = ({ device_id, external_device_id, name }: CloudDevice): DevicePlan['absent'][number] => ({
  device_id,
  ...(external_device_id !== undefined && { external_device_id }),
  ...(name !== undefined && name !== '' && { name }),
});

interface Site {
  readonly found: ReadonlyMap<string, CloudDevice>;
  /** Devices nothing is decided about. */
  readonly held: ReadonlySet<string>;
}

function planNvrs(
  wanted: Wanted,
  known: Known['nvrs'],
  site: Site,
): { readonly plan: DevicePlan['nvrs']; readonly held: readonly HeldDevice[] } {
  const create: NvrCreate[] = [];
  const update: DevicePlan['nvrs']['update'][number][] = [];
  const attach: DevicePlan['nvrs']['attach'][number][] = [];
  const held: HeldDevice[] = [];
  const there = new Set(wanted.devices.map(({ external_device_id: id }) => id).filter((id) => !site.held.has(id)));
  const seen = new Set<string>();
  for (const nvr of wanted.nvrs) {
    const { external_nvr_id: id } = nvr;
    const before = known.get(id);
    if (seen.has(id)) {
      held.push({
        external_id: id,
        kind: 'nvr',
        reason: 'conflict',
        message: 'the configuration has two recorders of this id',
      });
      continue;
    }
    seen.add(id);
    if (before?.id === undefined && before?.asked === true) {
      held.push({ external_id: id, kind: 'nvr', reason: 'unknown', message: unknownNvr(before) });
      continue;
    }
    const { devices: _, cloud_nvr_id: __, ...body } = nvr;
    if (before?.id === undefined) create.push(body);
    else {
      const changes = toldOtherwise(nvr, before);
      if (Object.keys(changes).length > 0) update.push({ nvr_id: before.id, external_nvr_id: id, changes });
    }
    const attached = new Set(before?.attached ?? []);
    const devices = nvr.devices.filter((one) => {
      const device = site.found.get(one)?.device_id;
      return there.has(one) && (device === undefined || (isNumber(device) && !attached.has(device)));
    });
    if (devices.length > 0) attach.push({ external_nvr_id: id, devices: [...new Set(devices)] });
  }
  return { plan: { create, update, attach }, held };
}

/** Told plainly: the interface has no list of recorders, so nobody can look. */
const unknownNvr = ({ refusal }: KnownNvr): string =>
  refusal === undefined
    ? 'the reply to its registration was lost, and the interface shows no recorders: look in the console of the service; where it is there, write its id as cloud_nvr_id of the recorder into the configuration; where it is not, register it again'
    : `the reply to its registration was lost, and registered again it was refused, so that it is probably there; write its id from the console of the service as cloud_nvr_id of the recorder into the configuration: ${refusal}`;

/** The members of a recorder the cloud is told, without those that have no value. */
export function toldOf(nvr: WantedNvr | NvrCreate): Readonly<Record<string, string>> {
  const members = ['name', 'manufacturer', 'model', 'serial_number', 'mac', 'ip_address'] as const;
  return Object.fromEntries(
    members.flatMap((name) => {
      const value = nvr[name];
      return value === undefined || value === '' ? [] : [[name, value] as const];
    }),
  );
}

function toldOtherwise(nvr: WantedNvr, { told }: KnownNvr): Differences {
  return Object.fromEntries(
    Object.entries(toldOf(nvr)).flatMap(([name, to]) =>
      told[name] === to ? [] : [[name, { from: told[name] ?? null, to }] as const],
    ),
  );
}

import { SitewardError } from '#errors.ts';
import type { SeedDealer, SeedSite } from './seed.ts';
import { addContact, addDealer, addDevice, addNvr, addPartition, addSite, addStation } from './world/create.ts';
import type { DealerRow } from './world/rows.ts';
import type { Key } from './world/table.ts';
import type { World } from './world/world.ts';

interface Loading {
  /** The service's time, ISO 8601. */
  readonly at: string;
  /** Arming setting of a site that says none. */
  readonly securityType: number;
}

/**
 * Puts described dealers into the world. All or nothing: throws `config_invalid` with the place in `facts.field` for
 * what contradicts itself or what is there, and `queue_full` at a bound; then the world is as it was.
 */
export function loadDealers(world: World, dealers: readonly SeedDealer[], loading: Loading): DealerRow[] {
  const before = world.snapshot();
  try {
    return dealers.map((dealer, index) => loadDealer(world, dealer, `dealers[${index}]`, loading));
  } catch (error) {
    world.restore(before);
    throw error;
  }
}

/** One dealer; `place` stands before the field in errors and may be empty. */
export function loadDealer(world: World, seed: SeedDealer, place: string, loading: Loading): DealerRow {
  const { at } = loading;
  free(place, 'dealer_id', world.dealers.get(seed.dealer_id ?? 0));
  const id = seed.dealer_id ?? world.dealers.newId();
  const connected = seed.connected ?? seed.external_dealer_id !== undefined;
  const external = connected ? (seed.external_dealer_id ?? `dealer-${id}`) : null;
  const twin = world.dealers.all().find((other) => external !== null && other.external_dealer_id === external);
  free(place, 'external_dealer_id', twin);
  const dealer = addDealer(world, { ...seed, external_dealer_id: external }, { at, id });
  unique(seed.monitoring_stations, 'external_monitoring_station_id', `${place}.monitoring_stations`);
  for (const [index, station] of seed.monitoring_stations.entries()) {
    const { monitoring_station_id: stationId } = station;
    free(`${place}.monitoring_stations[${index}]`, 'monitoring_station_id', world.stations.get(stationId ?? 0));
    addStation(world, id, station, { at, ...idOf(stationId) });
  }
  unique(seed.sites, 'external_site_id', `${place}.sites`);
  for (const [index, site] of seed.sites.entries()) loadSite(world, id, site, `${place}.sites[${index}]`, loading);
  return dealer;
}

function loadSite(world: World, dealerId: number, seed: SeedSite, place: string, loading: Loading): void {
  const { at } = loading;
  free(place, 'site_id', world.sites.get(seed.site_id ?? 0));
  const external = seed.external_monitoring_station_id;
  const station = world.stations.of(dealerId).find((one) => one.external_monitoring_station_id === external);
  if (external !== undefined && station === undefined) {
    throw wrong(place, 'external_monitoring_station_id', 'is no monitoring station of this dealer');
  }
  const site = addSite(
    world,
    dealerId,
    { ...seed, monitoring_station_id: station?.monitoring_station_id },
    {
      at,
      ...idOf(seed.site_id),
      securityType: seed.security_type ?? loading.securityType,
      partition: seed.partitions.length === 0,
    },
  );
  const { is_activated, linked, audio_messages = null } = seed;
  world.sites.put({ ...site, is_activated, linked, audio_messages });
  loadBelow(world, site.site_id, seed, { place, at });
}

function loadBelow(world: World, siteId: number, seed: SeedSite, { place, at }: { place: string; at: string }): void {
  for (const [index, partition] of seed.partitions.entries()) {
    free(`${place}.partitions[${index}]`, 'partition_id', world.partitions.get(partition.partition_id));
    world.partitions.put({ ...addPartition(world, siteId, partition.partition_id), ...partition });
  }
  unique(seed.contacts, 'external_contact_id', `${place}.contacts`);
  for (const [index, contact] of seed.contacts.entries()) {
    free(`${place}.contacts[${index}]`, 'contact_id', world.contacts.get(contact.contact_id ?? 0));
    addContact(world, siteId, contact, { at, ...idOf(contact.contact_id) });
  }
  unique(seed.devices, 'external_device_id', `${place}.devices`);
  for (const [index, device] of seed.devices.entries()) {
    free(`${place}.devices[${index}]`, 'device_id', world.devices.get(device.device_id ?? 0));
    addDevice(world, siteId, device, { at, ...idOf(device.device_id), registeredBy: device.registered_by_partner });
  }
  unique(seed.nvrs, 'external_nvr_id', `${place}.nvrs`);
  for (const [index, nvr] of seed.nvrs.entries()) {
    const here = `${place}.nvrs[${index}]`;
    free(here, 'nvr_id', world.nvrs.get(nvr.nvr_id ?? 0));
    const device_ids = nvr.external_device_ids.map((external) => {
      const device = world.devices.of(siteId).find((one) => one.external_device_id === external);
      if (device === undefined) throw wrong(here, 'external_device_ids', `has ${external}, no device of this site`);
      return device.device_id;
    });
    world.nvrs.put({ ...addNvr(world, siteId, nvr, { at, ...idOf(nvr.nvr_id) }), device_ids });
  }
}

const idOf = (id: Key | undefined) => (typeof id === 'number' ? { id } : {});

function free(place: string, field: string, holder: object | undefined): void {
  if (holder !== undefined) throw wrong(place, field, 'is taken already');
}

/** External ids are unique among their siblings, as through the interface. */
function unique<K extends string>(items: readonly Readonly<Record<K, string>>[], field: K, place: string): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (seen.has(item[field])) throw wrong(`${place}[${index}]`, field, 'is there twice');
    seen.add(item[field]);
  }
}

function wrong(place: string, field: string, why: string): SitewardError {
  const where = `${place === '' ? '' : `${place}.`}${field}`.replace(/^\./, '');
  return new SitewardError('config_invalid', `${where}: ${why}`, { facts: { field: where, why } });
}

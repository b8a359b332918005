import type {
  ContactCreate,
  DealerUpdate,
  DeviceCreate,
  MonitoringStationCreate,
  NvrCreate,
  SiteCreate,
} from '#cloud/contract/index.ts';
import type { ContactRow, DealerRow, DeviceRow, NvrRow, SiteRow, StationRow } from './rows.ts';
import type { World } from './world.ts';

/** New records. Every text that is not given is empty (S-050). `at` is the service's time in ISO 8601. */
interface Making {
  readonly at: string;
  /** Only a seed chooses ids. */
  readonly id?: number | undefined;
}

export function addDealer(
  world: World,
  input: DealerUpdate & { readonly external_dealer_id: string | null },
  { at, id = world.dealers.newId() }: Making,
): DealerRow {
  return world.dealers.put({
    dealer_id: id,
    external_dealer_id: input.external_dealer_id,
    company_name: input.company_name ?? `Dealer ${id}`,
    company_address1: input.company_address1 ?? '',
    company_address2: input.company_address2 ?? '',
    company_email: input.company_email ?? '',
    company_phone_number: input.company_phone_number ?? '',
    created_at: at,
    bound_by: null,
    released_by: null,
  });
}

/** With one partition, unless the caller adds its own. A new site is inactive (S-062). */
export function addSite(
  world: World,
  dealerId: number,
  input: SiteCreate,
  {
    at,
    id = world.sites.newId(),
    securityType,
    partition = true,
  }: Making & { securityType: number; partition?: boolean },
): SiteRow {
  // First the partition: a site without one must not stay behind when there is no room for it.
  if (partition) addPartition(world, id, freePartitionId(world, `${id}-1`));
  return world.sites.put({
    site_id: id,
    dealer_id: dealerId,
    external_site_id: input.external_site_id,
    name: input.name,
    monitoring_station_id: input.monitoring_station_id ?? null,
    account_number: input.account_number ?? '',
    address1: input.address1 ?? '',
    address2: input.address2 ?? '',
    timezone: input.timezone,
    is_activated: 0,
    created_at: at,
    linked: false,
    security_type: securityType,
    arming_updated_at: at,
    audio_messages: null,
  });
}

/** A seed may have given the usual name to another site. */
const freePartitionId = (world: World, wanted: string): string =>
  world.partitions.get(wanted) === undefined ? wanted : freePartitionId(world, `${wanted}x`);

export const addPartition = (world: World, siteId: number, partitionId: string) =>
  world.partitions.put({ partition_id: partitionId, site_id: siteId, status: 'disarmed', bypassed_zones: [] });

export const addStation = (
  world: World,
  dealerId: number,
  input: MonitoringStationCreate,
  { at, id = world.stations.newId() }: Making,
): StationRow =>
  world.stations.put({
    monitoring_station_id: id,
    dealer_id: dealerId,
    external_monitoring_station_id: input.external_monitoring_station_id,
    name: input.name,
    prefix: input.prefix ?? '',
    linecard: input.linecard ?? '',
    created_at: at,
    updated_at: at,
  });

export const addContact = (
  world: World,
  siteId: number,
  input: ContactCreate,
  { at, id = world.contacts.newId() }: Making,
): ContactRow =>
  world.contacts.put({
    contact_id: id,
    site_id: siteId,
    external_contact_id: input.external_contact_id,
    first_name: input.first_name,
    last_name: input.last_name,
    phone_number: input.phone_number ?? '',
    email: input.email ?? '',
    created_at: at,
    updated_at: at,
  });

export const addDevice = (
  world: World,
  siteId: number,
  input: DeviceCreate,
  { at, id = world.devices.newId(), registeredBy }: Making & { registeredBy: string },
): DeviceRow =>
  world.devices.put({
    device_id: id,
    site_id: siteId,
    external_device_id: input.external_device_id,
    device_type: input.device_type,
    name: input.name ?? '',
    zone_number: input.zone_number,
    additional_zone_numbers: input.additional_zone_numbers ?? '',
    mac: input.mac ?? '',
    manufacturer: input.manufacturer ?? '',
    model: input.model ?? '',
    serial_number: input.serial_number ?? '',
    registered_by_partner: registeredBy,
    created_at: at,
    updated_at: at,
  });

export const addNvr = (
  world: World,
  siteId: number,
  input: NvrCreate,
  { at, id = world.nvrs.newId() }: Making,
): NvrRow =>
  world.nvrs.put({
    nvr_id: id,
    site_id: siteId,
    external_nvr_id: input.external_nvr_id,
    name: input.name,
    manufacturer: input.manufacturer ?? '',
    model: input.model ?? '',
    serial_number: input.serial_number ?? '',
    mac: input.mac ?? '',
    ip_address: input.ip_address ?? '',
    device_ids: [],
    created_at: at,
    updated_at: at,
  });

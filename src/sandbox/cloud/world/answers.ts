import type { Contact, Dealer, Device, MonitoringStation, Nvr, Site, SiteWithBridge } from '#cloud/contract/index.ts';
import type { ActivityRow, ContactRow, DealerRow, DeviceRow, NvrRow, SiteRow, StationRow } from './rows.ts';
import type { World } from './world.ts';

/** Stored rows as the interface shows them: without what they belong to and what stays inside. */
export const dealerOf = ({ bound_by: _, released_by: __, ...dealer }: DealerRow): Dealer => dealer;
export const stationOf = ({ dealer_id: _, ...station }: StationRow): MonitoringStation => station;
export const contactOf = ({ site_id: _, ...contact }: ContactRow): Contact => contact;
export const deviceOf = ({ site_id: _, ...device }: DeviceRow): Device => device;
export const nvrOf = ({ site_id: _, device_ids: __, ...nvr }: NvrRow): Nvr => nvr;
export const activityOf = ({ site_id: _, ...entry }: ActivityRow) => entry;

export type TimeStyle = 'iso' | 'plain';

/** S-060; the station's external id follows the station (S-064). */
export function siteOf(world: World, row: SiteRow, style: TimeStyle): Site {
  const station = row.monitoring_station_id === null ? undefined : world.stations.get(row.monitoring_station_id);
  return {
    site_id: row.site_id,
    external_site_id: row.external_site_id,
    name: row.name,
    external_monitoring_station_id: station?.external_monitoring_station_id ?? null,
    monitoring_station_id: row.monitoring_station_id,
    account_number: row.account_number,
    address1: row.address1,
    address2: row.address2,
    timezone: row.timezone,
    is_activated: row.is_activated,
    created_at: style === 'iso' ? row.created_at : plainTime(row.created_at),
  };
}

/** Any device of type bridge counts as a physical one (S-068). */
export const siteWithBridgeOf = (world: World, row: SiteRow, style: TimeStyle): SiteWithBridge => ({
  ...siteOf(world, row, style),
  has_physical_bridge: world.devices.of(row.site_id).some((device) => device.device_type === 'bridge'),
});

/** `<date> <time>` without a zone, as the overview of sites shows it (S-018). */
const plainTime = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;

import type { Dealer, MonitoringStation, Site } from '#cloud/contract/index.ts';

/** A site with what its list may join (S-081). */
export interface SiteSource {
  readonly sites: Site;
  readonly monitoring_stations: MonitoringStation | undefined;
  readonly dealers: Dealer | undefined;
}

type Table = keyof SiteSource;
type Kind = 'number' | 'text' | 'time';

export interface Column {
  /** How it is named in a row: unprefixed for the sites themselves. */
  readonly key: string;
  readonly kind: Kind;
  of(source: SiteSource): string | number | null;
}

const kinds: Readonly<Record<Table, Readonly<Record<string, Kind>>>> = {
  sites: {
    site_id: 'number',
    external_site_id: 'text',
    name: 'text',
    external_monitoring_station_id: 'text',
    monitoring_station_id: 'number',
    account_number: 'text',
    address1: 'text',
    address2: 'text',
    timezone: 'text',
    is_activated: 'number',
    created_at: 'time',
  } satisfies Record<keyof Site, Kind>,
  monitoring_stations: {
    monitoring_station_id: 'number',
    external_monitoring_station_id: 'text',
    name: 'text',
    prefix: 'text',
    linecard: 'text',
    created_at: 'time',
    updated_at: 'time',
  } satisfies Record<keyof MonitoringStation, Kind>,
  dealers: {
    dealer_id: 'number',
    external_dealer_id: 'text',
    company_name: 'text',
    company_address1: 'text',
    company_address2: 'text',
    company_email: 'text',
    company_phone_number: 'text',
    created_at: 'time',
  } satisfies Record<keyof Dealer, Kind>,
};

function columnsOf(table: Table): Column[] {
  return Object.entries(kinds[table]).map(([name, kind]) => ({
    key: table === 'sites' ? name : `${table}.${name}`,
    kind,
    of: (source) => {
      const value = (source[table] as Readonly<Record<string, unknown>> | undefined)?.[name];
      return typeof value === 'string' || typeof value === 'number' ? value : null;
    },
  }));
}

/** Columns of a row without `fields`; the first is the site's id. */
export const ownColumns = columnsOf('sites') as [Column, ...Column[]];

const byName: ReadonlyMap<string, Column> = new Map([
  ...ownColumns.flatMap((column) => [[column.key, column] as const, [`sites.${column.key}`, column] as const]),
  ...[...columnsOf('monitoring_stations'), ...columnsOf('dealers')].map((column) => [column.key, column] as const),
]);

export const columnNamed = (name: string): Column | undefined => byName.get(name);

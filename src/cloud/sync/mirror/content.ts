import { z } from 'zod';
import { isObject, rowsOf, shownWords } from '#cloud/client/index.ts';

/** Rows of one list that are kept; a site has a handful of contacts, a dealer some stations. */
const rowCap = 500;
const textChars = 120;
const text = z.string().max(textChars);

/** A person to call. Personal data: encrypted on disk, shown to roles that have to call, and nowhere else. */
const mirrorContact = z.strictObject({
  contact_id: text,
  external_contact_id: text,
  first_name: text,
  last_name: text,
  phone_number: text,
  email: text,
});
export type MirrorContact = z.output<typeof mirrorContact>;

const mirrorStation = z.strictObject({
  monitoring_station_id: text,
  external_monitoring_station_id: text,
  name: text,
  prefix: text,
});
export type MirrorStation = z.output<typeof mirrorStation>;

/** What a read of the site did not tell is absent. */
const mirrorSite = z.strictObject({
  name: text.exactOptional(),
  timezone: text.exactOptional(),
  account_number: text.exactOptional(),
  monitoring_station_id: text.exactOptional(),
  is_activated: z.boolean().exactOptional(),
  has_physical_bridge: z.boolean().exactOptional(),
});
export type MirrorSite = z.output<typeof mirrorSite>;

/** When it was read, wall clock in milliseconds. */
const readAt = z.number();
const listOf = <T extends z.ZodType>(row: T) =>
  z.strictObject({
    readAt,
    items: z.array(row).max(rowCap),
    /** Rows that were too many or could not be read. */
    leftOut: z.int().nonnegative(),
  });

/** What is kept on disk. */
export const mirrorContent = z.strictObject({
  v: z.literal(1),
  site: z.strictObject({ readAt, value: mirrorSite }).exactOptional(),
  stations: listOf(mirrorStation).exactOptional(),
  contacts: listOf(mirrorContact).exactOptional(),
});
export type MirrorContent = z.output<typeof mirrorContent>;

/** Text as it may be shown: no control characters, bounded; what is no text is empty. */
const clean = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? shownWords(String(value)).slice(0, textChars) : '';

interface Taken<T> {
  readonly items: readonly T[];
  readonly leftOut: number;
}

/**
 * The rows of a list whose form the specification does not show: each with its id, under its own name or as `id`. Undefined where
 * the list has rows and none can be read, so that what was known stays.
 */
function taken<T>(raw: unknown, key: string, make: (id: string, row: Readonly<Record<string, unknown>>) => T) {
  const rows = rowsOf(raw);
  const items: T[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    if (!isObject(row)) continue;
    const id = clean(row[key] ?? row.id);
    if (id === '' || seen.has(id) || items.length === rowCap) continue;
    seen.add(id);
    items.push(make(id, row));
  }
  if (items.length === 0 && rows.length > 0) return undefined;
  return { items, leftOut: rows.length - items.length };
}

export const contactsOf = (raw: unknown): Taken<MirrorContact> | undefined =>
  taken(raw, 'contact_id', (contact_id, row) => ({
    contact_id,
    external_contact_id: clean(row.external_contact_id),
    first_name: clean(row.first_name),
    last_name: clean(row.last_name),
    phone_number: clean(row.phone_number),
    email: clean(row.email),
  }));

export const stationsOf = (raw: unknown): Taken<MirrorStation> | undefined =>
  taken(raw, 'monitoring_station_id', (monitoring_station_id, row) => ({
    monitoring_station_id,
    external_monitoring_station_id: clean(row.external_monitoring_station_id),
    name: clean(row.name),
    prefix: clean(row.prefix),
  }));

/** Of a read of the site. */
export interface ReadSite {
  readonly name?: string | undefined;
  readonly timezone?: string | undefined;
  readonly account_number?: string | undefined;
  readonly monitoring_station_id?: string | null | undefined;
  readonly is_activated?: number | undefined;
  readonly has_physical_bridge?: boolean | undefined;
}

export function siteOf(site: ReadSite): MirrorSite {
  const { name, timezone, account_number, monitoring_station_id, is_activated, has_physical_bridge } = site;
  return {
    ...(name !== undefined && { name: clean(name) }),
    ...(timezone !== undefined && { timezone: clean(timezone) }),
    ...(account_number !== undefined && { account_number: clean(account_number) }),
    ...(typeof monitoring_station_id === 'string' && { monitoring_station_id: clean(monitoring_station_id) }),
    ...(is_activated !== undefined && { is_activated: is_activated !== 0 }),
    ...(has_physical_bridge !== undefined && { has_physical_bridge }),
  };
}

import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import {
  answerTime,
  id,
  idNumber,
  name,
  queryText,
  record,
  requiredName,
  requiredText,
  text,
  timeZone,
} from './fields.ts';
import {
  checkedRefusals,
  dealerParams,
  dealerPath,
  json,
  noContent,
  partner,
  refusals,
  siteParams,
  sitePath,
} from './partner.ts';

/** S-060. Without a monitoring station both station ids are null (S-064); other unset text is empty. */
export const site = z.object({
  site_id: id(),
  external_site_id: z.string(),
  name: z.string(),
  external_monitoring_station_id: z.string().nullable(),
  monitoring_station_id: id().nullable(),
  account_number: z.string(),
  address1: z.string(),
  address2: z.string(),
  timezone: z.string(),
  is_activated: z.literal([0, 1]),
  created_at: answerTime(),
});
export type Site = z.output<typeof site>;

/** Only the read of one site says whether it has a bridge (S-068). */
export const siteWithBridge = site.extend({ has_physical_bridge: z.boolean() });
export type SiteWithBridge = z.output<typeof siteWithBridge>;

/** A row of the list: with `fields`, only some columns, and columns of joined tables under `table.column` (S-080). */
const siteRow = z.looseObject({ ...site.partial().shape });
export type SiteRow = z.output<typeof siteRow>;

/** S-061. `is_activated`, `site_id` and the station's external id are not for the caller to set (S-062). */
export const siteCreate = record({
  external_site_id: requiredText(),
  name: requiredName(),
  timezone: timeZone(),
  monitoring_station_id: idNumber().optional(),
  account_number: text().optional(),
  address1: name().optional(),
  address2: name().optional(),
});
export type SiteCreate = z.output<typeof siteCreate>;

/** Absent members stay as they are; `monitoring_station_id: null` clears the station (S-069). */
export const siteUpdate = siteCreate.partial().extend({ monitoring_station_id: idNumber().nullable().optional() });
export type SiteUpdate = z.output<typeof siteUpdate>;

/**
 * The list's query as text, because its grammar has its own reader on the server (S-080 to S-092). `filter` may be
 * given several times; everything else once.
 */
const siteListQuery = z.object({
  fields: queryText().optional().describe('Columns to return, separated by commas; table.column when joining.'),
  filter: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('column,value,operator with eq, neq, lt, lte, gt, gte or regex; several ones all must hold.'),
  sort: queryText().optional().describe('Column to sort by.'),
  dir: queryText().optional().describe('asc (default) or desc.'),
  limit: queryText().optional().describe('Most rows to return.'),
  offset: queryText().optional().describe('Rows to skip.'),
});
export type SiteListQuery = z.output<typeof siteListQuery>;

export const filterOperators = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'regex'] as const;
export type FilterOperator = (typeof filterOperators)[number];

/** Most rows of one page (S-090), most filters, and longest regular expression in characters (S-086). */
export const siteListCaps = { limit: 1000, filters: 8, regex: 256 } as const;

const shared = { ...partner, tags: ['sites'], availability: 'ready for B' } as const;

const createSite = defineOperation({
  ...shared,
  id: 'createSite',
  method: 'POST',
  path: `${dealerPath}/sites`,
  summary: 'Create a site; it starts inactive',
  params: dealerParams,
  body: json(siteCreate),
  responses: { 201: { description: 'The new site', schema: site }, ...checkedRefusals },
  repeatable: 'no',
  rules: ['S-060', 'S-061', 'S-062', 'S-063', 'S-064', 'S-065', 'S-066'],
});

const listSites = defineOperation({
  ...shared,
  id: 'listSites',
  method: 'GET',
  path: `${dealerPath}/sites`,
  summary: 'List the sites of a dealer; filtered, sorted and paged',
  params: dealerParams,
  query: siteListQuery,
  responses: { 200: { description: 'The rows', schema: z.array(siteRow) }, ...checkedRefusals },
  repeatable: 'yes',
  rules: [
    'S-018',
    'S-019',
    'S-060',
    'S-067',
    'S-080',
    'S-081',
    'S-082',
    'S-083',
    'S-084',
    'S-085',
    'S-086',
    'S-087',
    'S-088',
    'S-089',
    'S-090',
    'S-091',
    'S-092',
  ],
});

const getSite = defineOperation({
  ...shared,
  id: 'getSite',
  method: 'GET',
  path: sitePath,
  summary: 'Read a site, with whether it has a physical bridge',
  params: siteParams,
  responses: { 200: { description: 'The site', schema: siteWithBridge }, ...refusals },
  repeatable: 'yes',
  rules: ['S-060', 'S-066', 'S-068'],
});

const updateSite = defineOperation({
  ...shared,
  id: 'updateSite',
  method: 'PUT',
  path: sitePath,
  summary: 'Change a site',
  params: siteParams,
  body: json(siteUpdate),
  responses: { 200: { description: 'The updated site', schema: site }, ...checkedRefusals },
  repeatable: 'yes',
  rules: ['S-060', 'S-063', 'S-064', 'S-065', 'S-069'],
});

const deleteSite = defineOperation({
  ...shared,
  id: 'deleteSite',
  method: 'DELETE',
  path: sitePath,
  summary: 'Delete a site and all below it, for good',
  params: siteParams,
  responses: { ...noContent, ...refusals },
  repeatable: 'yes',
  rules: ['S-070'],
});

export const siteOperations = { createSite, listSites, getSite, updateSite, deleteSite } as const;

import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { json } from './answering.ts';
import { lanOperation } from './lan-operation.ts';

const time = z.iso.datetime({ precision: null });
const age = {
  read_at: time.nullable().describe('When the cloud was read; null: never.'),
  stale: z.boolean().describe('So old that it may well be otherwise by now.'),
};
const leftOut = z.int().nonnegative().describe('Rows of the cloud that were too many, or could not be read.');

export const siteMirror = z.object({
  state: z
    .enum(['off', 'unknown', 'ok', 'deleted', 'withdrawn'])
    .describe('Of the site in the cloud. off: the configuration names no way to it. unknown: not read yet.'),
  reason: z.string().optional(),
  since: time.optional().describe('Since when it is deleted or the access withdrawn.'),
  site: z.object({
    ...age,
    name: z.string().optional(),
    timezone: z.string().optional(),
    account_number: z.string().optional().describe('Of the site at its monitoring station.'),
    monitoring_station_id: z.string().optional(),
    is_activated: z.boolean().optional(),
    has_physical_bridge: z.boolean().optional(),
  }),
  stations: z.object({
    ...age,
    left_out: leftOut,
    items: z.array(
      z.object({
        monitoring_station_id: z.string(),
        external_monitoring_station_id: z.string(),
        name: z.string(),
        prefix: z.string(),
      }),
    ),
  }),
  contacts: z.object({ ...age, count: z.int().nonnegative() }).describe('How many; listContacts tells who.'),
});
export type SiteMirror = z.output<typeof siteMirror>;

export const keptContacts = z.object({
  ...age,
  left_out: leftOut,
  items: z
    .array(
      z.object({
        contact_id: z.string(),
        external_contact_id: z.string(),
        first_name: z.string(),
        last_name: z.string(),
        phone_number: z.string(),
        email: z.string(),
      }),
    )
    .describe('In the order of the cloud.'),
});
export type KeptContacts = z.output<typeof keptContacts>;

/** What is kept of the site in the cloud for the time without a line. Empty where there is nothing; never asks the cloud. */
export interface MirrorPort {
  site(): SiteMirror;
  contacts(): KeptContacts;
}

const shared = { method: 'GET', repeatable: 'yes', tags: ['site in the cloud'] } as const;

export const mirrorOperations = {
  getSiteMirror: lanOperation({
    ...shared,
    id: 'getSiteMirror',
    path: '/api/v1/cloud/site',
    summary: 'The site as the cloud told it last, and its monitoring stations; also without a line',
    responses: { 200: { description: 'Each with its age', media: 'application/json', schema: siteMirror } },
    rules: ['S-060', 'S-101'],
  }),
  listContacts: lanOperation({
    ...shared,
    id: 'listContacts',
    path: '/api/v1/cloud/contacts',
    summary: 'Who to call, as the cloud told it last; also without a line',
    responses: {
      200: { description: 'The contacts, with their age', media: 'application/json', schema: keptContacts },
    },
    rules: ['S-110', 'S-111'],
  }),
} as const;

export function mirrorHandlers(port: MirrorPort): Handlers<typeof mirrorOperations, By> {
  return { getSiteMirror: () => json(port.site()), listContacts: () => json(port.contacts()) };
}

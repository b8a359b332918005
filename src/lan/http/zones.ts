import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { zoneNumber, zoneType } from '#site/model/index.ts';
import { json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

/** The zones of the site, one by one. Those of a silent hold-up are not among them (safety 4). */

export const zoneEntry = z.object({
  number: zoneNumber,
  name: z.string(),
  type: zoneType,
  partitions: z.array(z.string()),
  /** Null: not heard yet, which is not closed. A detector of fire and the like that tells no more than its alarm is open while that lasts. */
  open: z.boolean().nullable(),
  alarm: z.boolean(),
  tamper: z.boolean(),
  low_battery: z.boolean(),
  online: z.boolean(),
  /** Its panel tells only alarms, sabotage and faults, by SIA DC-09: whether it is open is never known. */
  reports_only: z.literal(true).optional(),
  /** By its panel, or by siteward in one of its partitions. */
  bypassed: z.boolean(),
  /** After too many alarms in this arming period. */
  shut: z.boolean(),
  /** The last change. */
  since: z.iso.datetime({ precision: null }).optional(),
});
export type ZoneEntry = z.output<typeof zoneEntry>;

export const zoneList = z.object({ items: z.array(zoneEntry) });

const unusable = problemResponse('siteward cannot answer at the moment');

const listZones = lanOperation({
  id: 'listZones',
  method: 'GET',
  path: '/api/v1/zones',
  summary: 'The zones with their state, in the order of the configuration',
  responses: {
    200: { description: 'All zones', media: 'application/json', schema: zoneList },
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

export const zoneOperations = { listZones } as const;

export function zoneHandlers(zones: () => readonly ZoneEntry[]): Handlers<typeof zoneOperations, By> {
  return { listZones: () => json({ items: zones() }) };
}

import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { partitionId, zoneNumber } from '#site/model/index.ts';
import { json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';
import { partitionStatus } from './schemas.ts';

/** The partitions as in the status document, with what stands in the way of arming each. */

export const partitionEntry = partitionStatus.extend({
  /** Whether it could be armed away as it stands; null where its panel or another system decides, or nothing is known. */
  ready: z.boolean().nullable(),
  zones: z.array(zoneNumber),
  /** Zones that are open, not heard yet or not well, and not left out. */
  not_ready: z.array(zoneNumber),
});
export type PartitionEntry = z.output<typeof partitionEntry>;

export const partitionList = z.object({ items: z.array(partitionEntry) });

const unusable = problemResponse('siteward cannot answer at the moment');
const shared = { repeatable: 'yes', rules: ['safety 4'], tags: ['state'] } as const;

const listPartitions = lanOperation({
  ...shared,
  id: 'listPartitions',
  method: 'GET',
  path: '/api/v1/partitions',
  summary: 'The partitions with how each is armed, and what keeps it from being armed',
  responses: {
    200: { description: 'All partitions', media: 'application/json', schema: partitionList },
    503: unusable,
  },
});

const getPartition = lanOperation({
  ...shared,
  id: 'getPartition',
  method: 'GET',
  path: '/api/v1/partitions/{id}',
  summary: 'One partition',
  params: z.strictObject({ id: partitionId }),
  responses: {
    200: { description: 'As it is now', media: 'application/json', schema: partitionEntry },
    404: problemResponse('There is no such partition'),
    503: unusable,
  },
});

export const partitionOperations = { listPartitions, getPartition } as const;

export const partitionHandlers = (
  partitions: () => readonly PartitionEntry[],
): Handlers<typeof partitionOperations, By> => ({
  listPartitions: () => json({ items: partitions() }),
  getPartition({ params: { id } }) {
    const found = partitions().find((one) => one.id === id);
    if (found === undefined) throw new SitewardError('partition_unknown', `the site has no partition ${id}`);
    return json(found);
  },
});

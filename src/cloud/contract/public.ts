import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { activityLog, activityLogQuery } from './activity-logs.ts';
import { armingStates } from './arming-status.ts';
import { apiError } from './errors.ts';
import { must, oneOf, opaqueId, record, requiredText } from './fields.ts';
import { json } from './partner.ts';

const data = <S extends z.ZodType>(schema: S) => z.object({ data: schema });

/** S-178. */
export const partitionStatus = z.object({ partition_id: z.string(), status: z.enum(armingStates) });

/** S-179. `ready`: it can be armed as it is. */
export const partitionState = partitionStatus.extend({ ready: z.boolean(), bypassed_zones: z.array(z.string()) });

export const bypassRequest = record({
  zones: z
    .array(requiredText(255), { error: must('an array of zone numbers as text') })
    .min(1, 'must hold at least one zone')
    .max(500, 'must hold at most 500 zones'),
});

const responders = ['guard', 'responder'] as const;

export const dispatchRequest = record({
  reason: requiredText(),
  responder: oneOf(responders).optional().describe('guard when absent.'),
});
export type DispatchRequest = z.output<typeof dispatchRequest>;

const snapshotAddress = z.object({ url: z.string() });
const dispatchTicket = z.object({ dispatch_id: z.string(), status: z.literal('requested') });

const refusals = {
  401: { description: 'The API key is missing or wrong', schema: apiError },
  404: { description: 'There is nothing with this id', schema: apiError },
} as const;
const checkedRefusals = { 400: { description: 'A field is not valid', schema: apiError }, ...refusals } as const;

/** A command carried out late or twice could leave a site open: none is sent again after a lost reply. */
const shared = {
  base: 'base',
  auth: ['api_key'],
  repeatable: 'no',
  rules: ['S-041', 'S-179'],
  tags: ['public'],
} as const;
const partition = {
  ...shared,
  params: z.object({ partition_id: opaqueId() }),
} as const;
const partitionPath = '/v1/partitions/{partition_id}';

/** The one path of the public interface the specification names; its payload is not shown. */
export const armPartition = defineOperation({
  ...partition,
  id: 'armPartition',
  method: 'POST',
  path: `${partitionPath}/arm`,
  summary: 'Arm a partition',
  responses: { 200: { description: 'The partition is armed', schema: data(partitionStatus) }, ...refusals },
  rules: ['S-041', 'S-178'],
});

export const disarmPartition = defineOperation({
  ...partition,
  id: 'disarmPartition',
  method: 'POST',
  path: `${partitionPath}/disarm`,
  summary: 'Disarm a partition',
  responses: { 200: { description: 'The partition is disarmed', schema: data(partitionStatus) }, ...refusals },
});

export const bypassZones = defineOperation({
  ...partition,
  id: 'bypassZones',
  method: 'POST',
  path: `${partitionPath}/bypass`,
  summary: 'Bypass zones of a partition',
  body: json(bypassRequest),
  responses: { 200: { description: 'The state of the partition', schema: data(partitionState) }, ...checkedRefusals },
});

export const getPartition = defineOperation({
  ...partition,
  id: 'getPartition',
  method: 'GET',
  path: partitionPath,
  summary: 'Read the state of a partition',
  responses: { 200: { description: 'The state of the partition', schema: data(partitionState) }, ...refusals },
  repeatable: 'yes',
});

export const captureSnapshot = defineOperation({
  ...shared,
  id: 'captureSnapshot',
  method: 'POST',
  path: '/v1/devices/{device_id}/snapshot',
  summary: 'Take a picture with a device; image/jpeg or its address, as Accept asks',
  params: z.object({ device_id: opaqueId() }),
  responses: { 200: { description: 'The picture, or its address', schema: data(snapshotAddress) }, ...refusals },
});

export const dispatchResponder = defineOperation({
  ...shared,
  id: 'dispatchResponder',
  method: 'POST',
  path: '/v1/sites/{site_id}/dispatch',
  summary: 'Send a guard or another responder to a site',
  params: z.object({ site_id: opaqueId() }),
  body: json(dispatchRequest),
  responses: { 202: { description: 'The dispatch is requested', schema: data(dispatchTicket) }, ...checkedRefusals },
});

export const getAuditLog = defineOperation({
  ...shared,
  id: 'getAuditLog',
  method: 'GET',
  path: '/v1/sites/{site_id}/audit-log',
  summary: 'Read what operators did at a site, newest first',
  params: z.object({ site_id: opaqueId() }),
  query: activityLogQuery,
  responses: { 200: { description: 'The entries', schema: data(z.array(activityLog)) }, ...checkedRefusals },
  repeatable: 'yes',
});

export const publicOperations = {
  armPartition,
  disarmPartition,
  bypassZones,
  getPartition,
  captureSnapshot,
  dispatchResponder,
  getAuditLog,
} as const;

/** What the daemon may call in the cloud: the known path only, unless the dialect says that the others exist. */
export function publicOperationsFor({
  public_paths,
}: {
  readonly public_paths: boolean;
}): Partial<typeof publicOperations> {
  return public_paths ? publicOperations : { armPartition };
}

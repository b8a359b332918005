import { z } from 'zod';
import { deviceCreate, nvrCreate } from '#cloud/contract/index.ts';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** The devices of the site in the cloud: what a reconciliation would do, doing it, and how far it is (docs/cloud-devices.md). */

const time = z.iso.datetime({ precision: null });

/** By the member of the interface; `from` is null where the cloud has nothing. */
const differences = z.record(z.string(), z.object({ from: z.string().nullable(), to: z.string() }));

const held = z.object({
  external_id: z.string(),
  kind: z.enum(['device', 'nvr']),
  /** `refused` by the cloud; `conflict`: several of the cloud could be it; `waiting`: tried again by itself; `unknown`: nobody knows whether it was done. */
  reason: z.enum(['refused', 'conflict', 'waiting', 'unknown']),
  /** HTTP status of the refusal. */
  status: z.int().optional(),
  message: z.string(),
});

const attached = z.object({ external_nvr_id: z.string(), devices: z.array(z.string()) });

export const devicePlan = z.object({
  /** Nothing is to be done, and nothing is held. */
  in_step: z.boolean(),
  create: z.array(deviceCreate),
  update: z.array(z.object({ device_id: z.string(), external_device_id: z.string(), changes: differences })),
  unchanged: z.array(z.string()),
  /** Devices of the cloud that are none of this bridge's. They stay: nothing is ever deleted by itself. */
  absent: z.array(
    z.object({ device_id: z.string(), external_device_id: z.string().optional(), name: z.string().optional() }),
  ),
  /** Zone numbers that another device of the cloud has, and those that are given instead. */
  zones: z.array(z.object({ external_device_id: z.string(), wanted: z.string(), given: z.string() })),
  nvrs: z.object({
    create: z.array(nvrCreate),
    update: z.array(z.object({ nvr_id: z.string(), external_nvr_id: z.string(), changes: differences })),
    attach: z.array(attached),
  }),
  held: z.array(held),
});
export type DevicePlanShown = z.output<typeof devicePlan>;

/** `off`: no partner access in the configuration; `gone`: the site is deleted in the cloud, or access to it was withdrawn. */
const deviceSyncState = z.enum(['off', 'in_step', 'behind', 'away', 'gone']);

const syncDevicesBody = z.strictObject({
  dry_run: z.boolean().default(false).describe('Only say what would be done.'),
  again: z.boolean().default(false).describe('Also try again what the cloud refused.'),
  register_lost: z
    .boolean()
    .default(false)
    .describe(
      'Also register recorders again whose registration was answered into nothing; look first that they are not there.',
    ),
});
export type SyncDevicesBody = z.output<typeof syncDevicesBody>;

export const devicesSynced = z.object({
  dry_run: z.boolean(),
  state: deviceSyncState,
  reason: z.string().optional(),
  /** What a dry run would do. */
  plan: devicePlan.optional(),
  /** What was done, by external id. */
  done: z
    .object({
      created: z.array(z.string()),
      updated: z.array(z.string()),
      nvrs: z.object({ created: z.array(z.string()), updated: z.array(z.string()), attached: z.array(attached) }),
    })
    .optional(),
  held: z.array(held),
});
export type DevicesSynced = z.output<typeof devicesSynced>;

const cloudDevice = z.object({
  external_id: z.string(),
  kind: z.enum(['bridge', 'camera', 'nvr']).nullable(),
  name: z.string().nullable(),
  /** Null: the cloud does not have it yet, as far as is known here. */
  cloud_id: z.string().nullable(),
  /** `known`; `missing`: not there yet; `absent`: the configuration has it no more, and the cloud still has it; else why it is held. */
  state: z.enum(['known', 'missing', 'absent', ...held.shape.reason.options]),
  status: z.int().optional(),
  message: z.string().optional(),
});
export type CloudDevice = z.output<typeof cloudDevice>;

export const cloudDeviceList = z.object({
  /** `manual`: only by a request (cloud.devices). */
  mode: z.enum(['automatic', 'manual']),
  state: deviceSyncState,
  reason: z.string().optional(),
  /** When the cloud was last seen to know all of it; null: never. */
  in_step_at: time.nullable(),
  items: z.array(cloudDevice),
});
export type CloudDeviceList = z.output<typeof cloudDeviceList>;

export interface CloudDevicesPort {
  list(): CloudDeviceList;
  /** Reads and plans, writes nothing. Rejects with `config_fixed` without partner access, and with `cloud_*`. */
  plan(signal: AbortSignal): Promise<DevicePlanShown>;
  /** As `plan`. What is under way when the signal ends goes on. */
  sync(wish: SyncDevicesBody, by: Asker, signal: AbortSignal): Promise<DevicesSynced>;
}

/** One look at a long list, with its retries. */
const planMs = 60_000;
/** Five hundred devices go in chunks of fifty. */
export const syncDevicesMs = 115_000;

const shared = { tags: ['devices in the cloud'], rules: ['S-120', 'S-143', 'safety 4'] } as const;
const refusals = {
  409: problemResponse('The configuration names no way to the site in the cloud, or the cloud refuses'),
  503: problemResponse('The cloud cannot be asked at the moment'),
} as const;

const listCloudDevices = lanOperation({
  ...shared,
  id: 'listCloudDevices',
  method: 'GET',
  path: '/api/v1/cloud/devices',
  summary: 'What is known of the devices and recorders of the site in the cloud',
  responses: { 200: { description: 'As far as is known here', ...jsonOf(cloudDeviceList) } },
  repeatable: 'yes',
});

const getDevicePlan = lanOperation({
  ...shared,
  id: 'getDevicePlan',
  method: 'GET',
  path: '/api/v1/cloud/devices/plan',
  summary: 'What telling the cloud of the devices of the site would do; the cloud is read, and nothing is written',
  responses: { 200: { description: 'The plan', ...jsonOf(devicePlan) }, ...refusals },
  repeatable: 'yes',
});

const syncDevices = lanOperation({
  ...shared,
  id: 'syncDevices',
  method: 'POST',
  path: '/api/v1/cloud/devices/sync',
  summary: 'Tell the cloud of the devices of the site now; never deletes one',
  body: jsonOf(syncDevicesBody),
  responses: {
    200: { description: 'What was done, and what is held', ...jsonOf(devicesSynced) },
    400: problemResponse('The body is wrong'),
    ...refusals,
  },
  repeatable: 'yes',
});

export const cloudDevicesOperations = { listCloudDevices, getDevicePlan, syncDevices } as const;

export function cloudDevicesHandlers(port: CloudDevicesPort): Handlers<typeof cloudDevicesOperations, By> {
  return {
    listCloudDevices: () => json(port.list()),
    getDevicePlan: async ({ signal }) =>
      json(await withDeadline(planMs, signal, (within) => port.plan(within), 'reading the devices of the cloud')),
    syncDevices: async ({ body, identity, signal }) =>
      json(
        await withDeadline(
          syncDevicesMs,
          signal,
          (within) => port.sync(body, askerOf(identity), within),
          'telling the cloud of the devices',
        ),
      ),
  };
}

import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { bulkList, bulkResult, deviceIds } from './bulk.ts';
import { answerTime, id, idNumber, name, oneOf, pathId, record, requiredText, text } from './fields.ts';
import { bulkJson, checkedRefusals, json, partner, refusals, siteParams, sitePath } from './partner.ts';

const deviceTypes = ['camera', 'bridge'] as const;

/** S-120. `registered_by_partner` is one of three codes the specification keeps to itself: any text (S-131). */
export const device = z.object({
  device_id: id(),
  external_device_id: z.string(),
  device_type: z.enum(deviceTypes),
  name: z.string(),
  zone_number: z.string(),
  additional_zone_numbers: z.string(),
  mac: z.string(),
  manufacturer: z.string(),
  model: z.string(),
  serial_number: z.string(),
  registered_by_partner: z.string(),
  created_at: answerTime(),
  updated_at: answerTime(),
});
export type Device = z.output<typeof device>;

const details = {
  name: name().optional(),
  additional_zone_numbers: text().optional().describe('Further zones, separated by commas.'),
  mac: text().optional(),
  manufacturer: text().optional(),
  model: text().optional(),
  serial_number: text().optional(),
} as const;

/** One item of a bulk creation (S-121). A zone is text: the number 1 is refused (S-130). */
export const deviceCreate = record({
  external_device_id: requiredText(),
  device_type: oneOf(deviceTypes),
  zone_number: requiredText().describe('Unique within the site; that is advice, not a rule.'),
  ...details,
});
export type DeviceCreate = z.output<typeof deviceCreate>;

/** One item of a bulk update: type and external id stay as they are (S-133, S-134). */
export const deviceUpdate = record({
  device_id: idNumber(),
  zone_number: requiredText().optional(),
  ...details,
});
export type DeviceUpdate = z.output<typeof deviceUpdate>;

/** How a bulk call by ids echoes each of them (S-135). */
export const deviceRef = record({ device_id: idNumber() });

/** What an update and a deletion answer of the device: a reduced set, to be merged, never to replace (S-138). */
const deviceUpdated = device.pick({
  device_id: true,
  device_type: true,
  zone_number: true,
  name: true,
  updated_at: true,
});
const deviceDeleted = device.pick({ device_id: true, device_type: true, zone_number: true });

const shared = { ...partner, tags: ['devices'] } as const;
const path = `${sitePath}/devices` as const;
const bulkRules = ['S-122', 'S-123', 'S-126', 'S-127', 'S-128'] as const;

const createDevices = defineOperation({
  ...shared,
  id: 'createDevices',
  method: 'POST',
  path,
  summary: 'Create devices; each item succeeds or fails on its own',
  params: siteParams,
  body: bulkJson(bulkList(), deviceCreate),
  responses: {
    201: { description: 'What became of each item, also when all failed', schema: bulkResult(deviceCreate, device) },
    ...checkedRefusals,
  },
  repeatable: 'no',
  availability: 'only A',
  rules: ['S-120', 'S-121', ...bulkRules, 'S-124', 'S-125', 'S-129', 'S-130', 'S-131'],
});

const listDevices = defineOperation({
  ...shared,
  id: 'listDevices',
  method: 'GET',
  path,
  summary: 'List the devices of a site',
  params: siteParams,
  responses: { 200: { description: 'All of them', schema: z.array(device) }, ...refusals },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-019', 'S-093', 'S-120', 'S-132'],
});

const getDevice = defineOperation({
  ...shared,
  id: 'getDevice',
  method: 'GET',
  path: `${path}/{deviceId}`,
  summary: 'Read a device',
  params: siteParams.extend({ deviceId: pathId() }),
  responses: { 200: { description: 'The device', schema: device }, ...refusals },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-016', 'S-120', 'S-132'],
});

const updateDevices = defineOperation({
  ...shared,
  id: 'updateDevices',
  method: 'PUT',
  path,
  summary: 'Change devices; each item succeeds or fails on its own',
  params: siteParams,
  body: bulkJson(bulkList(), deviceUpdate),
  responses: {
    200: { description: 'What became of each item', schema: bulkResult(deviceUpdate, deviceUpdated) },
    ...checkedRefusals,
  },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: [...bulkRules, 'S-124', 'S-125', 'S-130', 'S-133', 'S-134', 'S-138'],
});

/** A repeat finds the devices gone and reports each as failed, so a lost reply asks for a look first. */
const deleteDevices = defineOperation({
  ...shared,
  id: 'deleteDevices',
  method: 'POST',
  path: `${path}/bulk-delete`,
  summary: 'Delete devices for good; each succeeds or fails on its own',
  params: siteParams,
  body: json(deviceIds),
  responses: {
    200: { description: 'What became of each device', schema: bulkResult(deviceRef, deviceDeleted) },
    ...checkedRefusals,
  },
  repeatable: 'no',
  availability: 'ready for B',
  rules: [...bulkRules, 'S-135', 'S-136', 'S-137', 'S-138'],
});

export const deviceOperations = { createDevices, listDevices, getDevice, updateDevices, deleteDevices } as const;

import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { bulkResult, deviceIds } from './bulk.ts';
import { device, deviceRef } from './devices.ts';
import { answerTime, id, name, pathId, record, requiredName, requiredText, text } from './fields.ts';
import { checkedRefusals, json, partner, siteParams, sitePath } from './partner.ts';

/** The specification shows no body of a recorder; never credentials (S-143). */
export const nvr = z.object({
  nvr_id: id(),
  external_nvr_id: z.string(),
  name: z.string(),
  manufacturer: z.string(),
  model: z.string(),
  serial_number: z.string(),
  mac: z.string(),
  ip_address: z.string(),
  created_at: answerTime(),
  updated_at: answerTime(),
});
export type Nvr = z.output<typeof nvr>;

export const nvrCreate = record({
  external_nvr_id: requiredText(),
  name: requiredName(),
  manufacturer: name().optional(),
  model: name().optional(),
  serial_number: text().optional(),
  mac: text().optional(),
  ip_address: text().optional(),
});
export type NvrCreate = z.output<typeof nvrCreate>;

export const nvrUpdate = nvrCreate.partial();

const shared = { ...partner, availability: 'ready for B', rules: ['S-143'], tags: ['nvrs'] } as const;
const path = `${sitePath}/nvrs` as const;
const params = siteParams.extend({ nvrId: pathId() });

const createNvr = defineOperation({
  ...shared,
  id: 'createNvr',
  method: 'POST',
  path,
  summary: 'Register a network video recorder of a site',
  params: siteParams,
  body: json(nvrCreate),
  responses: { 201: { description: 'The new recorder', schema: nvr }, ...checkedRefusals },
  repeatable: 'no',
});

const updateNvr = defineOperation({
  ...shared,
  id: 'updateNvr',
  method: 'PATCH',
  path: `${path}/{nvrId}`,
  summary: 'Change a network video recorder',
  params,
  body: json(nvrUpdate),
  responses: { 200: { description: 'The updated recorder', schema: nvr }, ...checkedRefusals },
  repeatable: 'yes',
});

const addNvrDevices = defineOperation({
  ...shared,
  id: 'addNvrDevices',
  method: 'POST',
  path: `${path}/{nvrId}/devices`,
  summary: 'Associate devices of the site with a recorder; each succeeds or fails on its own',
  params,
  body: json(deviceIds),
  responses: {
    200: { description: 'What became of each device', schema: bulkResult(deviceRef, device) },
    ...checkedRefusals,
  },
  repeatable: 'no',
});

export const nvrOperations = { createNvr, updateNvr, addNvrDevices } as const;

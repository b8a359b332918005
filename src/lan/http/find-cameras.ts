import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** Cameras that are not in the configuration yet: who is there, and what one of them is. */

const discoverBody = z.strictObject({
  seconds: z.int().min(2).max(15).default(6).describe('How long answers are waited for.'),
  addresses: z
    .array(z.string().min(1).max(64))
    .max(16)
    .default([])
    .describe('Addresses or small networks (192.0.2.0/24) to ask directly, where multicast does not get through.'),
});

const foundCamera = z.object({
  /** Address of its device service; null where it has only a link-local one. */
  url: z.string().nullable(),
  addresses: z.array(z.string()),
  vendor: z.string().nullable(),
  model: z.string().nullable(),
  name: z.string().nullable(),
  /** Null: not told. */
  recorder: z.boolean().nullable(),
  password_needed: z.boolean().nullable(),
  /** It was seen, but ONVIF did not answer there. */
  answers: z.boolean(),
  /** Under which id it stands in the configuration. */
  configured: z.string().nullable(),
  /** A configured device that has another address than in the configuration. */
  moved_from: z.string().nullable(),
});
export const foundCameras = z.object({ items: z.array(foundCamera) });
export type FoundCamera = z.output<typeof foundCamera>;

const inspectBody = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).max(512),
  username: z.string().min(1).max(64).optional(),
  password: z.string().min(1).max(256).optional().describe('Used for this alone, and kept nowhere.'),
});
export type InspectBody = z.output<typeof inspectBody>;

export const inspectedCamera = z.object({
  manufacturer: z.string(),
  model: z.string(),
  firmware: z.string(),
  serial: z.string(),
  /** How far its clock is ahead of this box; null where it tells none. */
  clock_offset_s: z.number().nullable(),
  /** SHA-256 fingerprint of a certificate that nobody vouches for: `tls_fingerprint` of the configuration. */
  tls_fingerprint: z.string().nullable(),
  /** Whether it wanted user and password. */
  authenticated: z.boolean(),
  /** Whether it names a service for events. */
  events: z.boolean(),
  profiles: z.int(),
  /** What it sees by; more than one: a recorder, or a camera with several pictures. */
  sources: z.array(z.object({ token: z.string(), resolution: z.string().optional() })),
  /** A configured device with the same serial number: this is that one. */
  same_as: z.string().nullable(),
});
export type InspectedCamera = z.output<typeof inspectedCamera>;

export interface FindCamerasPort {
  /** Rejects with `queue_full` while another search is under way. */
  discover(how: z.output<typeof discoverBody>, signal: AbortSignal): Promise<readonly FoundCamera[]>;
  /** Rejects with `queue_full` likewise, and with `camera_auth`, `camera_unreachable` and what else a camera makes it fail with. */
  inspect(camera: InspectBody, by: Asker, signal: AbortSignal): Promise<InspectedCamera>;
}

const shared = { method: 'POST', tags: ['setup'], rules: [] } as const;

const discoverCameras = lanOperation({
  ...shared,
  id: 'discoverCameras',
  path: '/api/v1/cameras/discover',
  summary: 'Look for ONVIF cameras and recorders in the networks of this box',
  body: jsonOf(discoverBody),
  responses: {
    200: { description: 'What was found', ...jsonOf(foundCameras) },
    400: problemResponse('An address is wrong'),
    503: problemResponse('Another search is under way'),
  },
  repeatable: 'yes',
});

const inspectCamera = lanOperation({
  ...shared,
  id: 'inspectCamera',
  path: '/api/v1/cameras/inspect',
  summary: 'Ask one device what it is, before it is added; a wrong password is tried twice at most',
  body: jsonOf(inspectBody),
  responses: {
    200: { description: 'What it says', ...jsonOf(inspectedCamera) },
    400: problemResponse('The address is wrong'),
    503: problemResponse('It does not answer, refuses the password, or another is being asked'),
  },
  repeatable: 'no',
});

export const findCamerasOperations = { discoverCameras, inspectCamera } as const;

export function findCamerasHandlers(port: FindCamerasPort): Handlers<typeof findCamerasOperations, By> {
  return {
    discoverCameras: async ({ body, signal }) => json({ items: await port.discover(body, signal) }),
    inspectCamera: async ({ body, identity, signal }) => json(await port.inspect(body, askerOf(identity), signal)),
  };
}

import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { deviceId } from '#site/model/index.ts';
import { json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

/** Every device of the site in one list; what is known of one kind alone is in the list of that kind. */

export const deviceEntry = z.object({
  kind: z.enum(['camera', 'channel', 'nvr', 'panel', 'speaker']),
  id: deviceId,
  name: z.string(),
  /** The recorder of a channel. */
  nvr: deviceId.optional(),
  /** Null while nothing was heard yet. */
  up: z.boolean().nullable(),
  /** Why it is not up, or what it says of itself. */
  reason: z.string().optional(),
  /** The last message of a camera; of a device by which a silent call may come it is not told, nor of a panel. */
  last_event: z.iso.datetime({ precision: null }).optional(),
  /** Of a camera: when pictures may be taken (safety 11), and the partitions that this is about. */
  pictures: z.enum(['alarm', 'armed', 'always']).optional(),
  partitions: z.array(z.string()).optional(),
  /** `picture`: take one; `tone`: play one; a panel is tested by walking. */
  tests: z.array(z.enum(['picture', 'tone', 'walk'])),
});
export type DeviceEntry = z.output<typeof deviceEntry>;

export const deviceList = z.object({ items: z.array(deviceEntry) });

const listDevices = lanOperation({
  id: 'listDevices',
  method: 'GET',
  path: '/api/v1/devices',
  summary: 'Cameras, recorders, panels and speakers: whether each answers, and how it can be tested',
  responses: {
    200: { description: 'All devices', media: 'application/json', schema: deviceList },
    503: problemResponse('siteward cannot answer at the moment'),
  },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

export const deviceOperations = { listDevices } as const;

export const deviceHandlers = (devices: () => readonly DeviceEntry[]): Handlers<typeof deviceOperations, By> => ({
  listDevices: () => json({ items: devices() }),
});

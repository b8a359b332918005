import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { deviceId, type SiteView, type SpeakerShown } from '#site/model/index.ts';
import { json } from './answering.ts';
import type { CameraEntry } from './cameras-schemas.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';
import { linkOf, panelIds, panelLink } from './status.ts';

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

export interface DevicesInput {
  readonly view: SiteView;
  readonly cameras: readonly CameraEntry[];
  readonly speakers: readonly SpeakerShown[];
  /** Why panels are not read at all, by their id. */
  readonly brokenPanels: ReadonlyMap<string, string>;
}

/** Pure. */
export function devicesShown({ view, cameras, speakers, brokenPanels }: DevicesInput): DeviceEntry[] {
  return [
    ...cameras.map(({ kind, id, name, nvr, reason, last_event, pictures, partitions }): DeviceEntry => {
      const link = linkOf(view, kind === 'nvr' ? 'nvr' : 'camera', id);
      return {
        ...{ kind, id, name, up: link.up },
        ...(nvr !== undefined && { nvr }),
        ...given('reason', link.up === true ? undefined : (reason ?? link.reason)),
        ...given('last_event', last_event),
        ...(pictures !== undefined && { pictures, partitions }),
        tests: kind === 'nvr' ? [] : ['picture'],
      };
    }),
    ...panelIds(view).map((id): DeviceEntry => {
      const { up, reason } = panelLink(view, id, brokenPanels.get(id));
      return { kind: 'panel', id, name: id, up, ...given('reason', reason), tests: isWalked(view, id) ? ['walk'] : [] };
    }),
    ...speakers.map(
      ({ device_id: id, name, enabled, up, detail }): DeviceEntry => ({
        ...{ kind: 'speaker', id, name, up },
        ...given('reason', enabled ? detail : 'not enabled'),
        tests: enabled ? ['tone'] : [],
      }),
    ),
  ];
}

/** siteward runs a walk test where it decides itself: another system has its own. */
const isWalked = ({ plan }: SiteView, panel: string): boolean =>
  plan.securityType !== 4 &&
  plan.zones.some(
    ({ source, partitions }) =>
      source.kind === 'panel' &&
      source.id === panel &&
      plan.partitions.some(({ id, authority }) => authority === 'engine' && partitions.includes(id)),
  );

const given = <K extends string>(key: K, value: string | undefined): { [P in K]?: string } =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: string };

import { given } from '#lib/given.ts';
import type { SiteView, SpeakerShown } from '#site/model/index.ts';
import type { CameraEntry } from './cameras-schemas.ts';
import type { DeviceEntry } from './devices.ts';
import { linkOf, panelIds, panelLink } from './status.ts';

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
        ...given({ reason: link.up === true ? undefined : (reason ?? link.reason) }),
        ...given({ last_event }),
        ...(pictures !== undefined && { pictures, partitions }),
        tests: kind === 'nvr' ? [] : ['picture'],
      };
    }),
    ...panelIds(view).map((id): DeviceEntry => {
      const { up, reason } = panelLink(view, id, brokenPanels.get(id));
      return { kind: 'panel', id, name: id, up, ...given({ reason }), tests: isWalked(view, id) ? ['walk'] : [] };
    }),
    ...speakers.map(
      ({ device_id: id, name, enabled, up, detail }): DeviceEntry => ({
        ...{ kind: 'speaker', id, name, up },
        ...given({ reason: enabled ? detail : 'not enabled' }),
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

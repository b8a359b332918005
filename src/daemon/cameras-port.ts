import type { Settings } from '#config/index.ts';
import type { CameraStatus, Cameras } from '#devices/onvif/index.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import type { CameraEntry, CamerasPort } from '#lan/http/index.ts';
import { auditNotes } from '#site/audit-notes.ts';
import {
  type CameraPlan,
  type DeviceRef,
  isoTime,
  partitionShown,
  type SiteView,
  silentZones,
} from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import type { House } from './house.ts';
import { viewOf } from './site-port.ts';

/** The cameras as the control socket shows them. */
export function camerasPort({
  house,
  settings,
  note,
}: {
  house: House;
  settings: () => Settings;
  note: Note;
}): CamerasPort {
  const camera = (id: string): CameraPlan => {
    const found = viewOf(house).plan.cameras.find((one) => one.id === id);
    if (found === undefined) throw unknown(id);
    return found;
  };

  /** A camera, channel or recorder. */
  const device = (id: string): void => {
    if (viewOf(house).plan.nvrs?.includes(id) !== true) camera(id);
  };

  return {
    list() {
      const view = viewOf(house);
      const statuses = new Map(house.cameras?.status().map((status) => [status.id, status]));
      const entry = (device: Device) => ({
        ...entryOf(device, statuses.get(device.id), view),
        ...timeOf('last_picture', house.lastPictures?.get(device.id)),
      });
      const { cameras, nvrs } = settings();
      return [
        ...cameras.map(({ id, url, name = id }) => entry({ id, url, name, kind: 'camera' })),
        ...nvrs.flatMap(({ id, url, name = id, channels }) => [
          entry({ id, url, name, kind: 'nvr' }),
          ...channels.map((one) => entry({ id: one.id, url, name: one.name ?? one.id, kind: 'channel', nvr: id })),
        ]),
      ];
    },

    events(id, after) {
      device(id);
      if (isSilent(viewOf(house), id))
        throw refused(`the messages of ${id} are not shown: a zone for silent calls hangs on it`);
      const found = running(house).recent(id, after);
      if (found === undefined) throw unknown(id);
      return {
        last: found.last,
        items: found.items.map(({ deviceTime, at, signals, ...message }) => ({
          ...message,
          at: isoTime(at),
          ...(deviceTime !== undefined && { device_time: deviceTime }),
          signals: signals.map(({ source, ...signal }) => ({ device: `${source.kind} ${source.id}`, ...signal })),
        })),
      };
    },

    async snapshot(id, signal) {
      const plan = camera(id);
      const forbidden = noPicture(viewOf(house), plan);
      const said = (reason?: ErrorCode) => void note(auditNotes.picture(id, reason));
      if (forbidden !== undefined) {
        said('camera_refused');
        throw refused(forbidden);
      }
      said();
      const { bytes, takenAt } = await running(house).snapshot(id, signal);
      house.lastPictures?.set(id, takenAt);
      return bytes;
    },

    async trust(id) {
      device(id);
      return { trusted: id, fingerprint: await running(house).trust(id) };
    },
  };
}

const unknown = (id: string) =>
  new SitewardError('camera_unknown', `the configuration has no camera ${id}; "siteward camera list" lists them`);

const refused = (message: string) => new SitewardError('camera_refused', message);

function running(house: House): Cameras {
  if (house.cameras === undefined)
    throw new SitewardError('stopped', 'the cameras are not running; try again in a moment');
  return house.cameras;
}

/** Whether a silent hold-up may come from this device: then nothing is shown that moves with its messages (safety 4). */
function isSilent(view: SiteView, id: string): boolean {
  const silent = silentZones(view);
  const channels = view.plan.cameras.filter(({ nvr }) => nvr === id).map((one) => one.id);
  const mine = [id, ...channels];
  return view.plan.zones.some(
    ({ number, source }) => silent.has(number) && source.kind !== 'panel' && mine.includes(source.id),
  );
}

/**
 * Why no picture of a camera may be taken now, by its setting (safety 11); undefined where one may. Who is on this machine
 * has no more right to see people than the setting gives. A silent alarm gives none: it would show (safety 4).
 */
export function noPicture(view: SiteView, { id, pictures, partitions }: CameraPlan): string | undefined {
  if (pictures === 'always') return undefined;
  const isAlarm = partitions.some((partition) => partitionShown(view, partition).alarm !== null);
  const isArmed = view.partitions.some(
    ({ id: partition, state, stale }) => partitions.includes(partition) && state.startsWith('armed_') && !stale,
  );
  if (isAlarm || (pictures === 'armed' && isArmed)) return undefined;
  const when = pictures === 'armed' ? 'while armed or with an alarm' : 'with an alarm';
  return `"pictures: ${pictures}" of ${id} allows pictures only ${when}. To aim it, use its own page; with "pictures: always" siteward may take some at any time`;
}

const timeOf = <K extends string>(key: K, wall: number | undefined): { [P in K]?: string } =>
  (wall === undefined ? {} : { [key]: isoTime(wall) }) as { [P in K]?: string };

interface Device {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly kind: CameraEntry['kind'];
  readonly nvr?: string;
}

function entryOf(device: Device, status: CameraStatus | undefined, view: SiteView): CameraEntry {
  const { id } = device;
  const plan = view.plan.cameras.find((one) => one.id === id);
  const isMine = ({ source }: { source: DeviceRef }) => source.kind !== 'panel' && source.id === id;
  const troubles = view.troubles.filter(isMine).map(({ kind, since }) => ({ kind, since: isoTime(since) }));
  const zone = plan?.zone !== undefined && !silentZones(view).has(plan.zone) ? plan.zone : undefined;
  return {
    ...device,
    ...(plan !== undefined && { pictures: plan.pictures }),
    ...(zone !== undefined && { zone }),
    partitions: [...(plan?.partitions ?? [])],
    ...statusOf(status, view.links.find(isMine)?.up, isSilent(view, id)),
    troubles: [...troubles, ...(status?.warnings ?? []).map(({ code, text }) => ({ kind: code, text }))],
  };
}

type Known = Omit<CameraEntry, 'id' | 'kind' | 'name' | 'url' | 'partitions' | 'troubles'>;

function statusOf(status: CameraStatus | undefined, up: boolean | null | undefined, silent: boolean): Known {
  if (status === undefined) return { reachable: null, authenticated: null, events: up ?? null, unknown_topics: 0 };
  const { state, since, reason, lastEventAt, clockOffsetS, rebootSeenAt, unknownTopics } = status;
  const { manufacturer, model, firmware, serial, profiles, stream } = status;
  return {
    ...{ state, since: isoTime(since), ...(reason !== undefined && { reason }) },
    reachable: state === 'connecting' ? null : status.reachable,
    authenticated: status.authenticated ?? null,
    events: up ?? null,
    ...(lastEventAt !== undefined && !silent && { last_event: isoTime(lastEventAt) }),
    ...(rebootSeenAt !== undefined && { reboot_seen: isoTime(rebootSeenAt) }),
    ...(clockOffsetS !== undefined && { clock_offset_s: clockOffsetS }),
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model !== undefined && { model }),
    ...(firmware !== undefined && { firmware }),
    ...(serial !== undefined && { serial }),
    ...(profiles !== undefined && { profiles }),
    ...(stream !== undefined && { stream }),
    unknown_topics: unknownTopics.length,
  };
}

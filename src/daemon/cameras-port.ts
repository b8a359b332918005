import type { Settings } from '#config/index.ts';
import type { CameraStatus } from '#devices/onvif/index.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import type { CameraEntry, CamerasPort } from '#lan/http/index.ts';
import { given } from '#lib/given.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { noPicture } from '#site/core/index.ts';
import { type Asker, type CameraPlan, hasSilentZone, isoTime, type SiteView, silentZones } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import { type House, running, viewOf } from './house.ts';

/** The cameras as the control socket shows them. */
export function camerasPort({
  house,
  settings,
  wall,
  note,
}: {
  house: House;
  settings: () => Settings;
  wall: () => number;
  note: Note;
}): CamerasPort {
  const camera = (id: string) => cameraOf(house, id);

  /** Which device a camera, channel or recorder is at: it has the session, the messages, the certificate. */
  const deviceOf = (id: string): string => {
    if (viewOf(house).plan.nvrs?.includes(id) === true) return id;
    return camera(id).nvr ?? id;
  };

  return {
    list() {
      const view = viewOf(house);
      const statuses = new Map(house.cameras?.status().map((status) => [status.id, status]));
      const entry = (device: Device) => {
        const recorder = statuses.get(device.nvr ?? '');
        return {
          ...entryOf(device, view),
          ...(device.nvr === undefined
            ? statusOf(statuses.get(device.id), device.id, view)
            : channelOf(recorder, device, view)),
          ...timeOf('last_picture', house.lastPictures?.get(device.id)),
        };
      };
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
      const device = deviceOf(id);
      if (hasSilentZone(viewOf(house), id))
        throw refused(`the messages of ${id} are not shown: a zone for silent calls hangs on it`);
      const found = running(house, 'cameras').recent(device, after);
      if (found === undefined) throw unknown(id);
      return {
        last: found.last,
        // Of a channel only what was taken for its own.
        items: found.items
          .filter(({ signals }) => device === id || signals.some(({ source }) => source.id === id))
          .map(({ deviceTime, at, signals, ...message }) => ({
            ...message,
            at: isoTime(at),
            ...(deviceTime !== undefined && { device_time: deviceTime }),
            signals: signals.map(({ source, ...signal }) => ({ device: `${source.kind} ${source.id}`, ...signal })),
          })),
      };
    },

    snapshot: (id, by, signal) => takePicture({ house, wall, note }, id, { signal, by }),

    async certificate(id) {
      const { configured, stream, ...known } = await running(house, 'cameras').certificate(deviceOf(id));
      const beside = stream === undefined ? undefined : { shown: stream.shown, ...given({ trusted: stream.trusted }) };
      return { configured, ...given({ ...known, stream: beside }) };
    },

    async trust(id, named, by) {
      const device = deviceOf(id);
      if (named.device !== undefined) {
        await running(house, 'cameras').trustDevice(device, named.device);
        void note(auditNotes.deviceTrusted(by, device, named.device));
        return { trusted: device, device: named.device };
      }
      const fingerprint = (named.fingerprint ?? '').toUpperCase();
      await running(house, 'cameras').trust(device, fingerprint);
      void note(auditNotes.certificate(by, device, fingerprint));
      return { trusted: device, fingerprint };
    },
  };
}

function cameraOf(house: House, id: string): CameraPlan {
  const found = viewOf(house).plan.cameras.find((one) => one.id === id);
  if (found === undefined) throw unknown(id);
  return found;
}

/** A picture asked for by hand. It is noted, also where none came or may be taken. */
export async function takePicture(
  { house, wall, note }: { readonly house: House; readonly wall: () => number; readonly note: Note },
  id: string,
  { signal, by }: { readonly signal: AbortSignal; readonly by: Asker },
): Promise<Uint8Array> {
  const plan = cameraOf(house, id);
  const forbidden = noPicture(viewOf(house), plan);
  const said = (reason?: ErrorCode) => void note(auditNotes.picture(by, id, reason));
  if (forbidden !== undefined) {
    said('camera_refused');
    throw refused(forbidden);
  }
  const { bytes } = await running(house, 'streams')
    .snapshot(id, signal)
    .catch((error: unknown) => {
      said(error instanceof SitewardError ? error.code : 'internal');
      throw error;
    });
  said();
  house.lastPictures?.set(id, wall());
  return bytes;
}

/** The core keeps the reason a link went down for; what the session says by now is what to look at. */
export function withReasons(
  view: SiteView,
  statuses: readonly Pick<CameraStatus, 'kind' | 'id' | 'reason'>[],
): SiteView {
  const links = view.links.map((link) => {
    const { kind, id } = link.source;
    const reason = statuses.find((status) => status.kind === kind && status.id === id)?.reason;
    return link.up === false && reason !== undefined ? { ...link, reason } : link;
  });
  return { ...view, links };
}

const unknown = (id: string) =>
  new SitewardError('camera_unknown', `the configuration has no camera ${id}; "siteward camera list" lists them`);

const refused = (message: string) => new SitewardError('camera_refused', message);

const timeOf = <K extends string>(key: K, wall: number | undefined): { [P in K]?: string } =>
  (wall === undefined ? {} : { [key]: isoTime(wall) }) as { [P in K]?: string };

interface Device {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly kind: CameraEntry['kind'];
  readonly nvr?: string;
}

/** What the configuration says of it, and what the site knows to be wrong with it. */
function entryOf({ id, ...device }: Device, view: SiteView) {
  const plan = view.plan.cameras.find((one) => one.id === id);
  const troubles = view.troubles.filter(({ source }) => source.kind !== 'panel' && source.id === id);
  const zone = plan?.zone !== undefined && !silentZones(view).has(plan.zone) ? plan.zone : undefined;
  return {
    ...{ id, ...device },
    ...(plan !== undefined && { pictures: plan.pictures }),
    ...(zone !== undefined && { zone }),
    partitions: [...(plan?.partitions ?? [])],
    ...{ reachable: null, authenticated: null, events: null, unknown_topics: 0 },
    troubles: troubles.map(({ kind, since }) => ({ kind, since: isoTime(since) })),
  };
}

/** What the session of a camera or recorder says; it replaces what is said of its troubles only where it has more. */
function statusOf(status: CameraStatus | undefined, id: string, view: SiteView): Partial<CameraEntry> {
  if (status === undefined) return {};
  const { state, reason, manufacturer, model, firmware, serial, profiles, stream, warnings, hints = [] } = status;
  const up = view.links.find(({ source }) => source.kind !== 'panel' && source.id === id)?.up;
  const isHidden = hasSilentZone(view, id);
  return {
    ...{ state, since: isoTime(status.since), reachable: state === 'connecting' ? null : status.reachable },
    ...{ authenticated: status.authenticated ?? null, events: up ?? null },
    unknown_topics: isHidden ? 0 : status.unknownTopics.length,
    ...timeOf('last_event', isHidden ? undefined : status.lastEventAt),
    ...timeOf('reboot_seen', status.rebootSeenAt),
    ...(status.clockOffsetS !== undefined && { clock_offset_s: status.clockOffsetS }),
    ...given({
      login_held_s: status.loginHeldS,
      identity: status.identity,
      certificate_refused: status.certificateRefused,
      reason,
      manufacturer,
      model,
      firmware,
      serial,
      profiles,
      stream,
    }),
    hints: [...warnings.map(({ text }) => text), ...hints],
  };
}

/** A channel is as well as its recorder; the rest is its own. */
function channelOf(recorder: CameraStatus | undefined, { nvr, id }: Device, view: SiteView): Partial<CameraEntry> {
  const channel = recorder?.channels?.find((one) => one.id === id);
  if (recorder === undefined || channel === undefined) return {};
  const { state, source, mapping, reason, profiles, stream, lastEventAt } = channel;
  const up = view.links.find((link) => link.source.kind === 'nvr' && link.source.id === nvr)?.up;
  return {
    ...{ state, events: up ?? null, reachable: recorder.state === 'connecting' ? null : recorder.reachable },
    authenticated: recorder.authenticated ?? null,
    ...given({ certificate_refused: recorder.certificateRefused }),
    ...timeOf('last_event', hasSilentZone(view, id) ? undefined : lastEventAt),
    ...given({ source, mapping, reason, profiles, stream }),
  };
}

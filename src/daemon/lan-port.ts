import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { dc09Profile } from '#devices/panels/index.ts';
import {
  createIdempotency,
  devicesShown,
  type EventEntry,
  type LanPort,
  partitionEntries,
  partitionsShown,
  type StatusDocument,
  settledText,
  statusOf,
  zonesShown,
} from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Redactor } from '#lib/secret.ts';
import { version } from '#lib/version.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { hasSilentZone, isoTime } from '#site/model/index.ts';
import type { EventRecord, OutboxStats } from '#site/store/index.ts';
import { activityPort } from './activity-port.ts';
import { alarmSound } from './alarm-sound.ts';
import { armingSyncStatus } from './arming-sync.ts';
import { audioPort } from './audio-port.ts';
import { auditPort } from './audit-port.ts';
import { checkWith, noteIn } from './audit-wiring.ts';
import { createAuditors } from './auditors.ts';
import { backupPort } from './backup-port.ts';
import { bundlePort } from './bundle-port.ts';
import { callForHelp } from './call-for-help.ts';
import { camerasPort, withReasons } from './cameras-port.ts';
import { cloudDevicesPort, cloudDevicesStatus } from './cloud-devices-port.ts';
import { cloudPathsPort } from './cloud-paths-port.ts';
import { commandsPort } from './commands-port.ts';
import { type ConfigInForce, configPort } from './config-port.ts';
import { configSaver } from './config-saver.ts';
import { dangerPort, type ProcessEnd } from './danger-port.ts';
import { deviceHints } from './device-advice.ts';
import { dispatcher } from './dispatch.ts';
import { findCamerasPort } from './find-cameras-port.ts';
import { forgetCloud } from './forget-cloud.ts';
import { cameraHints, doubtHints, panelHints, standingHints, storageHints, verificationHints } from './hints.ts';
import { type House, running, viewOf } from './house.ts';
import { shownAuthority } from './http.ts';
import { inputsPort } from './inputs-port.ts';
import { logPort } from './log-port.ts';
import { mediaPort } from './media-port.ts';
import type { OutboxCount } from './outbox-count.ts';
import { outboxPort } from './outbox-port.ts';
import { schedulesPort } from './schedules-port.ts';
import { securityTypePort } from './security-type-port.ts';
import { sharedStatus } from './shared-status.ts';
import { siteHints } from './site-hints.ts';
import type { SiteLog } from './site-log.ts';
import { mirrorPort } from './site-mirror.ts';
import type { PartReport } from './slots.ts';
import { calmRefusals } from './told-rarely.ts';
import { usersPort } from './users-port.ts';
import { verificationsPort } from './verification.ts';

/** Parts without which an alarm would not be decided, kept or taken note of. */
const vital = ['store', 'controller'];

const outboxStatus = (stats: OutboxStats): StatusDocument['outbox'] => ({
  waiting: { ...stats.pending },
  oldest: stats.oldest === undefined ? null : isoTime(stats.oldest),
  parked: stats.parked,
  media_waiting: stats.mediaPending,
});

/** The daemon as the LAN API sees it. */
export function lanPort(options: {
  house: House;
  count: OutboxCount;
  slots: { health(): readonly PartReport[]; metrics(): Promise<string> };
  clock: Clock;
  log: Logger;
  uptimeMs: () => number;
  config: () => ConfigInForce;
  /** Reads the configuration again; `error` is why it was not taken. */
  reload: () => Promise<{ readonly error?: string | undefined }>;
  redactor: Pick<Redactor, 'redact'>;
  /** The settings in force. */
  settings: () => Settings;
  quality: ClockQualityWatch;
  logs: SiteLog;
  /** Of the process: what is kept here outlives every part. */
  metrics: Registry;
  process: ProcessEnd;
}): LanPort {
  const { house, slots, settings } = options;
  const hasCloud = () => settings().cloud !== undefined;
  const note = calmRefusals(noteIn(house), options.clock);
  const audio = audioPort({ house, settings, note, clock: options.clock });
  const auditors = createAuditors({
    ...{ check: checkWith(house), note, clock: options.clock },
    onDuress: (actor) => callForHelp(house, actor, 'audit'),
  });
  const cameras = camerasPort({ house, settings, wall: options.clock.wall, note });
  const { isResetting, ...danger } = dangerPort({ ...options, note });
  const saver = configSaver({
    ...{ inForce: options.config, settings, reload: options.reload, redactor: options.redactor, note },
    ...{ partitions: () => partitionEntries(viewOf(house)), isResetting },
    ...{ log: options.log, metrics: options.metrics },
  });
  const reasons = () =>
    slots
      .health()
      .flatMap((part) =>
        vital.includes(part.name) && part.state === 'down' ? [`${part.name}: ${part.reason ?? 'down'}`] : [],
      );

  function cloudStatus(): Pick<StatusDocument, 'cloud'> {
    const devices = cloudDevicesStatus(house, settings());
    return devices === undefined ? {} : { cloud: { devices } };
  }

  async function status(): Promise<StatusDocument> {
    const counted = await options.count();
    const { path, lastGood, error } = options.config();
    const mqtt = house.lan?.health();
    const view = viewOf(house);
    const seen = house.cameras?.status() ?? [];
    return statusOf({
      version,
      uptimeMs: options.uptimeMs(),
      ready: reasons().length === 0,
      parts: slots.health().map(({ name, ...health }) => ({ name, health })),
      view: withReasons(view, seen),
      links: [
        cloudLink(hasCloud() ? (house.cloudUp ?? null) : undefined),
        {
          kind: 'broker',
          id: 'mqtt',
          up: mqtt?.state === 'ok',
          ...(mqtt?.reason !== undefined && { reason: mqtt.reason }),
        },
      ],
      outbox: typeof counted === 'string' ? null : outboxStatus(counted),
      armingSync: armingSyncStatus(view, house.arming?.shown(), settings().site),
      ...cloudStatus(),
      brokenPanels: brokenPanels(house),
      reporting: reportingPanels(settings()),
      hints: [
        ...verificationHints(house.verifications?.list() ?? []),
        ...standingHints(house.arming?.standing.shown(), options.clock.wall()),
        ...deviceHints(house, options.clock.wall()),
        ...siteHints(house, settings(), options.clock.wall()),
        ...storageHints(house.store?.storage(), options.clock.wall()),
        ...doubtHints(view),
        ...panelHints([...(house.panels?.hints() ?? []), ...(house.receiver?.hints() ?? [])], view),
        ...cameraHints(seen, options.clock.wall(), (id) => hasSilentZone(view, id)),
      ],
      timezone: settings().site.timezone,
      config: { path, last_good: lastGood, ...(error !== undefined && { error }) },
    });
  }

  const port: LanPort = {
    status: sharedStatus(status, {
      clock: options.clock,
      news: () => house.live?.news(),
      arming: () => settledText(partitionsShown(viewOf(house))),
    }),

    zones: () => zonesShown(viewOf(house), reportingPanels(settings())),
    partitions: () => partitionEntries(viewOf(house), reportingPanels(settings())),
    devices: () =>
      devicesShown({
        view: viewOf(house),
        cameras: cameras.list(),
        speakers: audio.speakers(),
        brokenPanels: brokenPanels(house),
      }),

    async events(query) {
      const store = running(house, 'store');
      const records = await store.events({
        limit: query.limit,
        ...(query.before !== undefined && { beforeSeq: await store.rowOf(query.before) }),
        ...(query.class !== undefined && { class: query.class }),
      });
      return records.map(entryOf);
    },

    ready() {
      const found = reasons();
      return { ready: found.length === 0, reasons: found };
    },

    metrics: () => slots.metrics(),

    authority: () => shownAuthority(settings()),

    access: () => running(house, 'access'),
    live: () => running(house, 'live'),

    users: usersPort({ house, log: options.log, note }),

    audit: auditPort({ store: () => running(house, 'store'), auditors, note }),

    activity: activityPort({ ...options, auditors }),

    log: logPort({ ...options.logs, note }),
    config: configPort(options.config, options.redactor, saver),
    danger: { ...danger, forgetCloud: forgetCloud(settings, saver, note) },
    findCameras: findCamerasPort({ settings, cameras: cameras.list, note, clock: options.clock }),

    inputs: inputsPort({ store: () => running(house, 'store') }),

    commands: commandsPort({ house }),

    schedules: schedulesPort({
      house,
      clock: options.clock,
      log: options.log,
      timezone: () => settings().site.timezone,
    }),

    verifications: verificationsPort(house, options.log),
    securityType: securityTypePort({ house, clock: options.clock }),
    cameras,
    cloudDevices: cloudDevicesPort({ house, settings, note }),
    cloudChanges: {
      async note({ site_id: site, ...change }, by) {
        await note(auditNotes.cloudChanged(by, { ...change, site }));
        // What was just changed by hand is looked at now, not in its own time.
        if (change.action === 'site_activated' || change.action === 'site_deactivated') house.arming?.retryNow();
      },
    },
    media: mediaPort({ house, clock: options.clock, note }),
    audio,
    mayEndAlarms: alarmSound({ house, clock: options.clock }),
    cloudPaths: cloudPathsPort({ ...options, audio, note, dispatcher: () => dispatcher({ ...options, note }) }),

    mirror: mirrorPort(house, settings),

    idempotency: createIdempotency(options),

    outbox: outboxPort({
      house,
      count: options.count,
      clock: options.clock,
      log: options.log,
      note,
      health: slots.health,
      dir: () => settings().store.dir,
      hasCloud,
    }),

    backup: backupPort({ house, note }),
    bundle: bundlePort({ port: () => port, tail: options.logs.tail, clock: options.clock, note }),
  };
  return port;
}

function cloudLink(up: boolean | null | undefined): StatusDocument['links'][number] {
  const link = { kind: 'cloud', id: 'cloud' } as const;
  if (up === undefined) return { ...link, up: null, reason: 'no cloud is configured; events are kept' };
  return { ...link, up };
}

/** Panels that call in by themselves, whom nobody can ask. */
const reportingPanels = ({ panels }: Settings): ReadonlySet<string> =>
  new Set(panels.filter(({ profile }) => profile === dc09Profile).map(({ id }) => id));

/** Panels that are not read, with the reason; the list of all profiles stands in the hints below. */
const brokenPanels = ({ panels }: House): ReadonlyMap<string, string> =>
  new Map((panels?.hints() ?? []).flatMap(({ kind, panel, text }) => (kind === 'not_running' ? [[panel, text]] : [])));

function entryOf(record: EventRecord): EventEntry {
  return {
    seq: record.event.seq,
    event: record.event,
    delivery: record.delivery,
    ...(record.deliveredAt !== undefined && { delivered_at: isoTime(record.deliveredAt) }),
    ...(record.tries !== undefined && { tries: record.tries }),
    ...(record.reason !== undefined && { reason: record.reason }),
    media: record.media.map(({ index, kind, camera, state, reason }) => ({
      ...{ index, kind, camera, state },
      ...(reason !== undefined && { reason }),
    })),
  };
}

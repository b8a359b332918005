import type { Logger } from 'pino';
import type { Settings } from '#config/index.ts';
import { dc09Profile } from '#devices/panels/index.ts';
import { type EventEntry, type LanPort, type StatusDocument, statusOf, zonesShown } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { version } from '#lib/version.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import { hasSilentZone, isoTime } from '#site/model/index.ts';
import type { EventRecord, OutboxStats } from '#site/store/index.ts';
import { activityPort } from './activity-port.ts';
import { armingSyncStatus } from './arming-sync.ts';
import { audioPort } from './audio-port.ts';
import { auditPort } from './audit-port.ts';
import { checkWith, noteIn } from './audit-wiring.ts';
import { createAuditors } from './auditors.ts';
import { callForHelp } from './call-for-help.ts';
import { camerasPort, withReasons } from './cameras-port.ts';
import { commandsPort } from './commands-port.ts';
import { cameraHints, doubtHints, storageHints, verificationHints } from './hints.ts';
import { type House, running, viewOf } from './house.ts';
import { inputsPort } from './inputs-port.ts';
import { mediaPort } from './media-port.ts';
import type { OutboxCount } from './outbox-count.ts';
import { outboxPort } from './outbox-port.ts';
import { schedulesPort } from './schedules-port.ts';
import { securityTypePort } from './security-type-port.ts';
import type { PartReport } from './slots.ts';
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
  config: () => { path: string; lastGood: boolean; error: string | undefined };
  /** The settings in force. */
  settings: () => Settings;
  quality: ClockQualityWatch;
}): LanPort {
  const { house, slots, settings } = options;
  const hasCloud = () => settings().cloud !== undefined;
  const note = noteIn(house);
  const auditors = createAuditors({
    ...{ check: checkWith(house), note, clock: options.clock },
    onDuress: (actor) => callForHelp(house, actor, 'audit'),
  });
  const reasons = () =>
    slots
      .health()
      .flatMap((part) =>
        vital.includes(part.name) && part.state === 'down' ? [`${part.name}: ${part.reason ?? 'down'}`] : [],
      );

  return {
    async status() {
      const counted = await options.count();
      const { path, lastGood, error } = options.config();
      const mqtt = house.lan?.health();
      return statusOf({
        version,
        uptimeMs: options.uptimeMs(),
        ready: reasons().length === 0,
        parts: slots.health().map(({ name, ...health }) => ({ name, health })),
        view: withReasons(viewOf(house), house.cameras?.status() ?? []),
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
        armingSync: armingSyncStatus(viewOf(house), house.arming?.shown(), settings().site),
        brokenPanels: brokenPanels(house),
        reporting: reportingPanels(settings()),
        hints: [
          ...verificationHints(house.verifications?.list() ?? []),
          ...storageHints(house.store?.storage(), options.clock.wall()),
          ...doubtHints(house.controller?.view()),
          ...panelHints(house),
          ...cameraHints(house.cameras?.status() ?? [], options.clock.wall(), (id) => hasSilentZone(viewOf(house), id)),
        ],
        config: { path, last_good: lastGood, ...(error !== undefined && { error }) },
      });
    },

    zones: () => zonesShown(viewOf(house), reportingPanels(settings())),

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

    users: usersPort({ house, log: options.log, note }),

    audit: auditPort({ store: () => running(house, 'store'), auditors, note }),

    activity: activityPort({ ...options, auditors }),

    inputs: inputsPort({ store: () => running(house, 'store') }),

    commands: commandsPort({ house }),

    schedules: schedulesPort({
      house,
      clock: options.clock,
      log: options.log,
      timezone: () => settings().site.timezone,
    }),

    verifications: verificationsPort(house),
    securityType: securityTypePort({ house, clock: options.clock }),
    cameras: camerasPort({ house, settings, wall: options.clock.wall, note }),
    media: mediaPort({ house, clock: options.clock, note }),
    audio: audioPort({ house, settings, note, clock: options.clock }),

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
  };
}

function cloudLink(up: boolean | null | undefined): StatusDocument['links'][number] {
  const link = { kind: 'cloud', id: 'cloud' } as const;
  if (up === undefined) return { ...link, up: null, reason: 'no cloud is configured; events are kept' };
  return { ...link, up };
}

/** Panels that are not read, with the reason; the list of all profiles stands in the hints below. */
const reportingPanels = ({ panels }: Settings): ReadonlySet<string> =>
  new Set(panels.filter(({ profile }) => profile === dc09Profile).map(({ id }) => id));

const brokenPanels = ({ panels }: House): ReadonlyMap<string, string> =>
  new Map((panels?.hints() ?? []).flatMap(({ kind, panel, text }) => (kind === 'not_running' ? [[panel, text]] : [])));

function panelHints(house: House): StatusDocument['hints'] {
  return [...(house.panels?.hints() ?? []), ...(house.receiver?.hints() ?? [])].map(
    ({ panel, about, text, values, count, lastAt }) => ({
      device: `panel ${panel}`,
      about,
      text,
      values: [...values],
      count,
      last: isoTime(lastAt),
    }),
  );
}

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

import { type EventEntry, type LanPort, type StatusDocument, statusOf } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { version } from '#lib/version.ts';
import { withDeadline } from '#lib/wait.ts';
import { isoTime } from '#site/model/index.ts';
import type { EventRecord, OutboxStats } from '#site/store/index.ts';
import type { House } from './house.ts';
import { outboxPort } from './outbox-port.ts';
import { viewOf } from './site-port.ts';
import type { PartReport } from './slots.ts';
import { storageHints } from './storage-hints.ts';

const statsDeadlineMs = 1000;

/** Parts without which an alarm would not be decided, kept or taken note of. */
const vital = ['store', 'controller'];

/** A disk that hangs must not hang the answer that tells of it; what is not known then is not called zero. */
export async function outboxStatus({ store }: House): Promise<StatusDocument['outbox']> {
  if (store === undefined) return null;
  const never = new AbortController().signal;
  const counting = withDeadline(statsDeadlineMs, never, () => store.stats(), 'counting the outbox');
  return counting.then(shown, () => null);
}

const shown = (stats: OutboxStats): StatusDocument['outbox'] => ({
  waiting: { ...stats.pending },
  oldest: stats.oldest === undefined ? null : isoTime(stats.oldest),
  parked: stats.parked,
  media_waiting: stats.mediaPending,
});

/** The daemon as the LAN API sees it. */
export function lanPort(options: {
  house: House;
  slots: { health(): readonly PartReport[]; metrics(): Promise<string> };
  clock: Clock;
  uptimeMs: () => number;
  /** The state directory. */
  stateDir: () => string;
  config: () => { path: string; lastGood: boolean; error: string | undefined };
  /** Whether the configuration names a cloud. */
  hasCloud: () => boolean;
}): LanPort {
  const { house, slots } = options;
  const reasons = () =>
    slots
      .health()
      .flatMap((part) =>
        vital.includes(part.name) && part.state === 'down' ? [`${part.name}: ${part.reason ?? 'down'}`] : [],
      );

  return {
    async status() {
      const outbox = await outboxStatus(house);
      const { path, lastGood, error } = options.config();
      const mqtt = house.lan?.health();
      return statusOf({
        version,
        uptimeMs: options.uptimeMs(),
        ready: reasons().length === 0,
        parts: slots.health().map(({ name, ...health }) => ({ name, health })),
        view: viewOf(house),
        links: [
          cloudLink(options.hasCloud() ? (house.cloudUp ?? null) : undefined),
          {
            kind: 'broker',
            id: 'mqtt',
            up: mqtt?.state === 'ok',
            ...(mqtt?.reason !== undefined && { reason: mqtt.reason }),
          },
        ],
        outbox,
        hints: [
          ...storageHints(house.store?.storage(), options.clock.wall()),
          ...panelHints(house),
          ...cameraHints(house),
        ],
        config: { path, last_good: lastGood, ...(error !== undefined && { error }) },
      });
    },

    async events(query) {
      const records = await house.store?.events({
        limit: query.limit,
        ...(query.before !== undefined && { beforeSeq: query.before }),
        ...(query.class !== undefined && { class: query.class }),
      });
      return (records ?? []).map(entryOf);
    },

    ready() {
      const found = reasons();
      return { ready: found.length === 0, reasons: found };
    },

    metrics: () => slots.metrics(),

    outbox: outboxPort({
      house,
      clock: options.clock,
      health: slots.health,
      dir: options.stateDir,
      hasCloud: options.hasCloud,
    }),
  };
}

function cloudLink(up: boolean | null | undefined): StatusDocument['links'][number] {
  const link = { kind: 'cloud', id: 'cloud' } as const;
  if (up === undefined) return { ...link, up: null, reason: 'no cloud is configured; events are kept' };
  return { ...link, up };
}

function panelHints(house: House): StatusDocument['hints'] {
  return (house.panels?.hints() ?? []).map(({ panel, about, text, values, count, lastAt }) => ({
    device: `panel ${panel}`,
    about,
    text,
    values: [...values],
    count,
    last: isoTime(lastAt),
  }));
}

function cameraHints(house: House): StatusDocument['hints'] {
  return (house.cameras?.status() ?? []).flatMap(({ id, unknownTopics }) =>
    unknownTopics.map(({ topic, count, items, lastAt }) => ({
      device: `camera ${id}`,
      about: topic,
      text: 'an event topic the table does not know; it is kept as "other"',
      values: [items],
      count,
      last: isoTime(lastAt),
    })),
  );
}

function entryOf(record: EventRecord): EventEntry {
  return {
    seq: record.seq,
    event: record.event,
    delivery: record.delivery,
    ...(record.deliveredAt !== undefined && { delivered_at: isoTime(record.deliveredAt) }),
    ...(record.tries !== undefined && { tries: record.tries }),
    ...(record.reason !== undefined && { reason: record.reason }),
    media: record.media.map((item) => ({ ...item })),
  };
}

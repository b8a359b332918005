import type { LanPort } from './port.ts';
import type { EventEntry, StatusDocument } from './schemas.ts';

/** A quiet site with one partition. */
export const fakeStatus: StatusDocument = {
  version: '0.0.0',
  uptime_s: 7380,
  ready: true,
  parts: [
    { name: 'store', state: 'ok' },
    { name: 'cloud', state: 'degraded', reason: 'No connection to the cloud. Events wait in the outbox.' },
  ],
  partitions: [
    {
      id: 'p1',
      name: 'Offices',
      authority: 'engine',
      state: 'armed_away',
      mode: 'away',
      stale: false,
      since: '2026-11-27T22:00:00.000Z',
      seq: 4,
      exit_left_s: 12,
    },
  ],
  zones: {
    total: 3,
    open: ['2'],
    bypassed: [],
    tamper: [],
    low_battery: ['3'],
    offline: [],
    unknown: [],
  },
  cameras: [{ kind: 'camera', id: 'yard', up: false, reason: 'No connection to the camera.' }],
  panels: [{ kind: 'panel', id: 'main', up: null }],
  troubles: [],
  hints: [],
  links: [{ kind: 'cloud', id: 'events', up: false, reason: 'No connection to the cloud.' }],
  outbox: {
    waiting: { alarm: 1, arming: 0, trouble: 0, activity: 2 },
    oldest: '2026-11-27T21:59:00.000Z',
    parked: 0,
    media_waiting: 1,
  },
  clock: { quality: 'synced', now: '2026-11-27T22:03:00.000Z' },
  config: { path: '/etc/siteward/siteward.yaml', last_good: false },
};

export function fakeEvent(seq: number): EventEntry {
  return {
    seq,
    event: {
      event_id: `event-${seq}`,
      event_type: 'burglary',
      kind: 'burglary',
      class: 'alarm',
      status: 'active',
      partition: 'p1',
      zone: '2',
      seq,
      source: 'panel:main',
      at: '2026-11-27T22:01:00.000Z',
      data: { version: 1, epoch: 1, clock: 'synced', zone_name: 'Front door' },
    },
    delivery: 'waiting',
    tries: 2,
    media: [],
  };
}

/** A port with `count` events, seq 1 to `count`; members can be replaced. */
export function fakeLanPort(count = 3, replaced: Partial<LanPort> = {}): LanPort {
  return {
    status: async () => fakeStatus,
    events: async ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      Array.from({ length: count }, (_, index) => fakeEvent(count - index))
        .filter(({ seq }) => seq < before)
        .slice(0, limit),
    ready: () => ({ ready: true, reasons: [] }),
    metrics: async () => 'siteward_up 1\n',
    ...replaced,
  };
}

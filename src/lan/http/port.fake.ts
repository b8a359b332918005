import { Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { AudioPort, VerificationsPort } from '#site/model/index.ts';
import { fakeAudit, fakeInputs } from './audit-port.fake.ts';
import type { CamerasPort } from './cameras-handlers.ts';
import type { CloudDevicesPort, DevicePlanShown } from './cloud-devices.ts';
import { fakeCloudPaths } from './cloud-port.fake.ts';
import { fakeConfig, fakeDanger, fakeFindCameras, fakeLog } from './diagnostics-port.fake.ts';
import { createIdempotency } from './idempotency.ts';
import type { MediaPort } from './media-handlers.ts';
import type { GapEntry, OutboxDocument, ParkedDetail } from './outbox-schemas.ts';
import type { CommandsPort, LanPort, OutboxPort, SchedulesPort, UsersPort } from './port.ts';
import type { EventEntry, StatusDocument } from './schemas.ts';
import type { UserEntry } from './users-schemas.ts';

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
      alarm: null,
      memory: [],
    },
  ],
  zone_names: {},
  zones: {
    total: 3,
    alarm: [],
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

/** An outbox with a cut line, one lost event and a full enough disk. */
export const fakeOutboxDocument: OutboxDocument = {
  at: '2026-11-27T22:03:00.000Z',
  lanes: [
    { lane: 'alarm', waiting: 1, oldest: '2026-11-27T21:59:00.000Z', parked: 1, lost: 0 },
    { lane: 'arming', waiting: 0, oldest: null, parked: 0, lost: 0 },
    { lane: 'trouble', waiting: 0, oldest: null, parked: 0, lost: 0 },
    { lane: 'activity', waiting: 1200, oldest: '2026-11-27T22:01:00.000Z', parked: 0, lost: 40 },
  ],
  media: { waiting: 2, failed: 1 },
  store: { state: 'ok' },
  disk: {
    dir: '/var/lib/siteward',
    files: [
      { name: 'site.db', bytes: 524_288, wal_bytes: 4096 },
      { name: 'bulk.db', bytes: 3_145_728, wal_bytes: 0 },
    ],
    free_bytes: 10_737_418_240,
    total_bytes: 21_474_836_480,
    level: 'ok',
  },
  link: {
    state: 'down',
    reason: 'nobody listens at the address',
    trouble: 'unreachable',
    breaker: 'open',
    since: '2026-11-27T21:58:00.000Z',
    next_try_s: 12,
  },
  sending: { in_flight: 0, aside: 0, memory_only: 0, per_min: 12.5 },
  hints: ['Check the line.', '1 refused: "siteward outbox parked" lists them.'],
};

export function fakeParked(seq: number): ParkedDetail {
  const { event } = fakeEvent(seq);
  return {
    seq,
    lane: 'alarm',
    event,
    at: '2026-11-27T22:02:00.000Z',
    tries: 2,
    status: 422,
    reason: '422 refused as invalid: unknown camera',
    means: 'The cloud does not take this event.',
    remedy: 'Read what the cloud said.',
    cloud_event: {
      event_time: event.at,
      sent_at: '2026-11-27T22:03:00.000Z',
      event_id: event.event_id,
      payload: event,
    },
  };
}

/** Events 1 to `count` are parked; they can be retried and dropped, each once. */
export function fakeOutbox(count = 3, replaced: Partial<OutboxPort> = {}): OutboxPort {
  const parked = new Set(Array.from({ length: count }, (_, index) => index + 1));
  const gaps: GapEntry[] = [];
  const take = (seqs: readonly number[]) => {
    const missing = seqs.filter((seq) => !parked.has(seq));
    if (missing.length > 0) throw new SitewardError('not_parked', `not parked: ${missing.join(', ')}`);
    for (const seq of seqs) parked.delete(seq);
    return seqs.length;
  };
  return {
    history: () => ({ every_s: 300, items: [] }),
    show: async () => fakeOutboxDocument,
    async waiting({ limit, after }) {
      const items = [1, 2, 3].filter((seq) => seq > after).slice(0, limit);
      const entries = items.map((seq) => ({ seq, lane: 'alarm' as const, event: fakeEvent(seq).event }));
      return { items: entries, next_after: items.length < limit ? null : (items.at(-1) ?? null) };
    },
    parked: async ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      [...parked]
        .filter((seq) => seq < before)
        .sort((a, b) => b - a)
        .slice(0, limit)
        .map((seq) => {
          const { cloud_event: _, ...entry } = fakeParked(seq);
          return entry;
        }),
    async parkedOne(seq) {
      if (!parked.has(seq)) throw new SitewardError('not_parked', `not parked: ${seq}`);
      return fakeParked(seq);
    },
    retry: async ({ seqs }) => take(seqs),
    async drop({ seqs }) {
      const dropped = take(seqs);
      for (const seq of seqs) {
        const range = { seq_from: seq, seq_to: seq, count: 1 };
        gaps.unshift({ lane: 'alarm', ...range, why: 'technician', at: '2026-11-27T22:03:00.000Z', reported: false });
      }
      return dropped;
    },
    gaps: async (limit) => gaps.slice(0, limit),
    ...replaced,
  };
}

/** One owner, `anna`; users can be added, each code once, and removed. */
export function fakeUsers(replaced: Partial<UsersPort> = {}): UsersPort {
  const anna: UserEntry = { id: 'anna', name: 'Anna Meier', role: 'owner', source: 'file', now: 'valid' };
  const users = new Map([[anna.id, anna]]);
  const codes = new Set<string>();
  return {
    list: async () => [...users.values()],
    async add({ code, duress_code: _, consent: __, ...user }, by) {
      if (codes.has(code)) throw new SitewardError('code_refused', 'the code cannot be had; choose another one');
      codes.add(code);
      const entry: UserEntry = { ...user, source: 'file', created_by: by.client, now: 'valid' };
      users.set(user.id, entry);
      return entry;
    },
    async setCode({ id, code }) {
      if (!users.has(id)) throw new SitewardError('user_unknown', 'there is no user of this id');
      if (codes.has(code)) throw new SitewardError('code_refused', 'the code cannot be had; choose another one');
      codes.add(code);
    },
    async remove({ id, lastOwner }) {
      if (!users.has(id)) throw new SitewardError('user_unknown', 'there is no user of this id');
      if (users.get(id)?.role === 'owner' && !lastOwner)
        throw new SitewardError('last_owner', 'this is the last owner');
      users.delete(id);
    },
    ...replaced,
  };
}

/** A site of one partition, `p1`, that obeys at once, except to the code 0000. */
export function fakeCommands(replaced: Partial<CommandsPort> = {}): CommandsPort {
  return {
    async give({ id, verb, code, ...more }) {
      const at = '2026-11-27T22:03:00.000Z';
      const about = { id, partition: 'partition' in more ? more.partition : 'p1', at };
      if (code === '0000') return { ...about, outcome: 'refused', error: { code: 'BAD_CODE', field: 'code' } };
      return { ...about, outcome: 'done', state: verb === 'arm' ? 'arming' : 'disarmed', seq: 8 };
    },
    ...replaced,
  };
}
/** A site that is asked nothing. */
const noVerifications: VerificationsPort = {
  list: () => [],
  ask: async () => ({ outcome: 'refused', code: 'NOT_CONFIGURED' }),
  answer: async (_, reply) => reply({ outcome: 'refused', error: { code: 'UNKNOWN_TARGET' }, at: 0, final: true }),
};

const noCamera = (id: string) => new SitewardError('camera_unknown', `the configuration has no camera ${id}`);

/** A site without cameras. */
const noCameras: CamerasPort = {
  list: () => [],
  events(id) {
    throw noCamera(id);
  },
  snapshot: async (id) => Promise.reject(noCamera(id)),
  certificate: async (id) => Promise.reject(noCamera(id)),
  trust: async (id) => Promise.reject(noCamera(id)),
};

/** The cloud knows all there is: the bridge. */
const noCloudDevices: CloudDevicesPort = {
  list: () => ({ mode: 'automatic', state: 'in_step', in_step_at: '2026-11-27T22:03:00.000Z', items: [] }),
  plan: async () => fakePlan,
  sync: async ({ dry_run }) => ({ dry_run, state: 'in_step', ...(dry_run && { plan: fakePlan }), held: [] }),
};
const fakePlan: DevicePlanShown = {
  ...{ in_step: true, create: [], update: [], unchanged: ['sw-1'], absent: [], zones: [] },
  ...{ nvrs: { create: [], update: [], attach: [] }, held: [] },
};

/** No event announced anything. */
const noMedia: MediaPort = {
  list: async () => [],
  show: async (seq) => Promise.reject(new SitewardError('media_unknown', `no event ${seq} announced any`)),
  export: async (seq) => Promise.reject(new SitewardError('media_unknown', `no event ${seq} announced any`)),
  read: async () => Promise.reject(new SitewardError('media_gone', 'no export is known')),
};

const noMessage = async () => Promise.reject(new SitewardError('audio_unknown', 'there is no such message'));

/** Neither messages nor speakers. */
const noAudio: AudioPort = {
  messages: () => [],
  speakers: () => [],
  playbacks: () => [],
  play: noMessage,
  cancel: async () => [],
  selfTest: async () => [],
  import: noMessage,
  remove: noMessage,
};

/** A port with `count` events, seq 1 to `count`; members can be replaced. */
export function fakeLanPort(count = 3, replaced: Partial<LanPort> = {}): LanPort {
  return {
    status: async () => fakeStatus,
    zones: () => [],
    partitions: () => [],
    devices: () => [],
    events: async ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      Array.from({ length: count }, (_, index) => fakeEvent(count - index))
        .filter(({ seq }) => seq < before)
        .slice(0, limit),
    ready: () => ({ ready: true, reasons: [] }),
    metrics: async () => 'siteward_up 1\n',
    idempotency: createIdempotency({ clock: manualClock(), metrics: new Registry() }),
    outbox: fakeOutbox(),
    users: fakeUsers(),
    commands: fakeCommands(),
    schedules: fakeSchedules(),
    audit: fakeAudit(),
    inputs: fakeInputs(),
    activity: { cloud: async () => ({ state: 'none', items: [] }) },
    mirror: {
      site: () => ({
        state: 'ok',
        site: { read_at: '2026-11-27T22:01:00.000Z', stale: false, name: 'Shop', timezone: 'Europe/Berlin' },
        stations: { read_at: null, stale: true, left_out: 0, items: [] },
        contacts: { read_at: null, stale: true, count: 0 },
      }),
      contacts: () => ({ read_at: null, stale: true, left_out: 0, items: [] }),
    },
    verifications: noVerifications,
    cameras: noCameras,
    cloudDevices: noCloudDevices,
    cloudChanges: { note: async () => undefined },
    media: noMedia,
    audio: noAudio,
    async mayEndAlarms(code) {
      if (code !== '2580') throw new SitewardError('code_refused', 'the code does not count');
    },
    authority: async () => Promise.reject(new SitewardError('authority_unknown', 'there is none')),
    live() {
      throw new SitewardError('stopped', 'the streams are not running; try again in a moment');
    },
    log: fakeLog(),
    config: fakeConfig(),
    danger: fakeDanger(),
    findCameras: fakeFindCameras(),
    backup: { step: async (step) => step === 'hold' },
    bundle: { contents: () => [], make: async () => '{}' },
    cloudPaths: fakeCloudPaths(),
    access() {
      throw new SitewardError('stopped', 'access control is not running; try again in a moment');
    },
    securityType: { change: async ({ security_type }) => ({ security_type }) },
    ...replaced,
  };
}

/** One schedule, `night`, that arms at ten and can be postponed with the code 2580, twice. */
export function fakeSchedules(replaced: Partial<SchedulesPort> = {}): SchedulesPort {
  let minutes = 0;
  let left = 2;
  const moved = () => {
    const at = new Date(Date.UTC(2026, 10, 27, 21, minutes));
    return {
      at: at.toISOString(),
      local: `2026-11-27T${22 + Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:00+01:00`,
    };
  };
  return {
    async list(count) {
      const night = { schedule: 'night', name: 'Night', action: 'arm', date: '2026-11-27', time: '22:00' } as const;
      const run = { ...night, ...moved(), skipped: false, after_gap: false, postponed: minutes > 0 };
      return { timezone: 'Europe/Berlin', items: [run].slice(0, count) };
    },
    async postpone({ id, minutes: by, code }) {
      if (id !== 'night') throw new SitewardError('schedule_unknown', `there is no schedule ${id}`);
      if (code !== '2580' || left === 0) throw new SitewardError('postpone_refused', `${id} is not postponed`);
      minutes += by;
      left -= 1;
      return { schedule: id, ...moved(), times_left: left };
    },
    ...replaced,
  };
}

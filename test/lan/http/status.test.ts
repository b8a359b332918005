import { expect, test } from 'vitest';
import { statusDocument, statusOf } from '#lan/http/index.ts';
import type { SiteView, ZonePlan } from '#site/model/index.ts';

const zone = (number: string): ZonePlan => ({
  number,
  name: number,
  type: 'perimeter',
  partitions: ['p1'],
  source: { kind: 'panel', id: 'main' },
  cameras: [],
  detections: [],
});
const heard = { alarm: false, tamper: false, bypassed: false, lowBattery: false, online: true, at: 1000 };

const noRules = {
  exitDelayMs: 0,
  entryDelayMs: 0,
  abortDelayMs: 0,
  cancelWindowMs: 300_000,
  exitRestart: false,
  autoStay: false,
} as const;

const view: SiteView = {
  plan: {
    siteId: '1',
    securityType: 1,
    partitions: [
      { id: 'p1', name: 'A', authority: 'panel', panel: 'main', ...noRules },
      { id: 'p2', name: 'B', authority: 'engine', ...noRules },
    ],
    zones: ['1', '2', '3'].map(zone),
    cameras: [{ id: 'yard', name: 'Yard', partitions: ['p1'], pictures: 'alarm' }],
    media: { snapshots: 1, intervalMs: 1, maxPerEvent: 1 },
    disarmNeedsCode: true,
    confirmMs: 1,
    signalRestores: false,
    swingerTrips: 0,
    crossZones: [],
  },
  partitions: [
    { id: 'p1', state: 'arming', mode: 'away', seq: 3, at: 1000, source: 'panel', stale: false, memory: [] },
  ],
  zones: [
    { number: '1', open: true, ...heard, bypassed: true },
    { number: '2', open: null, ...heard, online: false, lowBattery: true },
  ],
  troubles: [],
  links: [{ source: { kind: 'camera', id: 'yard' }, up: false, reason: 'away' }],
  epoch: 1,
  seq: 9,
  clock: 'holdover',
  at: 2000,
  ready: {},
  delays: { p1: { exitLeftS: 12 } },
};

const input: Parameters<typeof statusOf>[0] = {
  version: '1.2.3',
  uptimeMs: 61_900,
  ready: true,
  parts: [{ name: 'store', health: { state: 'degraded', reason: 'slow', facts: { ms: 3 } } }],
  view,
  links: [],
  outbox: { waiting: { alarm: 0, arming: 0, trouble: 0, activity: 0 }, oldest: null, parked: 0, media_waiting: 0 },
  hints: [],
  config: { path: '/x', last_good: true, error: 'broken' },
};
const status = statusOf(input);

test('the status document fits its own schema', () => {
  expect(statusDocument.parse(JSON.parse(JSON.stringify(status)))).toEqual(status);
});

test('a partition of which nothing was heard is unknown and stale, never disarmed', () => {
  expect(status.partitions[1]).toMatchObject({ id: 'p2', state: 'unknown', mode: null, stale: true });
  expect(status.partitions[0]).toMatchObject({ id: 'p1', state: 'arming', exit_left_s: 12, stale: false });
});

test('zones are listed under what is the matter with them; not heard is not closed', () => {
  expect(status.zones).toEqual({
    total: 3,
    alarm: [],
    open: ['1'],
    bypassed: ['1'],
    tamper: [],
    low_battery: ['2'],
    offline: ['2', '3'],
    unknown: ['2', '3'],
  });
});

test('a zone is not heard while its panel is away, as it was before a start, too, until the panel is heard', () => {
  const source = { kind: 'panel', id: 'main' } as const;
  const plan = { ...view.plan, zones: [{ ...zone('1'), source }] };
  const zones = [{ number: '1', open: false, ...heard }];
  const trouble = { kind: 'panel_offline', source, since: 500 } as const;
  const offline = (more: Partial<typeof view>) =>
    statusOf({ ...input, view: { ...view, plan, zones, links: [], ...more } }).zones.offline;
  expect(offline({ links: [{ source, up: false }], troubles: [trouble] })).toEqual(['1']);
  expect(offline({ troubles: [trouble] })).toEqual(['1']);
  expect(offline({ links: [{ source, up: true }], troubles: [trouble] })).toEqual([]);
  expect(offline({})).toEqual([]);
});

test('a detector of danger that was never heard is not heard, one of a silent hold-up is nowhere', () => {
  const types = { '1': 'fire', '2': 'fire', '3': 'panic_silent', '4': 'fire', '5': 'water' } as const;
  const plan = {
    ...view.plan,
    zones: Object.entries(types).map(([number, type]): ZonePlan => ({ ...zone(number), type })),
  };
  const zones = [
    { number: '1', open: null, ...heard },
    { number: '2', open: null, ...heard, heard: true as const },
    { number: '3', open: null, ...heard },
    { number: '4', open: null, ...heard, alarm: true },
  ];
  const document = statusOf({ ...input, view: { ...view, plan, zones } });
  expect(document.zones).toMatchObject({ total: 4, alarm: ['4'], open: ['4'], unknown: ['1', '5'] });
});

test('a partition shows what is in alarm, what was, a walk test and a failed arming, with the names of the zones', () => {
  const [first] = view.partitions;
  if (first === undefined) throw new Error('no partition');
  const partitions = [{ ...first, memory: ['3'], alarm: { zone: '1', kind: 'fire', since: 500 } }];
  const now: SiteView = {
    ...view,
    partitions,
    zones: [{ number: '1', open: true, ...heard, alarm: true }],
    troubles: [{ kind: 'fail_to_arm', source: { kind: 'bridge', id: 'siteward' }, partition: 'p2', since: 900 }],
    tests: { p1: { leftS: 30, walked: ['2'], missing: [] } },
    unarmed: { p2: { schedule: 'night', at: 900, reason: 'NOT_READY', zones: ['2'] } },
    armWaits: { p2: { schedule: 'noon', leftS: 5 } },
  };
  const document = statusOf({ ...input, view: now });
  expect(statusDocument.parse(JSON.parse(JSON.stringify(document)))).toEqual(document);
  expect(document.partitions).toMatchObject([
    {
      alarm: { zone: '1', kind: 'fire', since: '1970-01-01T00:00:00.500Z' },
      memory: ['3'],
      test: { left_s: 30, walked: ['2'], missing: [] },
    },
    {
      not_armed: { schedule: 'night', at: '1970-01-01T00:00:00.900Z', reason: 'NOT_READY', zones: ['2'] },
      arm_wait: { schedule: 'noon', left_s: 5 },
    },
  ]);
  expect(document.zones.alarm).toEqual(['1']);
  expect(document.zone_names).toEqual({ '1': '1', '2': '2', '3': '3' });
  expect(document.troubles).toMatchObject([{ kind: 'fail_to_arm', device: 'bridge siteward', partition: 'p2' }]);
});

test('cameras and panels carry their link', () => {
  expect(status.cameras).toEqual([{ kind: 'camera', id: 'yard', up: false, reason: 'away' }]);
  expect(status.panels).toEqual([{ kind: 'panel', id: 'main', up: null }]);
});

test('a panel that is not read is down and says why, whatever was heard of it before', () => {
  const reason = 'profile acmee: there is no such profile';
  const links: SiteView['links'] = [{ source: { kind: 'panel', id: 'main' }, up: true }];
  const { panels } = statusOf({ ...input, view: { ...view, links }, brokenPanels: new Map([['main', reason]]) });
  expect(panels).toEqual([{ kind: 'panel', id: 'main', up: false, reason }]);
  expect(statusOf({ ...input, view: { ...view, links } }).panels).toEqual([{ kind: 'panel', id: 'main', up: true }]);
});

test('zones of a panel that only reports are not among those nothing was heard of', () => {
  const unknown = (more: object) => statusOf({ ...input, ...more }).zones.unknown;
  expect(unknown({})).not.toEqual([]);
  expect(unknown({ reporting: new Set(['main']) })).toEqual([]);
  expect(statusOf({ ...input, reporting: new Set(['main']) }).zones.reports_only).toEqual(['2', '3']);
});

test('every alarm that runs stands at its partition, with the names of its zones', () => {
  const alarms = {
    p2: [
      { kind: 'fire', zone: '3', since: 1000 },
      { kind: 'burglary', since: 2000 },
    ],
  };
  const { partitions, zone_names } = statusDocument.parse(statusOf({ ...input, view: { ...view, alarms } }));
  expect(partitions.map(({ alarms: running }) => running)).toEqual([
    undefined,
    [
      { kind: 'fire', zone: '3', since: '1970-01-01T00:00:01.000Z' },
      { kind: 'burglary', since: '1970-01-01T00:00:02.000Z' },
    ],
  ]);
  expect(zone_names).toMatchObject({ '3': '3' });
});

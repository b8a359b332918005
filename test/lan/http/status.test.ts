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

const view: SiteView = {
  plan: {
    siteId: '1',
    securityType: 1,
    partitions: [
      { id: 'p1', name: 'A', authority: 'panel', panel: 'main', exitDelayMs: 0, entryDelayMs: 0 },
      { id: 'p2', name: 'B', authority: 'engine', exitDelayMs: 0, entryDelayMs: 0 },
    ],
    zones: ['1', '2', '3'].map(zone),
    cameras: [{ id: 'yard', name: 'Yard', partitions: ['p1'], pictures: 'alarm' }],
    media: { snapshots: 1, intervalMs: 1, maxPerEvent: 1 },
    disarmNeedsCode: true,
    confirmMs: 1,
    signalRestores: false,
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

const status = statusOf({
  version: '1.2.3',
  uptimeMs: 61_900,
  ready: true,
  parts: [{ name: 'store', health: { state: 'degraded', reason: 'slow', facts: { ms: 3 } } }],
  view,
  links: [],
  outbox: { waiting: { alarm: 0, arming: 0, trouble: 0, activity: 0 }, oldest: null, parked: 0, media_waiting: 0 },
  hints: [],
  config: { path: '/x', last_good: true, error: 'broken' },
});

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
    open: ['1'],
    bypassed: ['1'],
    tamper: [],
    low_battery: ['2'],
    offline: ['2'],
    unknown: ['2', '3'],
  });
});

test('cameras and panels carry their link', () => {
  expect(status.cameras).toEqual([{ kind: 'camera', id: 'yard', up: false, reason: 'away' }]);
  expect(status.panels).toEqual([{ kind: 'panel', id: 'main', up: null }]);
});

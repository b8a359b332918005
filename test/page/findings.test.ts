import { expect, test } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { findingsOf } from '#lan/page/findings.ts';
import { wordsOf } from '#lan/page/text.ts';

/** A site at rest with six events that are an hour old. */
const status = (link: StatusDocument['links'][number]): StatusDocument =>
  ({
    version: '0',
    uptime_s: 0,
    ready: true,
    config: { last_good: false },
    parts: [],
    clock: { now: '2026-11-29T20:00:00.000Z', quality: 'synced' },
    partitions: [],
    zone_names: {},
    troubles: [],
    panels: [],
    cameras: [],
    speakers: [],
    links: [link],
    hints: [],
    outbox: {
      waiting: { alarm: 0, arming: 6, trouble: 0, activity: 0 },
      oldest: '2026-11-29T19:00:00.000Z',
      parked: 0,
      media_waiting: 0,
    },
  }) as unknown as StatusDocument;

const found = (link: Omit<StatusDocument['links'][number], 'kind' | 'id'>): readonly string[] =>
  findingsOf(status({ kind: 'cloud', id: 'cloud', ...link }), wordsOf('en')).map(({ key }) => key);

test('events that wait for a cloud are something to look at; those of a site without one are not', () => {
  expect(found({ up: true })).toEqual(['waiting']);
  expect(found({ up: false })).toEqual(['cloud']);
  expect(found({ up: null })).toEqual(['waiting']);
  expect(found({ up: null, reason: 'no cloud is configured; events are kept' })).toEqual([]);
});

const shop = { id: 'p1', name: 'Shop', alarm: null, memory: [] };
const keys = (change: object, zones: Parameters<typeof findingsOf>[2] = []): readonly string[] =>
  findingsOf({ ...status({ kind: 'cloud', id: 'cloud', up: true }), outbox: empty, ...change } as never, en, zones).map(
    ({ key }) => key,
  );
const empty = { waiting: {}, oldest: null, parked: 0, media_waiting: 0 };
const en = wordsOf('en');

test('a site of which something is not watched is not well: a walk test, zones left out, an alarm since the last arming', () => {
  const door = { number: '1', name: 'Door', partitions: ['p1'], bypassed: false };
  expect(keys({ partitions: [shop] }, [door])).toEqual([]);
  expect(keys({ partitions: [shop] }, [{ ...door, bypassed: true }])).toEqual(['left out p1']);
  expect(keys({ partitions: [{ ...shop, test: { left_s: 1200, walked: [], missing: ['1'] } }] })).toEqual(['test p1']);
  expect(keys({ partitions: [{ ...shop, memory: ['1'] }] })).toEqual(['memory p1']);
  // While it runs, the alarm itself is named.
  expect(keys({ partitions: [{ ...shop, memory: ['1'], alarm: { kind: 'burglary' } }] })).toEqual(['alarm p1 0']);
});

test('a walk test is told with the time at which it ends by itself', () => {
  const partitions = [{ ...shop, test: { left_s: 1200, walked: [], missing: ['1'] } }];
  const [first] = findingsOf({ ...status({ kind: 'cloud', id: 'cloud', up: true }), partitions } as never, en);
  expect(first?.text).toBe(
    `Walk test on Shop until ${en.hour(Date.parse('2026-11-29T20:20:00.000Z'))}: burglar alarms are not signalled`,
  );
});

test('one cause is told once, and what is bad stands above what is to be noted', () => {
  const cameras = [{ kind: 'camera', id: 'yard', up: false, reason: 'it did not answer' }];
  const since = '2026-11-29T19:00:00.000Z';
  const lost = { kind: 'device_offline', device: 'camera yard', since };
  const battery = { kind: 'sensor_battery', device: 'panel sensors', zone: '1', since };
  const parts = ['cameras', 'codes'].map((name) => ({ name, state: 'degraded', reason: 'yard' }));
  expect(keys({ parts, cameras, troubles: [battery, lost] })).toEqual([
    ...['camera yard', 'part codes', 'trouble sensor_battery panel sensors  1'],
  ]);
  // A part that does not run at all is told, whatever else is.
  expect(keys({ parts: [{ name: 'cameras', state: 'down' }], cameras })).toEqual(['part cameras', 'camera yard']);
  // Of a device that answers by now the trouble still stands.
  expect(keys({ troubles: [lost] })).toEqual(['trouble device_offline camera yard  ']);
  const links = [{ kind: 'cloud', id: 'cloud', up: false }];
  const noWay = { kind: 'comm_fail', device: 'bridge siteward', since };
  const delivery = [{ name: 'delivery', state: 'degraded', reason: 'no answer' }];
  expect(keys({ links, troubles: [noWay], parts: delivery })).toEqual(['cloud']);
});

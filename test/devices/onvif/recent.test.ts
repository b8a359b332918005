import { expect, test } from 'vitest';
import type { Signal } from '#site/model/index.ts';
import type { Notification } from '../../../src/devices/onvif/notification.ts';
import { recentMessages } from '../../../src/devices/onvif/recent.ts';

const message = (change: Partial<Notification> = {}): Notification => ({
  topic: 'RuleEngine/CellMotionDetector/Motion',
  rawTopic: 'tns1:RuleEngine/CellMotionDetector/Motion',
  operation: 'Changed',
  utcTime: '2026-11-27T20:00:00Z',
  source: { Rule: '000' },
  key: {},
  data: { IsMotion: 'true' },
  elements: [],
  elementWords: [],
  ...change,
});
const signal: Signal = {
  kind: 'detection',
  source: { kind: 'camera', id: 'yard' },
  detection: 'motion',
  active: true,
  pulse: false,
  replay: false,
  topic: 'RuleEngine/CellMotionDetector/Motion',
};

test('a message stands with what it said and what was made of it', () => {
  const recent = recentMessages(() => 1000);
  recent.note('signal', message(), [signal]);
  recent.note('ignored', message({ topic: 'x', rawTopic: 'tns1:x', data: {} }), []);
  expect(recent.after(0)).toEqual({
    items: [
      {
        number: 1,
        at: 1000,
        deviceTime: '2026-11-27T20:00:00Z',
        topic: 'tns1:RuleEngine/CellMotionDetector/Motion',
        operation: 'Changed',
        items: 'Rule=000 IsMotion=true',
        outcome: 'signal',
        signals: [{ source: { kind: 'camera', id: 'yard' }, detection: 'motion', state: 'on', replay: false }],
      },
      expect.objectContaining({ number: 2, topic: 'tns1:x', outcome: 'ignored', signals: [] }),
    ],
    last: 2,
  });
  expect(recent.after(1).items.map(({ number }) => number)).toEqual([2]);
  expect(recent.after(2)).toEqual({ items: [], last: 2 });
});

test('a number of another life gets all there is', () => {
  const recent = recentMessages(() => 1000);
  recent.note('same', message(), []);
  expect(recent.after(900).items).toHaveLength(1);
});

test('fifty are kept, and of each a bounded text', () => {
  const recent = recentMessages(() => 1000);
  const data = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`n${n}`, 'x'.repeat(200)]));
  for (let n = 0; n < 200; n += 1) recent.note('unknown', message({ data }), []);
  const { items, last } = recent.after(0);
  expect([items.length, items[0]?.number, last]).toEqual([50, 151, 200]);
  expect(items[0]?.items).toHaveLength(1000);
});

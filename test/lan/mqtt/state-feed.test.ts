import { expect, test } from 'vitest';
import type { Publisher } from '#lan/mqtt/publisher.ts';
import { createStateFeed } from '#lan/mqtt/state-feed.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { SiteView } from '#site/model/index.ts';

test('a change of the cloud link does not set the heartbeat back to when the site last changed', () => {
  const clock = manualClock(Date.parse('2026-05-01T12:00:00Z'));
  const told: string[] = [];
  const publisher = {
    state: (topic: string, payload: string) => void (topic.endsWith('/info') && told.push(payload)),
  } as unknown as Publisher;
  const view = {
    at: clock.wall() - 3_600_000,
    epoch: 1,
    clock: 'good',
    partitions: [],
    zones: [],
    links: [],
    troubles: [],
    plan: { securityType: 3, partitions: [], zones: [], cameras: [], nvrs: [], panels: [] },
  } as unknown as SiteView;
  const facts = () => ({ version: '1', bootId: 'b', cloudUp: false, verifications: [] });
  const feed = createStateFeed({ root: 'r', publisher, facts, view, copies: () => [], clock });
  feed.cloud();
  expect(JSON.parse(told.at(-1) ?? '{}').links).toMatchObject({ at: '2026-05-01T12:00:00.000Z', cloud: 'offline' });
});

import { expect, test, vi } from 'vitest';
import type { Publisher } from '#lan/mqtt/publisher.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
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

test('an opening right after changes of a link leaves at once, and what hangs on the link once, a little later', () => {
  vi.useFakeTimers();
  try {
    const site = fakeSite();
    const told: string[] = [];
    const publisher = {
      state: (topic: string, payload: string) => void told.push(`${topic} ${payload}`),
      topics: () => [],
    } as unknown as Publisher;
    const facts = () => ({ version: '1', bootId: 'b', cloudUp: false, verifications: [] });
    const feed = createStateFeed({
      root: 'r',
      publisher,
      facts,
      view: site.view(),
      copies: () => [],
      clock: manualClock(),
    });
    feed.refresh(site.view());
    site.onChange = feed.change;
    told.length = 0;
    for (const up of [false, true, false, true, false]) site.setLink('panel', 'main', up);
    site.setZone('1', { open: true });
    expect(told).toContain('r/zone/1/state ON');
    const availability = () => told.filter((line) => line.startsWith('r/zone/2/availability'));
    vi.advanceTimersByTime(200);
    expect(availability()).toEqual(['r/zone/2/availability offline']);
    feed.stop();
  } finally {
    vi.useRealTimers();
  }
});

import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import type { OutboxStats, Store } from '#site/store/index.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import { outboxMetrics } from '../../src/daemon/outbox-metrics.ts';
import { sitePort } from '../../src/daemon/site-port.ts';

const lane = { oldest: undefined, parked: 1, lost: 0 };
const stats: OutboxStats = {
  pending: { alarm: 2, arming: 0, trouble: 1, activity: 0 },
  lanes: { alarm: { ...lane, oldest: 40_000 }, arming: lane, trouble: lane, activity: lane },
  ...{ parked: 4, oldest: 40_000, mediaPending: 0, mediaFailed: 0, lost: 7, bytes: { site: 1, bulk: 1 } },
};
const asked = (answer: Store['stats']) => {
  const store = { stats: answer } as Store;
  return { store, count: outboxCount({ store }) };
};

it('says why nothing is counted while the disk does not answer', async () => {
  expect(await asked(() => new Promise(() => {})).count()).toContain('counting the outbox took longer than 1000 ms');
  expect(await asked(() => Promise.reject(new Error('the disk is gone'))).count()).toContain('the disk is gone');
  expect(await outboxCount({})()).toBe('The store is not running.');
});

it('asks the store once for all who ask meanwhile, and again afterwards', async () => {
  let questions = 0;
  const { count } = asked(async () => {
    questions += 1;
    return stats;
  });
  expect(await Promise.all([count(), count(), count()])).toEqual([stats, stats, stats]);
  expect(questions).toBe(1);
  await count();
  expect(questions).toBe(2);
});

it('gives no gauge and no MQTT topic a zero while nothing can be counted', async () => {
  const clock = manualClock();
  const metrics = new Registry();
  let store: Store | undefined = { stats: async () => stats } as Store;
  const house = {
    get store() {
      return store;
    },
  };
  const asked = { settings: () => ({}) as Settings, quality: {} as ClockQualityWatch, log: pino({ level: 'silent' }) };
  const count = outboxCount(house);
  outboxMetrics({ count, clock: { ...clock, wall: () => 100_000 }, metrics });
  const port = sitePort({ house, count, clock: { ...clock, wall: () => 100_000 }, ...asked });
  expect(await metrics.metrics()).toContain('siteward_outbox_oldest_age_seconds{lane="alarm"} 60');
  expect(await port.outbox()).toEqual({ depth: 3, oldestS: 60, dropped: 7 });
  store = undefined;
  expect(await metrics.metrics()).not.toMatch(/^siteward_outbox_\w+\{/m);
  await expect(port.outbox()).rejects.toMatchObject({ code: 'store_unavailable' });
});

import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { type ArmingSync, createArmingSync } from '#cloud/sync/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { SiteView } from '#site/model/index.ts';
import { quiet } from '../support.ts';
import { minute, second } from './rig.ts';

const picture = (state: 'disarmed' | 'armed_away', seq: number) =>
  ({ plan: { securityType: 3 }, partitions: [{ id: 'p1', state, seq, source: 'lan' }] }) as unknown as SiteView;

/** The sync alone, with a cloud that says what it is told to and a site whose parts throw when they are swapped. */
function alone() {
  const clock = manualClock();
  const metrics = new Registry();
  const cloud = { status: 'disarmed' };
  const site = { view: picture('disarmed', 1), isSwapped: false, commands: 0 };
  const kept = new Map<string, string>();
  let next: { at: number; run: () => void } | undefined;
  const answer = () =>
    ({ kind: 'answer', status: 200, headers: {}, body: new Uint8Array(), json: { status: cloud.status } }) as never;
  const must = () => {
    if (site.isSwapped) throw new TypeError('the controller is not running');
  };
  const sync: ArmingSync = createArmingSync({
    api: {
      getArmingStatus: async () => answer(),
      async updateArmingStatus({ encoded }) {
        cloud.status = (JSON.parse(encoded ?? '{}') as { status: string }).status;
        return answer();
      },
    },
    site: {
      view: () => site.view,
      submit() {
        must();
        site.commands += 1;
      },
      tell: async () => must(),
      signals: async () => must(),
    },
    memory: {
      get: async (key: string) => kept.get(key),
      set: async (key: string, value: string) => void kept.set(key, value),
      delete: async (key: string) => void kept.delete(key),
    } as never,
    ...{ place: { dealerId: '1', siteId: '1' }, form: 'status', idSpace: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11' },
    ...{ speaks: true, clock, log: quiet, metrics, random: () => 0.5 },
    timer(ms, run) {
      const mine = { at: clock.monotonic() + ms, run };
      next = mine;
      return () => {
        if (next === mine) next = undefined;
      };
    },
  });
  async function pass(ms: number): Promise<void> {
    const end = clock.monotonic() + ms;
    for (;;) {
      for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
      const due = next;
      if (due === undefined || due.at > end) break;
      clock.advance(Math.max(0, due.at - clock.monotonic()));
      next = undefined;
      due.run();
    }
    clock.advance(end - clock.monotonic());
  }
  return { sync, cloud, site, clock, metrics, pass };
}

test('a site that cannot take a command for a moment costs that command alone: what changes later is told', async () => {
  const { sync, cloud, site, metrics, pass } = alone();
  await sync.start(new AbortController().signal);
  await pass(5 * minute);
  site.isSwapped = true;
  cloud.status = 'armed';
  await pass(minute);
  expect(sync.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('failed') });
  expect(await metrics.metrics()).toContain('siteward_arming_sync_failures_total{why="error"} 1');
  site.isSwapped = false;
  await pass(5 * minute);
  // The truth went up instead of the command that was lost.
  expect(cloud.status).toBe('disarmed');
  sync.siteChanged(picture('armed_away', 2));
  await pass(10 * minute);
  expect(cloud.status).toBe('armed');
  expect(sync.health()).toMatchObject({ state: 'ok' });
  await sync.stop();
});

test('a change of the site that could not be decided on is told with the next tick', async () => {
  const { sync, cloud, clock, pass } = alone();
  await sync.start(new AbortController().signal);
  await pass(5 * minute);
  const { wall } = clock;
  clock.wall = () => {
    clock.wall = wall;
    throw new TypeError('this time not');
  };
  sync.siteChanged(picture('armed_away', 2));
  expect(sync.health()).toMatchObject({ state: 'degraded' });
  await pass(30 * second);
  expect(cloud.status).toBe('armed');
  await sync.stop();
});

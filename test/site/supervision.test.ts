import { afterEach, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Signal } from '#site/model/index.ts';
import { type Rig, plan as rigPlan, startRig } from './rig.ts';
import { isRoot, smallDisk } from './store/small-disk.ts';

const minute = 60_000;
const plan = {
  ...rigPlan,
  zones: [
    ...rigPlan.zones,
    {
      number: '10',
      name: 'Smoke',
      type: 'fire' as const,
      partitions: ['p1'],
      source: { kind: 'panel' as const, id: 's' },
      cameras: [],
      detections: [],
    },
  ],
  supervision: {
    reportAfterMs: { cloud: 0, broker: 0, panel: 0, camera: 0, acLoss: 0 },
    unstable: { changes: 3, windowMs: 10 * minute, quietMs: 10 * minute },
  },
};

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(options: Parameters<typeof startRig>[0] = {}): Promise<Rig> {
  const site = await startRig({ plan, ...options });
  ends.push(() => site.remove());
  return site;
}

const panel = (id: string, up: boolean): Signal => ({
  kind: 'link',
  source: { kind: 'panel', id },
  layer: 'bridge',
  up,
});
const cloud = (up: boolean): Signal => ({
  kind: 'trouble',
  source: { kind: 'bridge', id: 'siteward' },
  trouble: 'comm_fail',
  active: !up,
  replay: false,
});

const told = async (site: Rig, kind: string) =>
  (await site.store.events({ limit: 200 })).filter(({ event }) => event.kind === kind).reverse();

it('a flood of link changes while the disk takes nothing: a fire among them is told at once, and every row gets to the disk later', async () => {
  const site = await start();
  site.refuse = true;
  const before = Date.now();
  const flood: Promise<void>[] = [];
  for (let i = 0; i < 500; i += 1) {
    for (const id of ['main', 's', 'a', 'b']) flood.push(site.controller.signals([panel(id, false), panel(id, true)]));
    flood.push(site.controller.signals([cloud(false), cloud(true)]));
  }
  flood.push(site.open('10', true));
  await eventually('the fire on the LAN', () => site.events.find(({ kind }) => kind === 'fire'), { timeoutMs: 30_000 });
  await eventually('the fire on its way from memory', () =>
    site.direct.find(({ event }) => event.kind === 'fire') === undefined ? undefined : true,
  );
  const during = Date.now();
  expect(site.controller.health()).toMatchObject({ state: 'degraded' });
  site.refuse = false;
  await Promise.all(flood);
  const rows = await eventually(
    'everything on the disk',
    async () => {
      const found = [...(await told(site, 'panel_offline')), ...(await told(site, 'comm_fail'))];
      return found.length >= 5 * 5 ? found : undefined;
    },
    { timeoutMs: 30_000 },
  );
  expect(rows).toHaveLength(5 * 5);
  expect(await told(site, 'fire')).toHaveLength(1);
  for (const { event } of rows) {
    expect(Date.parse(event.at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(event.at)).toBeLessThanOrEqual(during);
  }
  expect((await told(site, 'comm_fail')).map(({ event }) => event.status)).toEqual([
    'active',
    'restored',
    'active',
    'restored',
    'active',
  ]);
  expect(await site.store.gaps({ limit: 10 })).toEqual([]);
  expect(site.controller.view().troubles.map(({ losses }) => losses)).toEqual([500, 500, 500, 500, 500]);
});

it('the stored row of a loss carries the moment it began, and its end the moment of the end', async () => {
  const delayed = {
    ...plan,
    supervision: { ...plan.supervision, reportAfterMs: { ...plan.supervision.reportAfterMs, cloud: 300 } },
  };
  const site = await start({ plan: delayed });
  const before = Date.now();
  await site.controller.signals([cloud(false)]);
  const lostBy = Date.now();
  expect(site.controller.view().troubles.map(({ kind }) => kind)).toEqual(['comm_fail']);
  await eventually(
    'the loss on the disk',
    async () => ((await told(site, 'comm_fail')).length === 1 ? true : undefined),
    {
      timeoutMs: 30_000,
    },
  );
  const beforeEnd = Date.now();
  await site.controller.signals([cloud(true)]);
  const [loss, end] = await told(site, 'comm_fail');
  expect(loss?.event.status).toBe('active');
  expect(Date.parse(loss?.event.at ?? '')).toBeGreaterThanOrEqual(before);
  expect(Date.parse(loss?.event.at ?? '')).toBeLessThanOrEqual(lostBy);
  expect(end?.event.status).toBe('restored');
  expect(Date.parse(end?.event.at ?? '')).toBeGreaterThanOrEqual(beforeEnd);
  const [row] = await site.store.take('trouble', 0, 1);
  expect(row).toMatchObject({ wall: Date.parse(loss?.event.at ?? '') });
});

it('a restart in the middle of an outage keeps the moment it began', async () => {
  const delayed = {
    ...plan,
    supervision: { ...plan.supervision, reportAfterMs: { ...plan.supervision.reportAfterMs, cloud: 3_600_000 } },
  };
  const first = await start({ plan: delayed });
  await first.controller.signals([cloud(false)]);
  const since = first.controller.view().troubles[0]?.since;
  await first.stop();
  const second = await start({ plan: delayed, dir: first.dir });
  expect(second.controller.view().troubles).toMatchObject([{ kind: 'comm_fail', since }]);
  await second.controller.signals([{ ...cloud(false), urgent: true } as Signal]);
  const [loss] = await told(second, 'comm_fail');
  expect(Date.parse(loss?.event.at ?? '')).toBe(since);
  await second.controller.signals([cloud(true)]);
  expect((await told(second, 'comm_fail')).map(({ event }) => event.status)).toEqual(['active', 'restored']);
});

it.skipIf(!isRoot).each(['is full', 'has become read-only'])(
  'a flood of link changes on a card that %s makes five rows per link, none of them lost, and restores nothing falsely',
  { timeout: 120_000 },
  async (how) => {
    const disk = smallDisk('ext4', 24);
    const site = await startRig({ plan, dir: disk.dir });
    ends.push(() => site.stop());
    await site.controller.signals([panel('main', true), panel('s', true)]);
    if (how === 'is full') disk.fill();
    else disk.breakDown();
    const flood: Promise<void>[] = [];
    for (let i = 0; i < 500; i += 1) {
      for (const id of ['main', 's']) flood.push(site.controller.signals([panel(id, false), panel(id, true)]));
    }
    flood.push(site.controller.signals([cloud(false)]));
    flood.push(site.open('10', true));
    await eventually('the fire on the LAN', () => site.events.find(({ kind }) => kind === 'fire'), {
      timeoutMs: 30_000,
    });
    await Promise.all(flood);
    if (how === 'is full') disk.free();
    // A card that stays read-only: the rows leave from memory instead.
    const rows = async () => {
      const stored = [...(await told(site, 'panel_offline')), ...(await told(site, 'comm_fail'))];
      const direct = site.direct.filter(({ event }) => ['panel_offline', 'comm_fail'].includes(event.kind));
      return new Map([...stored, ...direct].map(({ event }) => [event.seq, `${event.kind} ${event.status}`]));
    };
    const found = await eventually(
      'every row on the disk or on its way from memory',
      async () => {
        const all = await rows();
        return all.size >= 11 ? [...all.values()].sort() : undefined;
      },
      { timeoutMs: 60_000 },
    );
    expect(found).toEqual([
      'comm_fail active',
      ...Array.from({ length: 6 }, () => 'panel_offline active'),
      ...Array.from({ length: 4 }, () => 'panel_offline restored'),
    ]);
    expect(site.controller.view().troubles.map(({ kind }) => kind)).toContain('comm_fail');
  },
);

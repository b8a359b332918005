import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import { createLossReport, type LossReport } from '#site/loss-report.ts';
import type { Lane } from '#site/model/index.ts';
import type { StorageLevel, Store } from '#site/store/index.ts';
import { type Rig, startRig } from './rig.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function rig(): Promise<Rig> {
  const started = await startRig();
  endings.push(() => started.remove());
  return started;
}

async function report(
  site: Rig,
  change: Partial<Store> = {},
  tell: Rig['controller']['tell'] = site.controller.tell,
): Promise<LossReport> {
  const { store } = site;
  const made = createLossReport({
    store: {
      gaps: (query) => store.gaps(query),
      gapsReported: (gaps) => store.gapsReported(gaps),
      numbersOf: (seqs) => store.numbersOf(seqs),
      storage: () => store.storage(),
      ...change,
    },
    tell,
    clock: systemClock(),
    log: pino({ level: 'silent' }),
    pauseMs: 50,
    againMs: 20,
  });
  await made.start(new AbortController().signal);
  endings.push(() => made.stop());
  return made;
}

const gap = (seqFrom: number, count: number, lane: Lane = 'activity') =>
  ({
    lane,
    seqFrom,
    seqTo: seqFrom + count - 1,
    count,
    why: 'memory_full',
    at: 1_795_896_000_000,
  }) as const;
const open = async (site: Rig) => (await site.store.gaps({ limit: 100, unreported: true })).length;
const lostEvents = async (site: Rig) =>
  (await site.store.events({ limit: 100 })).filter(({ event }) => event.kind === 'events_lost');

describe('lost events', () => {
  it('are told by one trouble event with count, lane, numbers and reason, and only once', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7));
    await site.store.addGap(gap(300, 5));
    const first = await report(site);
    await expect.poll(() => open(site)).toBe(0);
    await first.stop();
    await report(site);
    const told = await lostEvents(site);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      delivery: 'waiting',
      event: { class: 'trouble', status: 'active', contact_id: '624', sia: 'JO', source: 'bridge:siteward' },
    });
    expect(told[0]?.event.data.evidence).toMatchObject([
      { lane: 'activity', count: 7, seq_from: 100, seq_to: 106, why: 'memory_full' },
      { lane: 'activity', count: 5, seq_from: 300, seq_to: 304, why: 'memory_full' },
    ]);
    expect((await site.store.take('trouble', 0, 10)).map(({ seq }) => seq)).toContain(told[0]?.seq);
  });

  it('of alarms are marked in the transaction of the event that tells of them', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7, 'alarm'));
    await site.store.addGap(gap(300, 5));
    let openAfterEvent: number | undefined;
    // What is marked in bulk.db comes after it; by then nothing of site.db is open.
    site.hold = async ({ rows, reported = [] }) => {
      if (rows.length > 0 || reported.length === 0) return;
      expect(reported).toMatchObject([{ lane: 'activity', seqFrom: 300 }]);
      openAfterEvent = await open(site);
    };
    await report(site);
    await expect.poll(() => open(site)).toBe(0);
    expect(openAfterEvent).toBe(1);
    expect(await lostEvents(site)).toHaveLength(1);
  });

  it('of activity are told once more, and never not at all, when siteward ends between both files', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7));
    site.hold = ({ rows, reported = [] }) =>
      rows.length === 0 && reported.length > 0 ? new Promise(() => undefined) : Promise.resolve();
    const cut = await report(site);
    await expect.poll(async () => (await lostEvents(site)).length).toBe(1);
    await cut.stop();
    expect(await open(site)).toBe(1);
    site.hold = undefined;
    await report(site);
    await expect.poll(() => open(site)).toBe(0);
    expect(await lostEvents(site)).toHaveLength(2);
  });

  it('of silent alarms are told to the cloud by a silent event, and to nobody else (safety 4)', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7, 'alarm'));
    const lost = { ...gap(200, 1, 'alarm'), id: 2 ** 50 + 200, reported: false, silent: true } as const;
    const marked: unknown[] = [];
    site.hold = async ({ reported = [], silent, inputs }) => {
      const ours = reported.filter(({ id }) => id === lost.id);
      if (ours.length > 0) marked.push({ others: reported.length - ours.length, silent, inputs });
    };
    const gaps: Store['gaps'] = async (query) => [
      ...(query.withSilent === true && marked.length === 0 ? [lost] : []),
      ...(await site.store.gaps(query)),
    ];
    await report(site, { gaps });
    await expect.poll(() => marked.length).toBe(1);
    expect(marked).toEqual([{ others: 0, silent: true, inputs: [] }]);
    await expect.poll(async () => (await lostEvents(site)).length).toBe(1);
    expect((await lostEvents(site))[0]?.event.data.evidence).toMatchObject([{ count: 7 }]);
    const all = await site.store.events({ limit: 100, withSilent: true });
    const told = all.filter(({ event }) => event.kind === 'events_lost');
    expect(told.map(({ delivery }) => delivery)).toEqual(['waiting', 'waiting']);
    expect(told[0]?.event.data.evidence).toMatchObject([{ lane: 'alarm', count: 1 }]);
    expect(site.events.filter(({ kind }) => kind === 'events_lost')).toHaveLength(1);
  });

  it('stay open when the mark means a former record of the same number', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7));
    const [read] = await site.store.gaps({ limit: 1 });
    await site.store.gapsReported([{ lane: 'activity', id: read?.id ?? 0, seqFrom: 900, seqTo: 950 }]);
    expect(await open(site)).toBe(1);
  });

  it('count as told only when the event is on disk', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7));
    site.refuse = true;
    await report(site);
    await expect
      .poll(() => site.direct.some(({ event }) => event.kind === 'events_lost'), { timeout: 8000 })
      .toBe(true);
    expect(await open(site)).toBe(1);
    site.refuse = false;
    await expect.poll(() => open(site), { timeout: 10_000 }).toBe(0);
    expect(await lostEvents(site)).toHaveLength(1);
  });
});

describe('lost events that could not be told', () => {
  it('are told again when the telling failed', async () => {
    const site = await rig();
    await site.store.addGap(gap(100, 7, 'alarm'));
    let tries = 0;
    await report(site, {}, (news, reported) => {
      if (news.kind === 'loss') tries += 1;
      return news.kind === 'loss' && tries === 1
        ? Promise.reject(new Error('nobody listened'))
        : site.controller.tell(news, reported);
    });
    await expect.poll(() => open(site)).toBe(0);
    expect(await lostEvents(site)).toHaveLength(1);
  });

  it('are told when the disk is back, though memory was so full of other troubles that these gave way', async () => {
    const site = await rig();
    await site.store.addGap(gap(900_000, 7, 'alarm'));
    site.refuse = true;
    for (let i = 0; i < 1500; i += 1) {
      void site.open('9', true);
      void site.open('9', false);
    }
    await report(site);
    await expect.poll(() => site.commits.some(({ reported = [] }) => reported.length > 0)).toBe(true);
    site.refuse = false;
    const openOnes = () => site.store.gaps({ limit: 100, unreported: true });
    await expect
      .poll(async () => (await openOnes()).filter(({ seqFrom }) => seqFrom === 900_000), { timeout: 20_000 })
      .toEqual([]);
    expect((await lostEvents(site)).length).toBeGreaterThan(0);
  }, 40_000);
});

describe('the disk', () => {
  it('is told once per change, with its restore, and shows as a trouble meanwhile', async () => {
    const site = await rig();
    let level: StorageLevel = 'ok';
    const losses = await report(site, {
      storage: () => ({ level, freeBytes: 1, totalBytes: 2, reserveBytes: 0 }),
    });
    const told = () => site.events.filter(({ kind }) => kind === 'storage').map((e) => `${e.status} ${e.data.detail}`);
    const turn = async (next: StorageLevel, count: number) => {
      level = next;
      losses.wake();
      losses.wake();
      await expect.poll(() => told().length).toBe(count);
    };
    await turn('hard', 1);
    await turn('full', 2);
    expect(site.controller.view().troubles).toMatchObject([{ kind: 'storage', source: { kind: 'bridge' } }]);
    await turn('readonly', 3);
    await turn('ok', 4);
    expect(told()).toEqual(['active low', 'active full', 'active read_only', 'restored ok']);
    expect(site.controller.view().troubles).toEqual([]);
  });
});

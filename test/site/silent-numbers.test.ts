import { afterEach, describe, expect, it } from 'vitest';
import type { SiteEvent } from '#site/model/index.ts';
import { plan, type Rig, startRig } from './rig.ts';

const rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.remove();
});

async function rig(options: Parameters<typeof startRig>[0] = {}): Promise<Rig> {
  const started = await startRig({ plan: { ...plan, signalRestores: true }, ...options });
  rigs.push(started);
  return started;
}

/** Everything the store has, oldest first. */
async function stored(site: Rig) {
  const records = await site.store.events({ limit: 1000, withSilent: true });
  const found = new Map(records.map(({ seq, event }) => [seq, event]));
  return [...found].map(([seq, event]) => ({ seq, event })).sort((a, b) => a.seq - b.seq);
}

const numbersOf = (events: readonly SiteEvent[]) => events.map(({ seq }) => seq);
const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
const isCall = ({ kind }: SiteEvent) => kind === 'duress' || kind === 'panic_silent' || kind === 'holdup';
const press = async (site: Rig) => {
  await site.open('9', true);
  await site.open('9', false);
};

describe('the numbers of events (safety 4)', () => {
  it('go on by one, whatever calls for help came between', async () => {
    const site = await rig();
    await site.open('1', false);
    await site.command({ verb: 'arm' });
    await press(site);
    await site.command({ verb: 'disarm', code: 'duress' });
    await press(site);
    await site.command({ verb: 'arm', code: 'ok' });
    await site.command({ verb: 'disarm', code: 'duress' });
    expect(site.events.length).toBeGreaterThan(3);
    expect(numbersOf(site.events)).toEqual(from(site.events[0]?.seq ?? 0, site.events.length));
    expect(site.controller.view().seq).toBe(site.events.at(-1)?.seq);
    const all = await stored(site);
    const calls = all.filter(({ event }) => isCall(event));
    expect(calls.length).toBeGreaterThanOrEqual(4);
    for (const { seq, event } of calls) {
      const before = all.filter((one) => one.seq < seq && !isCall(one.event)).at(-1);
      expect(event.seq).toBe(before?.event.seq);
    }
    expect(new Set(all.map(({ event }) => event.event_id)).size).toBe(all.length);
    // The rows have no gap, by which losses are counted.
    expect(all.map(({ seq }) => seq)).toEqual(from(all[0]?.seq ?? 0, all.length));
  });

  it('go on by one over a clean stop that follows a call for help', async () => {
    const site = await rig();
    await site.open('1', false);
    await site.command({ verb: 'arm' });
    await press(site);
    const last = site.controller.view().seq;
    await site.stop();
    const next = await rig({ dir: site.dir });
    await next.command({ verb: 'disarm' });
    expect(numbersOf(next.events)).toEqual(from(last + 1, next.events.length));
    expect(next.events.length).toBeGreaterThan(0);
  });

  it('and its id stay the same when the commit of a call for help is written again', async () => {
    const site = await rig();
    site.refuse = true;
    void site.open('9', true);
    await expect
      .poll(() => site.commits.filter(({ rows }) => rows.some(({ silent }) => silent)).length)
      .toBeGreaterThan(1);
    site.refuse = false;
    await site.command({ verb: 'arm' });
    const tries = site.commits.flatMap(({ rows }) => rows.filter(({ silent }) => silent === true));
    expect(new Set(tries.map(({ eventId, event }) => `${eventId} ${event.seq}`)).size).toBe(1);
    expect((await stored(site)).filter(({ event }) => isCall(event))).toHaveLength(1);
  });

  it('name lost events as everybody knows them, and the gap record as the store does', async () => {
    const site = await rig();
    await press(site);
    await site.open('1', false);
    await site.command({ verb: 'arm' });
    const lost = (await stored(site)).at(-1);
    if (lost === undefined) throw new Error('nothing is stored');
    expect(lost.event.seq).toBeLessThan(lost.seq);
    const range = { lane: 'arming', seqFrom: lost.seq, seqTo: lost.seq } as const;
    await site.store.addGap({ ...range, count: 1, why: 'memory_full', at: 1 });
    const [gap] = await site.store.gaps({ limit: 1 });
    const losses = [{ ...range, record: gap?.id ?? 0, count: 1, why: 'memory_full', at: 1 } as const];
    const shown = { seqFrom: lost.event.seq, seqTo: lost.event.seq };
    await site.controller.tell({ kind: 'loss', losses: losses.map((one) => ({ ...one, ...shown })) }, [
      { ...range, id: gap?.id ?? 0 },
    ]);
    expect(site.events.at(-1)).toMatchObject({
      kind: 'events_lost',
      data: { evidence: [{ seq_from: lost.event.seq, seq_to: lost.event.seq }] },
    });
    expect(await site.store.gaps({ limit: 10, unreported: true })).toEqual([]);
  });
});

describe('the commit of a call for help alone', () => {
  it('is marked, and takes nothing of the input log with it', async () => {
    const site = await rig();
    await site.open('1', false);
    const before = site.commits.length;
    await press(site);
    await site.controller.signals([]);
    const calls = site.commits.slice(before).filter(({ rows }) => rows.length > 0);
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.map(({ silent, inputs }) => [silent, inputs])).toEqual(calls.map(() => [true, []]));
  });

  it('is none of its own where the decision has something that may be seen', async () => {
    const site = await rig();
    await site.open('1', false);
    await site.command({ verb: 'arm' });
    await site.command({ verb: 'disarm', code: 'duress' });
    const [commit] = site.commits.filter(({ rows }) => rows.some(({ silent }) => silent));
    expect(commit?.silent).toBeUndefined();
    expect(commit?.rows.some(({ silent }) => silent !== true)).toBe(true);
  });

  it('shows in no figure of what waits or came late', async () => {
    const site = await rig();
    const figures = async () => {
      const found = await site.metrics.getMetricsAsJSON();
      return found.filter(({ name }) => name.startsWith('siteward_commit_')).map(({ name, values }) => [name, values]);
    };
    const before = await figures();
    site.refuse = true;
    await site.open('9', true);
    expect(site.direct).toHaveLength(1);
    expect(await figures()).toEqual(before);
    expect(site.controller.health().facts?.waitingRows).toBe(0);
    site.refuse = false;
    await site.command({ verb: 'arm' });
  });
});

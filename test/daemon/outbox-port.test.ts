import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Delivery, DeliveryState } from '#cloud/delivery/index.ts';
import type { OutboxPort } from '#lan/http/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { localAsker } from '#site/model/index.ts';
import { type OutboxRow, openStore, type Store } from '#site/store/index.ts';
import type { House } from '../../src/daemon/house.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import { outboxPort } from '../../src/daemon/outbox-port.ts';
import { quiet } from '../cloud/support.ts';
import { row } from '../site/store/rows.ts';

const by = localAsker;

interface Started {
  readonly store: Store;
  readonly port: OutboxPort;
  readonly dir: string;
  /** What was logged. */
  readonly lines: readonly unknown[];
}

async function start(rows: readonly OutboxRow[], delivery?: Pick<Delivery, 'retried'>): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-port-'));
  const clock = systemClock();
  const store = openStore({ dir, clock, log: pino({ level: 'silent' }), metrics: new Registry() });
  await store.start(new AbortController().signal);
  onTestFinished(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await store.commit({ rows, arming: [], inputs: [] });
  const lines: unknown[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const port = outboxPort({
    house: { store, ...(delivery !== undefined && { delivery: delivery as Delivery }) },
    count: outboxCount({ store }),
    clock,
    log,
    note: async () => {},
    health: () => [],
    dir: () => dir,
    hasCloud: () => false,
  });
  return { store, port, dir, lines };
}

/** With a body as the encoder writes it: the payload is the public event. */
function sent(seq: number, change: Parameters<typeof row>[1] = {}): OutboxRow {
  const made = row(seq, change);
  return { ...made, body: JSON.stringify({ event_id: made.eventId, payload: made.event }) };
}

async function all(port: OutboxPort, query: Partial<Parameters<OutboxPort['waiting']>[0]> = {}): Promise<number[]> {
  const seqs: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page = await port.waiting({ limit: 37, after, ...query });
    seqs.push(...page.items.map(({ seq }) => seq));
    after = page.next_after;
  }
  return seqs;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('what waits comes oldest first over all lanes and pages, each once, silent events never', async () => {
  const rows = range(1, 700).map((seq) =>
    sent(seq, {
      lane: seq % 50 === 0 ? 'alarm' : seq <= 300 ? 'activity' : seq % 3 === 0 ? 'trouble' : 'arming',
      part: seq % 100 === 7 ? 'p2' : 'p1',
      ...(seq % 150 === 0 && { silent: true as const }),
    }),
  );
  const { port } = await start(rows);
  const shown = range(1, 700).filter((seq) => seq % 150 !== 0);
  expect(await all(port)).toEqual(shown);
  expect(await all(port, { lane: 'alarm' })).toEqual(shown.filter((seq) => seq % 50 === 0));
  expect(await all(port, { partition: 'p2', limit: 5 })).toEqual(shown.filter((seq) => seq % 100 === 7));
  expect(await all(port, { partition: 'p3' })).toEqual([]);
});

test('a backlog of one lane does not hide an old event of another', async () => {
  const rows = [
    ...range(1, 500).map((seq) => sent(seq, { lane: 'activity' })),
    sent(501, { lane: 'arming' }),
    sent(502),
  ];
  const { port } = await start(rows);
  expect(await all(port)).toEqual(range(1, 502));
});

test('a parked event is shown with what would be sent, and can be dropped once', async () => {
  const { store, port } = await start([sent(1), sent(2)]);
  const reason = 'the stored event does not fit its checksum';
  const verdict = { lane: 'alarm', verdict: 'parked', at: 1, tries: 0, status: undefined, reason } as const;
  await store.settle([{ ...verdict, seq: 1 }]);
  expect(await port.parkedOne(1)).toMatchObject({ seq: 1, reason, cloud_event: { event_id: 'event-1' } });
  await expect(port.parkedOne(2)).rejects.toMatchObject({ code: 'not_parked' });
  expect(await port.drop({ seqs: [1, 1], by })).toBe(1);
  await expect(port.drop({ seqs: [1], by })).rejects.toMatchObject({ code: 'not_parked' });
  expect(await port.gaps(10)).toMatchObject([{ seq_from: 1, seq_to: 1, count: 1, why: 'technician' }]);
});

test('one event that is not parked keeps all the others as they are', async () => {
  const { store, port } = await start(range(1, 120).map((seq) => sent(seq)));
  const verdict = {
    lane: 'alarm',
    verdict: 'parked',
    at: 1,
    tries: 2,
    status: 422,
    reason: '422 refused as invalid',
  } as const;
  await store.settle(range(1, 100).map((seq) => ({ ...verdict, seq })));
  await expect(port.retry({ seqs: range(1, 120), by })).rejects.toMatchObject({
    code: 'not_parked',
    message: expect.stringContaining('101, 102, 103'),
  });
  expect((await store.stats()).parked).toBe(100);
  expect(await port.retry({ seqs: range(1, 100), by })).toBe(100);
  expect((await store.stats()).parked).toBe(0);
});

test('after a retry that may have failed the delivery looks anew, and nothing is logged as done', async () => {
  const retried = vi.fn();
  const { store, port, lines } = await start([sent(1)], { retried });
  const verdict = { lane: 'alarm', verdict: 'parked', at: 1, tries: 2, status: 422, reason: 'no' } as const;
  await store.settle([{ ...verdict, seq: 1 }]);
  const retryParked = vi.spyOn(store, 'retryParked').mockRejectedValueOnce(new Error('the disk did not answer'));
  await expect(port.retry({ seqs: [1], by })).rejects.toThrow('the disk did not answer');
  expect(retried).toHaveBeenCalledTimes(1);
  expect(retryParked).toHaveBeenCalledWith([expect.objectContaining({ seq: 1, lane: 'alarm' })]);
  expect(lines).toEqual([]);
});

test('what was changed is logged with who asked, and what was not is not', async () => {
  const { store, port, lines } = await start([sent(1), sent(2)]);
  const verdict = { lane: 'alarm', verdict: 'parked', at: 1, tries: 2, status: 422, reason: 'no' } as const;
  await store.settle([1, 2].map((seq) => ({ ...verdict, seq })));
  await port.drop({ seqs: [2, 2], by });
  await port.retry({ seqs: [1], by: { source: 'lan', client: 'account:anna', address: '192.0.2.7' } });
  await expect(port.drop({ seqs: [1], by })).rejects.toMatchObject({ code: 'not_parked' });
  expect(lines).toMatchObject([
    { level: 40, actor: by.client, seqs: [2], count: 1, msg: 'parked events were given up' },
    { level: 40, actor: 'account:anna', seqs: [1], count: 1, msg: 'parked events were put back in line' },
  ]);
});

test('a store that is stopped is shown as such, with the disk beside it', async () => {
  const { store, port, dir } = await start([sent(1)]);
  await store.stop();
  const shown = await port.show();
  expect(shown).toMatchObject({ lanes: [], store: { state: 'down' }, link: { state: 'none' }, disk: { dir } });
  expect(shown.disk.files.map(({ name }) => name)).toEqual(['site.db', 'bulk.db']);
  expect(shown.disk.free_bytes).toBeGreaterThan(0);
});

test('the link and what is being sent are those of the delivery; of one that could not be made, the reason is told', async () => {
  const clock = manualClock();
  const state: DeliveryState = {
    ...{ link: 'down', breaker: 'open', trouble: 'unauthorized', reason: 'invalid_client', heldMs: 60_000 },
    ...{ nextTryMs: 1_200, inFlight: 1, inMemory: 9, aside: 2, direct: 3, perMin: 7.5, clockOffsetMs: 0 },
  };
  const house: House = { delivery: { state: () => state } as Delivery };
  const health = () => [{ name: 'delivery', state: 'down', reason: 'the key cannot be read' } as const];
  const count = outboxCount(house);
  const port = outboxPort({
    house,
    count,
    clock,
    log: quiet,
    note: async () => {},
    health,
    dir: tmpdir,
    hasCloud: () => true,
  });
  const { at, link, sending, hints } = await port.show();
  expect(link).toEqual({
    ...{ state: 'down', reason: 'invalid_client', trouble: 'unauthorized', breaker: 'open', next_try_s: 2 },
    since: new Date(Date.parse(at) - 60_000).toISOString(),
  });
  expect(sending).toEqual({ in_flight: 1, aside: 2, memory_only: 3, per_min: 7.5 });
  expect(hints).toContainEqual(expect.stringContaining('Correct the credentials'));
  house.delivery = undefined;
  expect((await port.show()).link).toEqual({ state: 'unknown', reason: 'the key cannot be read' });
});

/** Rows 3, 4 and 9 are silent: from then on numbers are below those of the rows. */
function withSilent(): OutboxRow[] {
  let hidden = 0;
  return range(1, 12).map((seq) => {
    const silent = [3, 4, 9].includes(seq);
    if (silent) hidden += 1;
    const made = row(seq, { lane: seq % 5 === 0 ? 'activity' : 'alarm', ...(silent && { silent: true as const }) });
    const event = { ...made.event, seq: seq - hidden };
    return { ...made, event, body: JSON.stringify({ event_id: made.eventId, payload: event }) };
  });
}

test('people see and give the numbers that have no gap at silent events', async () => {
  const { store, port, lines } = await start(withSilent());
  for (const limit of [1, 2, 37]) expect(await all(port, { limit })).toEqual(range(1, 9));
  const reason = '422 refused as invalid';
  const verdict = { lane: 'alarm', verdict: 'parked', at: 1, tries: 2, status: 422, reason } as const;
  await store.settle([2, 6, 8, 11].map((seq) => ({ ...verdict, seq })));
  await store.settle([{ ...verdict, lane: 'activity', seq: 5 }]);
  const listed = async (before?: number) =>
    (await port.parked({ limit: 2, ...(before !== undefined && { before }) })).map(({ seq }) => seq);
  expect([await listed(), await listed(6), await listed(3), await listed(2)]).toEqual([[8, 6], [4, 3], [2], []]);
  expect(await port.parkedOne(4)).toMatchObject({ seq: 4, event: { event_id: 'event-6', seq: 4 } });
  // Number 5 is row 7, which waits; no number belongs to a silent row.
  await expect(port.retry({ seqs: [4, 5], by })).rejects.toMatchObject({
    message: expect.stringContaining('parked: 5.'),
  });
  expect(await port.retry({ seqs: [4], by })).toBe(1);
  expect(await port.drop({ seqs: [8, 6], by })).toBe(2);
  expect(lines).toMatchObject([{ seqs: [4] }, { seqs: [8, 6] }]);
  expect(await port.gaps(10)).toMatchObject([{ seq_from: 6, seq_to: 8, count: 2 }]);
  expect(await store.gaps({ limit: 10 })).toMatchObject([{ seqFrom: 8, seqTo: 11, count: 2 }]);
  await expect(port.drop({ seqs: [8], by })).rejects.toMatchObject({ code: 'not_parked' });
  expect((await all(port)).sort((a, b) => a - b)).toEqual([1, 4, 5, 7, 9]);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type { OutboxPort } from '#lan/http/index.ts';
import { systemClock } from '#lib/clock.ts';
import { type OutboxRow, openStore, type Store } from '#site/store/index.ts';
import { outboxPort } from '../../src/daemon/outbox-port.ts';
import { row } from '../site/store/rows.ts';

const actor = 'technician';

interface Started {
  readonly store: Store;
  readonly port: OutboxPort;
  readonly dir: string;
}

async function start(rows: readonly OutboxRow[]): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-port-'));
  const clock = systemClock();
  const store = openStore({ dir, clock, log: pino({ level: 'silent' }), metrics: new Registry() });
  await store.start(new AbortController().signal);
  onTestFinished(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await store.commit({ rows, arming: [], inputs: [] });
  const port = outboxPort({ house: { store }, clock, health: () => [], dir: () => dir, hasCloud: () => false });
  return { store, port, dir };
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
  expect(await port.drop({ seqs: [1, 1], actor })).toBe(1);
  await expect(port.drop({ seqs: [1], actor })).rejects.toMatchObject({ code: 'not_parked' });
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
  await expect(port.retry({ seqs: range(1, 120), actor })).rejects.toMatchObject({
    code: 'not_parked',
    message: expect.stringContaining('101, 102, 103'),
  });
  expect((await store.stats()).parked).toBe(100);
  expect(await port.retry({ seqs: range(1, 100), actor })).toBe(100);
  expect((await store.stats()).parked).toBe(0);
});

test('a store that is stopped is shown as such, with the disk beside it', async () => {
  const { store, port, dir } = await start([sent(1)]);
  await store.stop();
  const shown = await port.show();
  expect(shown).toMatchObject({ lanes: [], store: { state: 'down' }, link: { state: 'none' }, disk: { dir } });
  expect(shown.disk.files.map(({ name }) => name)).toEqual(['site.db', 'bulk.db']);
  expect(shown.disk.free_bytes).toBeGreaterThan(0);
});

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  commitOf,
  metric,
  row,
  settled,
  startStore,
  type TestStore,
  temporaryDir,
  until,
  withFile,
} from './helpers.ts';

// Without a second copy of the alarms, as on a disk that is nearly full.
const limits = { alarmCopy: 'off' } as const;
const visible = [1, 2, 4, 5];
const silent = [3, 6];

/** Then no event of it can be found any more. */
function zeroRoot(path: string, table: string): void {
  const root = withFile(path, (db) =>
    db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table),
  );
  zeroPage(path, Number(root));
}

function zeroPage(path: string, page: number): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096), 0, 4096, (page - 1) * 4096);
  closeSync(fd);
}

const mended = (store: TestStore) =>
  until(() => store.health().state === 'degraded' && store.health().facts?.mending === false);

const shown = async (store: TestStore) => ({
  gaps: (await store.gaps({ limit: 10 })).map(({ id, seqFrom, seqTo, count }) => ({ id, seqFrom, seqTo, count })),
  lost: (await store.stats()).lost,
  metrics: [await metric(store, 'siteward_store_lost_total'), await metric(store, 'siteward_store_gaps')],
});
const hidden = async (store: TestStore) =>
  (await store.gaps({ limit: 10, withSilent: true, unreported: true })).filter((gap) => gap.silent === true);

async function damaged(dir: string, seqs: readonly number[]): Promise<TestStore> {
  const store = await startStore(dir, { limits });
  await store.commit(commitOf(seqs.map((seq) => row(seq, silent.includes(seq) ? { silent: true } : {}))));
  await store.stop();
  zeroRoot(join(dir, 'site.db'), 'ev');
  const again = await startStore(dir, { limits });
  await mended(again);
  return again;
}

it('silent alarms that a damaged file lost are counted where nobody sees it', async () => {
  const store = await damaged(temporaryDir(), [...visible, ...silent].sort());
  expect(await hidden(store)).toMatchObject([
    { lane: 'alarm', seqFrom: 3, seqTo: 6, count: 2, why: 'damage', reported: false, silent: true },
  ]);
  // As if they had never been.
  const without = await damaged(temporaryDir(), visible);
  expect(await shown(store)).toEqual(await shown(without));
  expect((await shown(store)).lost).toBe(4);
  expect(await hidden(without)).toEqual([]);
});

it('the count outlives further damage, takes no id of the others, and ends when it was told', async () => {
  const dir = temporaryDir();
  const first = await damaged(dir, silent);
  const next = first.recovery().nextSeq;
  expect((await shown(first)).gaps).toEqual([]);
  await first.commit(commitOf([row(next)]));
  await first.stop();
  zeroRoot(join(dir, 'site.db'), 'ev');
  const second = await startStore(dir, { limits });
  await mended(second);
  expect((await shown(second)).gaps).toEqual([{ id: 1, seqFrom: next, seqTo: next, count: 1 }]);
  const found = await hidden(second);
  expect(found).toMatchObject([{ seqFrom: 3, seqTo: 6, count: 2 }]);
  const after = second.recovery().nextSeq;
  await second.commit(commitOf([row(after, { silent: true })], { reported: found, silent: true }));
  expect(await hidden(second)).toEqual([]);
  expect(await second.gaps({ limit: 10, unreported: true })).toHaveLength(1);
  await second.settle([settled(after)]);
});

/** Every event with the number that everybody sees; `isSilent` says which are silent. */
async function withBadPage(isSilent: (seq: number) => boolean) {
  const dir = temporaryDir();
  const store = await startStore(dir, { limits });
  let hidden = 0;
  const made = Array.from({ length: 60 }, (_, index) => {
    const seq = index + 1;
    if (isSilent(seq)) hidden += 1;
    const of = row(seq, isSilent(seq) ? { silent: true } : {});
    return { ...of, body: JSON.stringify({ seq, pad: 'x'.repeat(400) }), event: { ...of.event, seq: seq - hidden } };
  });
  await store.commit(commitOf(made));
  await store.stop();
  const path = join(dir, 'site.db');
  const leaves = withFile(path, (db) =>
    db.prepare("SELECT pageno FROM dbstat WHERE name = 'ev' AND pagetype = 'leaf' ORDER BY path").pluck().all(),
  );
  zeroRoot(path, 'pend');
  zeroPage(path, Number(leaves[3]));
  const again = await startStore(dir, { limits });
  await mended(again);
  const kept = await again.take('alarm', 0, 100);
  const lost = made.filter(({ seq }) => !kept.some((one) => one.seq === seq));
  return { store: again, lost, gaps: (await shown(again)).gaps };
}

it('silent events on a damaged page of which nothing can be read stand in no count that anybody sees', async () => {
  const isSilent = (seq: number) => seq % 3 === 0;
  const { store, lost, gaps } = await withBadPage(isSilent);
  const [seen, unseen] = [
    lost.filter(({ silent: one }) => one !== true),
    lost.filter(({ silent: one }) => one === true),
  ];
  expect(unseen.length).toBeGreaterThan(0);
  // As many as there are numbers, and not one more.
  expect(gaps).toMatchObject([{ count: seen.length }]);
  const [from = 0, to = 0] = await store.numbersOf([gaps[0]?.seqFrom ?? 0, gaps[0]?.seqTo ?? 0]);
  expect([from, to]).toEqual([seen[0]?.event.seq, seen.at(-1)?.event.seq]);
  expect(await hidden(store)).toMatchObject([{ lane: 'alarm', count: unseen.length, why: 'damage' }]);
});

it('where there are none, every number of the page counts', async () => {
  const { store, lost, gaps } = await withBadPage(() => false);
  expect(lost.length).toBeGreaterThan(1);
  expect(gaps).toMatchObject([{ count: lost.length, seqFrom: lost[0]?.seq, seqTo: lost.at(-1)?.seq }]);
  expect(await hidden(store)).toEqual([]);
});

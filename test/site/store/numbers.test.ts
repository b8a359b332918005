import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { OutboxRow } from '#site/store/index.ts';
import {
  commitOf,
  makeStore,
  metric,
  parkedVerdict,
  row,
  settled,
  startStore,
  temporaryDir,
  withFile,
} from './helpers.ts';

/** A row with the number everybody sees. */
function numbered(seq: number, number: number, change: Partial<OutboxRow> = {}): OutboxRow {
  const made = row(seq, change);
  return { ...made, event: { ...made.event, seq: number } };
}
const silent = (seq: number, number: number, change: Partial<OutboxRow> = {}) =>
  numbered(seq, number, { silent: true, ...change });

/** Rows 3, 4 and 7 are silent, and one of the others lies in `bulk.db`. */
const rows = [
  numbered(1, 1),
  numbered(2, 2, { lane: 'activity' }),
  silent(3, 2),
  silent(4, 2),
  numbered(5, 3),
  numbered(6, 4, { lane: 'activity' }),
  silent(7, 4),
  numbered(8, 5),
];
const seqs = rows.map(({ seq }) => seq);
const numbers = rows.map(({ event }) => event.seq);

async function filled(dir = temporaryDir()) {
  const store = await startStore(dir);
  await store.commit(commitOf(rows));
  return store;
}

/** The event's text of a row is spoilt on disk. */
const spoil = (dir: string, seq: number) =>
  withFile(join(dir, 'site.db'), (db) => db.prepare("UPDATE ev SET event = 'x' || event WHERE seq = ?").run(seq));

describe('numbers that everybody sees', () => {
  it('lead to the first row that has them, and rows lead back', async () => {
    const store = await filled();
    expect(await store.numbersOf(seqs)).toEqual(numbers);
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map((number) => store.rowOf(number)))).toEqual([1, 2, 5, 6, 8, 9]);
    expect(await store.rowOf(900)).toBe(900);
  });

  it('lead to the event of exactly that number, parked or not, and never to a silent one (safety 4)', async () => {
    const store = await filled();
    const found = async (numbers: readonly number[]) => ({
      events: (await Promise.all(numbers.map((number) => store.eventOf(number)))).map((one) => one?.seq),
      parked: (await Promise.all(numbers.map((number) => store.parkedOf(number)))).map((one) => one?.seq),
    });
    const none = Array.from({ length: 8 }, () => undefined);
    const asked = [0, 1, 2, 3, 4, 5, 6, 900];
    const all = [undefined, 1, 2, 5, 6, 8, undefined, undefined];
    expect(await found(asked)).toEqual({ events: all, parked: none });
    await store.settle(rows.map(({ seq, lane }) => ({ ...parkedVerdict(seq), lane })));
    expect(await found(asked)).toEqual({ events: all, parked: all });
    await store.dropParked([{ seq: 5, lane: 'alarm' }]);
    expect((await found([3])).parked).toEqual([undefined]);
  });

  it('are those of their rows where nothing is silent, as an older siteward wrote them', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(commitOf([row(5), row(6, { silent: true }), row(9)]));
    expect(await store.numbersOf([5, 6, 7, 9])).toEqual([5, 6, 7, 9]);
    expect(await store.rowOf(7)).toBe(9);
  });

  it('of rows that are gone are told by those around them', async () => {
    const store = await filled();
    await store.settle([parkedVerdict(5)]);
    await store.dropParked([{ seq: 5, lane: 'alarm' }]);
    expect(await store.numbersOf([5])).toEqual([3]);
    // The next row that is there.
    expect(await store.rowOf(3)).toBe(6);
  });

  it('go on after a clean stop, and after one that lost its last words further, never back', async () => {
    const dir = temporaryDir();
    const first = await filled(dir);
    await first.stop();
    const second = await startStore(dir);
    expect(second.recovery()).toMatchObject({ nextSeq: 9, lastSeq: 8, hidden: 3 });
    await second.commit(commitOf([silent(9, 5)]));
    await second.stop();
    // As after a kill: what was set aside stays so.
    withFile(join(dir, 'site.db'), (db) => db.exec("UPDATE meta SET v = 100008 WHERE k = 'reserved'"));
    const third = await startStore(dir);
    // As at row 8, at which they were set aside, whatever came since.
    expect(third.recovery()).toMatchObject({ nextSeq: 100_009, lastSeq: 9, hidden: 3 });
    expect(100_009 - 3).toBe(5 + 100_001);
  });

  it('do not go back when the newest texts cannot be read, or say something else', async () => {
    for (const damage of ['not JSON', '{"seq":1}', '{"seq":99999}', '{"seq":-4}']) {
      const dir = temporaryDir();
      const store = await filled(dir);
      await store.stop();
      withFile(join(dir, 'site.db'), (db) => db.prepare('UPDATE ev SET event = ? WHERE seq = 8').run(damage));
      const { nextSeq, hidden } = (await startStore(dir)).recovery();
      expect(nextSeq - hidden, damage).toBe(6);
    }
    const dir = temporaryDir();
    const store = await filled(dir);
    await store.stop();
    for (const file of ['site.db', 'bulk.db'])
      withFile(join(dir, file), (db) => db.exec("UPDATE ev SET event = 'not JSON'"));
    expect((await startStore(dir)).recovery()).toMatchObject({ nextSeq: 9, hidden: 0 });
  });

  it('stand in lists also where the text of an event cannot be read', async () => {
    const dir = temporaryDir();
    const store = await filled(dir);
    await store.settle([parkedVerdict(5)]);
    await store.stop();
    spoil(dir, 5);
    const again = await startStore(dir);
    const listed = await again.events({ limit: 10 });
    expect(listed.map(({ event }) => event.seq)).toEqual([5, 4, 3, 2, 1]);
    expect(listed[2]?.event.kind).toBe('unreadable');
    expect((await again.parked({ limit: 10 })).map(({ event }) => event.seq)).toEqual([3]);
    expect(await again.rowOf(3)).toBe(5);
  });

  it('come back with a damaged file', async () => {
    const dir = temporaryDir();
    const store = await filled(dir);
    await store.stop();
    withFile(join(dir, 'site.db'), (db) => {
      db.unsafeMode(true);
      db.pragma('writable_schema = ON');
      db.exec("UPDATE sqlite_schema SET sql = 'CREATE TABLE core(x)' WHERE name = 'core'");
    });
    const again = makeStore(dir);
    await again.start(new AbortController().signal);
    await expect.poll(async () => (await again.events({ limit: 10 })).length, { timeout: 20_000 }).toBe(5);
    expect((await again.events({ limit: 10, withSilent: true })).map(({ event }) => event.seq)).toEqual(
      numbers.toReversed(),
    );
    const { nextSeq, hidden } = again.recovery();
    expect(nextSeq - hidden).toBeGreaterThan(5);
  });
});

describe('what concerns silent events alone', () => {
  it('leaves no trace in what gives way at the cap of the history', async () => {
    const lived = async (dir: string, withSilent: boolean) => {
      const limits = { siteHistory: 5 };
      const trimmed: number[] = [];
      let store = await startStore(dir, { limits });
      for (let seq = 1; seq <= 16; seq += 1) {
        const isSilent = seq % 4 === 0;
        if (isSilent && !withSilent) continue;
        await store.commit(commitOf([isSilent ? silent(seq, 0) : numbered(seq, seq)]));
        await store.settle([settled(seq)]);
        await store.stats();
        if (!isSilent) trimmed.push(await metric(store, 'siteward_store_trimmed_total', { what: 'history' }));
        if (seq !== 10) continue;
        await store.stop();
        store = await startStore(dir, { limits });
      }
      return { trimmed, shown: (await store.events({ limit: 100 })).map(({ seq }) => seq) };
    };
    const [quiet, loud] = [await lived(temporaryDir(), false), await lived(temporaryDir(), true)];
    expect(loud).toEqual(quiet);
    expect(quiet.shown).toEqual([15, 14, 13, 11, 10]);
    expect(quiet.trimmed).toEqual([0, 0, 0, 0, 0, 1, 2, 3, 1, 2, 3, 4]);
  });

  it('stands in no count or time of transactions, and what goes with something else in one', async () => {
    const clock = manualClock();
    const store = await startStore(temporaryDir(), { clock });
    const counts = async () => {
      // A read comes after the report of what went before it.
      await store.stats();
      const { lastCommit } = store.health().facts ?? {};
      const names = [
        'siteward_store_commits_total',
        'siteward_store_commit_rows_count',
        'siteward_store_commit_rows_sum',
      ];
      const all = [...names, 'siteward_store_commit_seconds_count'];
      return { lastCommit, counts: await Promise.all(all.map((name) => metric(store, name))) };
    };
    const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as const;
    await store.commit(commitOf([row(1)]));
    const before = await counts();
    clock.advance(1000);
    await store.commit(commitOf([silent(2, 1, { media })], { state: ['{}'], silent: true }));
    await store.updateMedia([
      { seq: 2, lane: 'alarm', index: 0, at: 1, state: 'failed', reason: 'no camera', silent: true },
    ]);
    await store.settle([{ ...settled(2), silent: true }]);
    expect(await counts()).toEqual(before);
    await Promise.all([
      store.commit(commitOf([silent(3, 1)], { silent: true })),
      store.commit(commitOf([numbered(4, 2)])),
    ]);
    expect((await counts()).counts).toEqual(before.counts.map((count) => count + 1));
    expect((await store.events({ limit: 10, withSilent: true })).map(({ seq }) => seq)).toEqual([4, 3, 2, 1]);
  });
});

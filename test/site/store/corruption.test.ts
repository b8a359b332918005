import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Lane } from '#site/model/index.ts';
import {
  commitOf,
  metric,
  parkedVerdict,
  row,
  settled,
  startStore,
  type TestStore,
  temporaryDir,
  until,
  wide,
  withFile,
} from './helpers.ts';

const pageBytes = 4096;

function overwrite(path: string, at: number, bytes: Buffer): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}
const zeroPage = (path: string, page: number) => overwrite(path, page * pageBytes, Buffer.alloc(pageBytes));

/** Page numbers from 0. */
const rootOf = (path: string, name: string) =>
  withFile(path, (db) => Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name)) - 1);

/** A leaf page in the middle of the events: the one that holds this event's body. */
function pageOf(path: string, seq: number): number {
  const at = readFileSync(path).indexOf(`"event_id":"event-${seq}"`);
  return Math.floor(at / pageBytes);
}

async function waiting(store: TestStore, lane: Lane = 'alarm'): Promise<number[]> {
  const seqs: number[] = [];
  for (;;) {
    const rows = await store.take(lane, seqs.at(-1) ?? 0, 1000);
    if (rows.length === 0) return seqs;
    seqs.push(...rows.map(({ seq }) => seq));
  }
}

const mended = async (store: TestStore) => {
  await until(() => store.health().state === 'degraded' && store.health().facts?.mending === false);
};
const lostOf = async (store: TestStore) =>
  (await store.gaps({ limit: 100 })).reduce((sum, { count }) => sum + count, 0);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** 400 alarms, of which 1 to 50 are delivered, 51 is parked; 52 to 400 wait, with pictures at 60. */
async function filled(dir: string, limits = { alarmCopy: 'off' as 'off' | 'written' }): Promise<void> {
  const store = await startStore(dir, { limits });
  const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as never;
  await store.commit(
    commitOf(
      range(1, 400).map((seq) => row(seq, seq === 60 ? { media } : {})),
      { state: ['{}'] },
    ),
  );
  await store.settle(range(1, 50).map((seq) => settled(seq)));
  await store.settle([parkedVerdict(51)]);
  await store.addAnchor({ boot: 'boot-1', mono: 1, wall: 2, source: 'ntp' });
  await store.stop();
}

describe('site.db found damaged at start', () => {
  it('with a zeroed page of events loses the rows of that page only, and counts them in a gap record', async () => {
    const dir = temporaryDir();
    await filled(dir);
    zeroPage(join(dir, 'site.db'), pageOf(join(dir, 'site.db'), 200));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await store.commit(commitOf([row(store.recovery().nextSeq)]));
    await mended(store);
    const seqs = await waiting(store);
    expect(seqs).not.toContain(200);
    expect(seqs.length).toBeGreaterThan(330);
    expect(await lostOf(store)).toBe(349 + 1 - seqs.length);
    expect((await store.gaps({ limit: 10 }))[0]).toMatchObject({ lane: 'alarm', why: 'damage', reported: false });
    expect((await store.parked({ limit: 10 })).map(({ seq }) => seq)).toEqual([51]);
    expect(await store.media(['planned'], 10)).toMatchObject([{ seq: 60, camera: 'yard' }]);
    expect(await store.anchors()).toHaveLength(1);
    expect(await metric(store, 'siteward_store_restored_total')).toBe(seqs.length);
  });

  it.each(['pend', 'pend_order', 'done', 'parked', 'media', 'arming', 'core', 'meta', 'audit'])(
    'with the root page of %s zeroed keeps every event that waits or is parked',
    async (table) => {
      const dir = temporaryDir();
      await filled(dir);
      zeroPage(join(dir, 'site.db'), rootOf(join(dir, 'site.db'), table));
      const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
      await mended(store);
      const seqs = await waiting(store);
      expect(seqs).toEqual(expect.arrayContaining(range(52, 400)));
      // Where nobody knows that it was refused it is sent again.
      const parked = (await store.parked({ limit: 10 })).map(({ seq }) => seq);
      expect([...parked, ...seqs]).toContain(51);
      expect((await store.take('alarm', 99, 1))[0]).toMatchObject({
        seq: 100,
        eventId: 'event-100',
        body: row(100).body,
      });
      expect(await lostOf(store)).toBe(0);
    },
  );

  it('whose plan to read an older one is lost with it has that one read anew', async () => {
    const dir = temporaryDir();
    const path = join(dir, 'site.db');
    await filled(dir);
    zeroPage(path, rootOf(path, 'parked'));
    const first = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await mended(first);
    await first.stop();
    // As if it had ended half way.
    rmSync(`${path}.corrupt-1.read`);
    withFile(path, (db) => db.exec('DELETE FROM pend WHERE seq > 300; DELETE FROM ev WHERE seq > 300'));
    zeroPage(path, rootOf(path, 'meta'));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await mended(store);
    expect(await waiting(store)).toEqual(expect.arrayContaining(range(51, 400)));
  });

  it.each([
    ['a first page of zeros', (path: string) => zeroPage(path, 0)],
    ['a header of garbage', (path: string) => overwrite(path, 0, Buffer.alloc(100, 0x5a))],
  ])('with %s reads it with the first page of a new file', async (_, damage) => {
    const dir = temporaryDir();
    await filled(dir);
    damage(join(dir, 'site.db'));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    expect(store.recovery().nextSeq).toBeGreaterThan(400);
    await mended(store);
    expect(await waiting(store)).toEqual(range(52, 400));
    expect(existsSync(join(dir, 'site.db.corrupt-1.page1'))).toBe(true);
  });

  it('cut in half brings back what lies in the first half, and the rest from the second copy of the alarms', async () => {
    for (const [alarmCopy, all] of [
      ['off', false],
      ['written', true],
    ] as const) {
      const dir = temporaryDir();
      await filled(dir, { alarmCopy });
      truncateSync(join(dir, 'site.db'), Math.floor(statSync(join(dir, 'site.db')).size / 2 / pageBytes) * pageBytes);
      const store = await startStore(dir, { limits: { alarmCopy } });
      await mended(store);
      const seqs = await waiting(store);
      if (all) expect(seqs).toEqual(expect.arrayContaining(range(52, 400)));
      else expect(seqs.length + (await lostOf(store))).toBeGreaterThanOrEqual(349);
      await store.stop();
    }
  });

  it("with the events' own root page gone, or the file itself, has every waiting alarm from the second copy", async () => {
    for (const damage of [
      (path: string) => zeroPage(path, rootOf(path, 'ev')),
      (path: string) => truncateSync(path, 0),
      (path: string) => rmSync(path),
    ]) {
      const dir = temporaryDir();
      await filled(dir, { alarmCopy: 'written' });
      damage(join(dir, 'site.db'));
      const store = await startStore(dir);
      await until(async () => (await store.stats()).pending.alarm >= 349);
      expect(await waiting(store)).toEqual(expect.arrayContaining(range(52, 400)));
      expect(await lostOf(store)).toBe(0);
      await store.stop();
    }
  });

  it('with a flipped bit in a body parks that event with the reason and sends the others', async () => {
    const dir = temporaryDir();
    await filled(dir);
    const path = join(dir, 'site.db');
    const bytes = readFileSync(path);
    const at = bytes.indexOf('"event_id":"event-200"') + 14;
    overwrite(path, at, Buffer.from([(bytes[at] ?? 0) ^ 1]));
    zeroPage(path, rootOf(path, 'audit'));
    const store = await startStore(dir);
    await mended(store);
    expect(await waiting(store)).toEqual(range(52, 400).filter((seq) => seq !== 200));
    const parked = await store.parked({ limit: 10 });
    expect(parked.find(({ seq }) => seq === 200)?.reason).toMatch(/checksum/);
  });

  it('tells what is missing when it is empty and there is no second copy', async () => {
    const dir = temporaryDir();
    await filled(dir);
    truncateSync(join(dir, 'site.db'), 0);
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    expect(store.recovery()).toMatchObject({ lost: true, epoch: 2 });
    expect(await store.gaps({ limit: 10 })).toMatchObject([
      // The refused one among them.
      { lane: 'alarm', seqFrom: 51, seqTo: 400, count: 350, why: 'damage', reported: false },
    ]);
  });

  it('tells what is missing when it is empty and the second copy could not be taken in', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf(range(1, 100).map((seq) => wide(seq))));
    await first.stop();
    truncateSync(join(dir, 'site.db'), 0);
    const store = await startStore(dir, { limits: { siteBytes: 400_000 } });
    expect(await waiting(store)).toEqual([]);
    expect(await store.gaps({ limit: 10 })).toMatchObject([{ lane: 'alarm', count: 100, why: 'damage' }]);
  });

  it('tells what is missing when an older copy was put back', async () => {
    const dir = temporaryDir();
    await filled(dir);
    const copy = readFileSync(join(dir, 'site.db'));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await store.commit(commitOf(range(401, 420).map((seq) => row(seq))));
    await store.stop();
    writeFileSync(join(dir, 'site.db'), copy);
    const again = await startStore(dir, { limits: { alarmCopy: 'off' } });
    expect(await again.gaps({ limit: 10 })).toMatchObject([{ lane: 'alarm', seqFrom: 401, seqTo: 420, count: 20 }]);
    expect(again.recovery().nextSeq).toBeGreaterThan(420);
    await again.stop();
    expect(await (await startStore(dir)).gaps({ limit: 10 })).toHaveLength(1);
  });
});

/** Puts `after` in place of `before`, which must stand in the file exactly once. */
function alter(path: string, before: string, after: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf(before);
  expect([at > 0, bytes.indexOf(before, at + 1), after.length]).toEqual([true, -1, before.length]);
  overwrite(path, at, Buffer.from(after));
}

describe('a flipped bit in what a file says of its own tables', () => {
  it.each([
    [
      'a column of done',
      'CREATE TABLE done(seq INTEGER PRIMARY KEY, at',
      'CREATE TABLE done(seq INTEGER PRIMARY KEY, it',
    ],
    ['a column of the events', 'boot TEXT NOT NULL, clock TEXT', 'boot TEXT NOT NULL, cloak TEXT'],
    [
      'a column of gap',
      'why TEXT NOT NULL, at REAL NOT NULL, reported',
      'why TEXT NOT NULL, au REAL NOT NULL, reported',
    ],
  ])('counts as damage of site.db, and nothing is lost: %s', async (_, before, after) => {
    const dir = temporaryDir();
    await filled(dir);
    alter(join(dir, 'site.db'), before, after);
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await store.commit(commitOf([row(store.recovery().nextSeq)]));
    await mended(store);
    expect(store.recovery().lost).toBe(true);
    expect(await waiting(store)).toEqual(expect.arrayContaining(range(52, 400)));
    expect((await store.take('alarm', 99, 1))[0]).toMatchObject({ seq: 100, body: row(100).body });
    expect((await store.parked({ limit: 100 })).map(({ seq }) => seq)).toEqual([51]);
    expect(await lostOf(store)).toBe(0);
    expect(readdirSync(dir)).toContain('site.db.corrupt-1');
  });

  it('does not keep the second copy from being taken', async () => {
    const dir = temporaryDir();
    await filled(dir, { alarmCopy: 'written' });
    const path = join(dir, 'site.db');
    alter(path, 'CREATE TABLE done(seq INTEGER PRIMARY KEY, at', 'CREATE TABLE done(seq INTEGER PRIMARY KEY, it');
    const store = await startStore(dir);
    await mended(store);
    // The refused one too: the second copy does not know of that, and to send it once more is harmless.
    expect(await waiting(store)).toEqual(range(51, 400));
  });

  it('counts as damage of site.db when a table is gone', async () => {
    const dir = temporaryDir();
    await filled(dir);
    withFile(join(dir, 'site.db'), (db) => db.exec('DROP TABLE gap'));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await mended(store);
    expect(await waiting(store)).toEqual(range(52, 400));
    expect(await lostOf(store)).toBe(0);
  });

  it('counts as damage of bulk.db', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf(range(1, 100).map((seq) => row(seq, { lane: 'activity' }))));
    await first.stop();
    alter(
      join(dir, 'bulk.db'),
      'CREATE TABLE inputs(id INTEGER PRIMARY KEY, line',
      'CREATE TABLE inputs(id INTEGER PRIMARY KEY, lije',
    );
    const store = await startStore(dir);
    await mended(store);
    expect(await waiting(store, 'activity')).toEqual(range(1, 100));
    expect(await lostOf(store)).toBe(0);
    expect(readdirSync(dir)).toContain('bulk.db.corrupt-1');
  });
});

describe('damage met while running', () => {
  it('sets site.db aside, keeps the state, and brings the waiting events back', async () => {
    const dir = temporaryDir();
    const path = join(dir, 'site.db');
    let restored = 0;
    const first = await startStore(dir, { limits: { alarmCopy: 'off' } });
    for (const seq of range(1, 20)) {
      await first.commit(
        commitOf(
          range(seq * 100, seq * 100 + 99).map((one) => wide(one)),
          { state: [`{"seq":${seq}}`] },
        ),
      );
    }
    await first.stop();
    const store = await startStore(dir, { limits: { alarmCopy: 'off' }, onRestored: () => (restored += 1) });
    const pages = Math.floor(statSync(path).size / pageBytes);
    for (const page of range(Math.floor(pages / 2), pages - 1)) zeroPage(path, page);
    const commit = commitOf([row(5000)]);
    await until(async () => {
      await waiting(store).catch(() => undefined);
      return existsSync(join(dir, 'site.db.corrupt-1'));
    });
    await until(() =>
      store.commit(commit).then(
        () => true,
        () => false,
      ),
    );
    await mended(store);
    const seqs = await waiting(store);
    expect(seqs).toContain(5000);
    expect(seqs).toContain(100);
    expect(restored).toBeGreaterThan(0);
    await store.stop();
    expect((await startStore(dir)).recovery()).toMatchObject({ lost: false, state: '{"seq":20}' });
  });

  it('in bulk.db does not touch site.db, whoever meets it', async () => {
    const dir = temporaryDir();
    const path = join(dir, 'bulk.db');
    const first = await startStore(dir);
    await first.commit(commitOf([row(1)], { state: ['{}'] }));
    for (const seq of range(1, 20)) {
      await first.commit(commitOf(range(seq * 100, seq * 100 + 99).map((one) => wide(one, { lane: 'activity' }))));
    }
    await first.stop();
    const store = await startStore(dir);
    const pages = Math.floor(statSync(path).size / pageBytes);
    // In one go: the store may meet the first pages at once.
    overwrite(path, 3 * pageBytes, Buffer.alloc((pages - 3) * pageBytes, 0x5a));
    await until(async () => {
      await store.events({ limit: 1000, class: 'alarm' }).catch(() => undefined);
      return existsSync(join(dir, 'bulk.db.corrupt-1'));
    });
    expect(existsSync(join(dir, 'site.db.corrupt-1'))).toBe(false);
    expect(await waiting(store)).toEqual([1]);
    await store.commit(commitOf([row(6000, { lane: 'activity' })]));
    await mended(store);
    expect(await waiting(store, 'activity')).toContain(6000);
  });
});

describe('a damaged bulk.db', () => {
  it('is found in the background after the start, and gives back what can be read', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf(range(1, 500).map((seq) => row(seq, { lane: 'activity' }))));
    await first.memory('panels').set('a', 'b');
    await first.stop();
    zeroPage(join(dir, 'bulk.db'), pageOf(join(dir, 'bulk.db'), 250));
    const store = await startStore(dir);
    await until(() => existsSync(join(dir, 'bulk.db.corrupt-1')));
    await mended(store);
    const seqs = await waiting(store, 'activity');
    expect(seqs.length).toBeGreaterThan(480);
    expect(seqs.length + (await lostOf(store))).toBe(500);
    expect(await store.memory('panels').get('a')).toBe('b');
  });
});

describe('what a room has remembered in a bulk.db that was damaged', () => {
  it('is not known until it has been read back, which is not "never written"', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    for (let seq = 1; seq <= 20_000; seq += 1000)
      await first.commit(commitOf(range(seq, seq + 999).map((n) => row(n, { lane: 'activity' }))));
    await first.memory('dc09').set('opening', 'one');
    await first.stop();
    zeroPage(join(dir, 'bulk.db'), pageOf(join(dir, 'bulk.db'), 250));
    const store = await startStore(dir);
    const said: unknown[] = [];
    await until(() => existsSync(join(dir, 'bulk.db.corrupt-1')));
    while (said.at(-1) !== 'one') {
      said.push(
        await store
          .memory('dc09')
          .get('opening')
          .catch(() => 'unknown'),
      );
    }
    await mended(store);
    expect(new Set(said)).toEqual(new Set(['unknown', 'one']));
    expect(await store.memory('dc09').get('other')).toBeUndefined();
  });
});

describe('what was set aside', () => {
  it('is cut to 64 MiB when it has been read to its end', async () => {
    const dir = temporaryDir();
    await filled(dir);
    zeroPage(join(dir, 'site.db'), rootOf(join(dir, 'site.db'), 'audit'));
    truncateSync(join(dir, 'site.db'), 80 * 1024 ** 2);
    overwrite(join(dir, 'site.db'), 0, Buffer.alloc(100));
    const store = await startStore(dir);
    await mended(store);
    await until(() => statSync(join(dir, 'site.db.corrupt-1')).size === 64 * 1024 ** 2);
    expect(await waiting(store)).toEqual(range(52, 400));
    expect(readdirSync(dir)).toContain('site.db.corrupt-1.page1');
  });
});

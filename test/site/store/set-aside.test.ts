import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commitOf, row, settled, startStore, temporaryDir, until, withFile } from './helpers.ts';

const alarms = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => row(from + index));

function damage(path: string): void {
  withFile(path, (db) => {
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.exec("UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'audit'");
  });
}

it('a set that was read to its end is never read again, not even when site.db is deleted beside it', async () => {
  const dir = temporaryDir();
  const limits = { alarmCopy: 'off' } as const;
  const path = join(dir, 'site.db');
  const first = await startStore(dir, { limits });
  await first.commit(commitOf(alarms(1, 20)));
  await first.stop();
  damage(path);
  const second = await startStore(dir, { limits });
  await until(() => existsSync(`${path}.corrupt-1.read`));
  const restored = (await second.take('alarm', 0, 100)).map(({ seq }) => seq);
  expect(restored).toHaveLength(20);
  await second.settle(restored.map((seq) => settled(seq)));
  await second.stop();
  for (const suffix of ['', '-wal']) rmSync(path + suffix, { force: true });
  const third = await startStore(dir, { limits });
  await until(() => third.health().facts?.mending === false);
  expect(await third.take('alarm', 0, 100)).toEqual([]);
  expect(await third.gaps({ limit: 10 })).toEqual([]);
});

it('a third damaged file takes none away that was not read to its end', async () => {
  const dir = temporaryDir();
  const limits = { alarmCopy: 'off' } as const;
  const path = join(dir, 'site.db');
  const first = await startStore(dir, { limits });
  await first.commit(commitOf(alarms(1, 60)));
  await first.stop();
  const progress = { top: 60, last: 60, phase: 0, next: 0, events: 0, parked: 0, unreadable: [] };
  const plan = [2, 1].map((number) => ({ kept: `site.db.corrupt-${number}`, ...progress }));
  for (const [name, from, to] of [
    [`${path}.corrupt-1`, 1, 20],
    [`${path}.corrupt-2`, 21, 40],
    [path, 41, 60],
  ] as const) {
    if (name !== path) copyFileSync(path, name);
    withFile(name, (db) => {
      for (const table of ['ev', 'pend'])
        db.prepare(`DELETE FROM ${table} WHERE seq NOT BETWEEN ? AND ?`).run(from, to);
      db.prepare("INSERT INTO meta(k, v) VALUES('salvage', ?)").run(JSON.stringify(name === path ? plan : []));
    });
  }
  damage(path);
  const store = await startStore(dir, { limits });
  await until(() => existsSync(`${path}.corrupt-1.read`));
  expect((await store.take('alarm', 0, 100)).map(({ seq }) => seq)).toEqual(alarms(1, 60).map(({ seq }) => seq));
  expect(await store.gaps({ limit: 10 })).toEqual([]);
});

it('a set of which nothing at all can be read is counted as what the side file knows to have waited in it', async () => {
  const dir = temporaryDir();
  const limits = { alarmCopy: 'off' } as const;
  const path = join(dir, 'site.db');
  const first = await startStore(dir, { limits });
  await first.commit(commitOf(alarms(1, 20)));
  await first.settle([1, 2, 3].map((seq) => settled(seq)));
  await first.stop();
  writeFileSync(path, 'no database');
  const store = await startStore(dir, { limits });
  await until(() => existsSync(`${path}.corrupt-1.read`));
  expect(await store.gaps({ limit: 10 })).toMatchObject([
    { lane: 'alarm', seqFrom: 4, seqTo: 20, count: 17, why: 'damage' },
  ]);
});

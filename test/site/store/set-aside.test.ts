import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commitOf, row, settled, startStore, temporaryDir, until, withFile } from './helpers.ts';

it('a set that was read to its end is never read again, not even when site.db is deleted beside it', async () => {
  const dir = temporaryDir();
  const limits = { alarmCopy: 'off' } as const;
  const path = join(dir, 'site.db');
  const first = await startStore(dir, { limits });
  await first.commit(commitOf(Array.from({ length: 20 }, (_, index) => row(index + 1))));
  await first.stop();
  withFile(path, (db) => {
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.exec("UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'audit'");
  });
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

import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commitOf, row, startStore, temporaryDir, until } from './helpers.ts';

it('a power cut while a file is set aside, its log gone before it, costs none of what only the log held', async () => {
  const [former, dir] = [join(temporaryDir(), 'state'), join(temporaryDir(), 'state')];
  const limits = { alarmCopy: 'off' } as const;
  const first = await startStore(former, { limits });
  await first.commit(commitOf(Array.from({ length: 20 }, (_, index) => row(index + 1))));
  // As it lies on the disk of a store that runs: the rows are in the log.
  cpSync(former, dir, { recursive: true });
  const path = join(dir, 'site.db');
  expect(existsSync(`${path}-wal`)).toBe(true);
  renameSync(`${path}-wal`, `${path}.corrupt-1-wal`);
  const store = await startStore(dir, { limits });
  await until(async () => (await store.take('alarm', 0, 100)).length === 20);
  expect((await store.take('alarm', 0, 100)).map(({ eventId }) => eventId)).toContain('event-20');
  expect(existsSync(`${path}.corrupt-1`)).toBe(true);
});

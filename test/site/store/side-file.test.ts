import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commitOf, row, startStore, temporaryDir, until } from './helpers.ts';

it('the side file is written soon after the disk takes it again, not only with the next thousand events', async () => {
  const dir = temporaryDir();
  const store = await startStore(dir);
  const last = () =>
    (JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8')) as { last: { site: number } }).last.site;
  // Nothing can be written at its name, as on a full disk.
  mkdirSync(join(dir, 'epoch.json.part'));
  await store.commit(commitOf(Array.from({ length: 1000 }, (_, index) => row(index + 1))));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(last()).toBe(0);
  rmSync(join(dir, 'epoch.json.part'), { recursive: true });
  await until(() => last() === 1000);
});

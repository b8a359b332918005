import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { commitOf, row, startStore, temporaryDir, until } from './helpers.ts';

it('the side file is written soon after the disk takes it again, not only with the next thousand events', async () => {
  const dir = temporaryDir();
  const told: string[] = [];
  const store = await startStore(dir, { log: pino({}, { write: (line) => void told.push(line) }) });
  const last = () =>
    (JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8')) as { last: { site: number } }).last.site;
  // Nothing can be written at its name, as on a full disk.
  mkdirSync(join(dir, 'epoch.json.part'));
  await store.commit(commitOf(Array.from({ length: 1000 }, (_, index) => row(index + 1))));
  await until(() => told.some((line) => line.includes('the side file of the store cannot be written')));
  expect(last()).toBe(0);
  rmSync(join(dir, 'epoch.json.part'), { recursive: true });
  await until(() => last() === 1000);
});

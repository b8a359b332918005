import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { threadAhead } from '#lib/thread-ahead.ts';
import { commitOf, metric, row, startStore, temporaryDir } from './helpers.ts';

const workerUrl = new URL('../../../src/site/store/worker.ts', import.meta.url);

it('a store works on a thread that was started ahead, and takes it once', async () => {
  const ahead = threadAhead(workerUrl, 'ahead');
  const store = await startStore(temporaryDir(), { ahead });
  expect(ahead.take(undefined)).toBeUndefined();
  await store.commit(commitOf([row(1)]));
  expect(await store.take('alarm', 0, 10)).toHaveLength(1);
  expect(await metric(store, 'siteward_store_worker_restarts_total')).toBe(0);
});

it('one that has ended by then is not waited for: the store starts its own', async () => {
  const dir = temporaryDir();
  const broken = join(dir, 'broken.mjs');
  writeFileSync(broken, 'throw new Error("broken");');
  const made = once(process, 'worker');
  const ahead = threadAhead(pathToFileURL(broken), 'ahead');
  const [thread] = (await made) as [Worker];
  await new Promise((resolve) => thread.once('exit', resolve));
  const store = await startStore(dir, { ahead });
  await store.commit(commitOf([row(1)]));
  expect(store.health().state).toBe('ok');
});

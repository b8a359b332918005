import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf, metric, row, startStore, temporaryDir, until } from './helpers.ts';

const workerUrl = new URL('./dying-worker.ts', import.meta.url);
const mark = (dir: string, name: string) => writeFileSync(join(dir, name), '');

describe('when the store thread dies', () => {
  for (const [name, moment] of [
    ['die-before', 'before it wrote anything'],
    ['die-after', 'after the commit and before the answer'],
  ] as const) {
    it(`${moment}, it is started again and the commits are sent again under their seq`, async () => {
      const dir = temporaryDir();
      const store = await startStore(dir, { workerUrl });
      await store.commit(commitOf([row(1)]));
      mark(dir, name);
      const commits = [2, 3, 4].map((seq) =>
        store.commit(commitOf([row(seq)], { state: [`{"seq":${seq}}`], inputs: [`{"n":${seq}}`] })),
      );
      await Promise.all(commits);
      expect(existsSync(join(dir, name))).toBe(false);
      expect((await store.take('alarm', 0, 10)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect(await store.inputs({ limit: 10 })).toEqual(['{"n":2}', '{"n":3}', '{"n":4}']);
      expect(await metric(store, 'siteward_store_worker_restarts_total')).toBe(1);
      expect(store.health().state).toBe('ok');
    });
  }

  it('at every try over the same request, that request is given up and the store goes on', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { workerUrl });
    mark(dir, 'die-always');
    await expect(store.commit(commitOf([row(1)]))).rejects.toMatchObject({ code: 'store_failed' });
    rmSync(join(dir, 'die-always'));
    await until(() => store.health().state === 'ok');
    await store.commit(commitOf([row(1)]));
    expect(await store.take('alarm', 0, 10)).toHaveLength(1);
  });

  it('and cannot start, requests are refused at once until it can', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { workerUrl });
    mark(dir, 'die-at-start');
    mark(dir, 'die-before');
    await expect(store.commit(commitOf([row(1)]))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(store.health().state).toBe('down');
    await expect(store.stats()).rejects.toMatchObject({ code: 'store_unavailable' });
    await until(() => store.health().state === 'ok');
    await store.commit(commitOf([row(1)]));
  });

  it('stop ends quickly and tells what was not confirmed', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { workerUrl });
    mark(dir, 'die-before');
    const commit = store.commit(commitOf([row(1)]));
    const answer = expect(commit).rejects.toMatchObject({ code: 'stopped' });
    await until(() => store.health().state === 'down');
    await store.stop();
    await answer;
    expect(store.health().state).toBe('down');
  });
});

import { cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { coarseBytes } from '#lib/coarse-bytes.ts';
import { storeHealth } from '#site/store/health.ts';
import { commitOf, metric, row, startStore, temporaryDir, until, wide } from './helpers.ts';

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const logBytes = (dir: string) => statSync(join(dir, 'site.db-wal')).size;

describe('the write-ahead log', () => {
  it('that is missing at a start costs what only it held; the rest is served, and no number is given twice', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await first.commit(commitOf(range(1, 100).map((seq) => row(seq))));
    await first.stop();
    const second = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await second.commit(commitOf(range(101, 120).map((seq) => row(seq))));
    const copy = temporaryDir();
    cpSync(dir, copy, { recursive: true, filter: (path) => !path.endsWith('-wal') });
    const store = await startStore(copy, { limits: { alarmCopy: 'off' } });
    expect(store.health().state).toBe('ok');
    expect((await store.take('alarm', 0, 1000)).map(({ seq }) => seq)).toEqual(range(1, 100));
    const { nextSeq } = store.recovery();
    expect(nextSeq).toBeGreaterThan(120);
    await store.commit(commitOf([row(nextSeq)]));
    expect((await store.stats()).pending.alarm).toBe(101);
  });

  it('has its size in a metric, which some alarms do not move', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.commit(commitOf(range(1, 50).map((seq) => wide(seq))));
    expect(logBytes(dir)).toBeGreaterThan(50 * 6000);
    await store.stats();
    expect(await metric(store, 'siteward_store_wal_bytes', { file: 'site' })).toBe(0);
    expect(coarseBytes(33 * 1024 ** 2)).toBe(32 * 1024 ** 2);
  });

  it.each(['site', 'bulk'] as const)('of %s.db shows in the health when it is larger than 32 MiB', (name) => {
    const file = { open: true, walBytes: 1024 };
    const files = { site: file, bulk: file, [name]: { open: true, walBytes: 33 * 1024 ** 2 } };
    const thread = { files, refusal: undefined, running: true, lastDeath: undefined };
    const evidence = { lastCommit: undefined, lastError: undefined };
    const health = storeHealth({ evidence, started: true, thread, queue: { count: 0, bytes: 0 } });
    expect(health).toMatchObject({ state: 'degraded', reason: expect.stringContaining(`${name}.db is larger`) });
  });

  it('is emptied into the file when nobody writes for a while', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: { restAfterMs: 200 } });
    await store.commit(commitOf(range(1, 250).map((seq) => wide(seq))));
    expect(logBytes(dir)).toBeGreaterThan(1024 ** 2);
    await until(() => logBytes(dir) === 0);
    expect(await store.take('alarm', 0, 10)).toHaveLength(10);
  });
});

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startStore, temporaryDir, until } from './helpers.ts';
import { smallDisk } from './small-disk.ts';

const gap = { lane: 'alarm', seqFrom: 3, seqTo: 9, count: 4, why: 'memory_full', at: 1000 } as const;

describe('what is in memory only when the store has stopped', () => {
  it('is a gap record at the next start, and once only', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    store.leave(() => [gap]);
    await store.stop();
    for (let starts = 0; starts < 3; starts += 1) {
      const next = await startStore(dir);
      await until(async () => (await next.gaps({ limit: 10 })).length > 0);
      expect(await next.gaps({ limit: 10 })).toMatchObject([{ ...gap, reported: false }]);
      await next.stop();
    }
  });

  it('is counted by lane when there is no room for more', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    store.leave(() => Array.from({ length: 100 }, (_, at) => ({ ...gap, seqFrom: at + 1, at })));
    await store.stop();
    const next = await startStore(dir);
    await until(async () => (await next.gaps({ limit: 10 })).length > 0);
    expect(await next.gaps({ limit: 10 })).toMatchObject([{ ...gap, seqFrom: 1, count: 400, at: 99 }]);
  });

  it('is left on a disk without a free block', async () => {
    const disk = smallDisk('ext4', 48);
    const first = await startStore(disk.dir);
    const path = join(disk.dir, 'losses');
    await until(() => statSync(path, { throwIfNoEntry: false })?.size === 4096);
    disk.fill();
    first.leave(() => [gap]);
    await first.stop();
    disk.free();
    const next = await startStore(disk.dir);
    await until(async () => (await next.gaps({ limit: 10 })).length > 0);
    expect(await next.gaps({ limit: 10 })).toMatchObject([gap]);
    await next.stop();
  });
});

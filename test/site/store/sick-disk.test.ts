import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { atEnd, commitOf, row, settled, startStore, type TestStore, temporaryDir, until, withFile } from './helpers.ts';
import { isRoot, smallDisk } from './small-disk.ts';

const quick = { lookEveryMs: 50, firstLookMs: 1 } as const;
const text = 'x'.repeat(2000);
const big = (seq: number) => row(seq, { body: JSON.stringify({ seq, text }) });

/** As the commit queue does: the same commit again until it is on disk. */
async function insist(store: TestStore, commit: ReturnType<typeof commitOf>): Promise<number> {
  for (let tries = 0; tries < 2000; tries += 1) {
    try {
      await store.commit(commit);
      return tries;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  throw new Error('the disk never took it');
}

async function filled(dir: string, rows: Parameters<typeof commitOf>[0]): Promise<TestStore> {
  const store = await startStore(dir, { limits: quick });
  await store.commit(commitOf(rows));
  return store;
}

const seqs = async (store: TestStore) => (await store.take('alarm', 0, 1000)).map(({ seq }) => seq);

describe.skipIf(!isRoot)('a file system that turns read-only while siteward runs', () => {
  it('is told as such, and what was refused is taken, once, when it is mended', async () => {
    const card = smallDisk('ext4', 24);
    const store = await startStore(card.dir, { limits: quick });
    await store.commit(commitOf([big(1)]));
    card.breakDown();
    const refused = commitOf([big(2)]);
    await expect(store.commit(refused)).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) });
    await until(() => store.storage().level === 'readonly');
    expect(store.health().state).not.toBe('ok');
    await store.stop();
    card.mend();
    const healed = await startStore(card.dir, { limits: quick });
    await healed.commit(refused);
    expect(await seqs(healed)).toEqual([1, 2]);
    await until(() => healed.storage().freeBytes !== undefined);
    expect(healed.storage().level).not.toBe('readonly');
  });
});

describe.skipIf(!isRoot)('a card that takes no more writes while siteward runs', () => {
  it('still serves what waits', async () => {
    const card = smallDisk('ext4', 24);
    const store = await startStore(card.dir, { limits: quick });
    await store.commit(commitOf([big(1), big(2)]));
    card.breakDown();
    await expect(store.settle([settled(1)])).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) });
    await until(() => store.storage().level === 'readonly');
    await expect(store.commit(commitOf([big(3)]))).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) });
    expect(await seqs(store)).toEqual([1, 2]);
  });

  it('still serves the others when many damaged events cannot be parked, and parks them later', async () => {
    const card = smallDisk('ext4', 24);
    const damaged = 2500;
    const last = damaged + 2;
    await (
      await filled(
        card.dir,
        Array.from({ length: last }, (_, index) => row(index + 1)),
      )
    ).stop();
    withFile(join(card.dir, 'site.db'), (db) => db.exec(`UPDATE ev SET crc = crc + 1 WHERE seq NOT IN (1, ${last})`));
    const store = await startStore(card.dir, { limits: quick });
    // Whatever the first write of a run brings along is on the card.
    await store.settle([settled(99)]);
    card.breakDown();
    await expect(store.settle([settled(1)])).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) });
    await until(() => store.storage().level === 'readonly');
    expect(await seqs(store)).toEqual([1, last]);
    await store.stop();
    card.mend();
    const healed = await startStore(card.dir, { limits: quick });
    // A thousand in one transaction at most.
    for (let looks = 0; looks < 3; looks += 1) expect(await seqs(healed)).toEqual([1, last]);
    expect((await healed.stats()).pending.alarm).toBe(2);
    const [first] = await healed.parked({ limit: 1 });
    expect(first).toMatchObject({ seq: damaged + 1, reason: expect.stringContaining('checksum') });
  });
});

describe('errors of the disk that come and go', () => {
  it('leave each event once, and the level shows them until they are over', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: quick });
    await store.commit(commitOf([big(1)]));
    const inject = 'inject=fsync,fdatasync:error=EIO';
    const trace = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-p',
      String(process.pid),
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      inject,
    ];
    const strace = spawn('strace', trace, { stdio: 'ignore' });
    atEnd(() => strace.kill());
    let failures = 0;
    for (let seq = 2; failures === 0 && seq < 300; seq += 1) {
      const commit = commitOf([big(seq)]);
      await store.commit(commit).catch(() => {
        failures += 1;
      });
      if (failures > 0) {
        await until(() => store.storage().level === 'failing');
        strace.kill();
        await insist(store, commit);
      } else await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(failures).toBe(1);
    const found = await seqs(store);
    expect(found).toEqual(Array.from({ length: found.length }, (_, index) => index + 1));
    await until(() => store.storage().level === 'ok');
  });
});

describe.skipIf(!isRoot)('a full disk', () => {
  it('is no obstacle to a start, and what was stored is served', async () => {
    const small = smallDisk('ext4', 24);
    const first = await startStore(small.dir, { limits: quick });
    await first.commit(commitOf([big(1), big(2)]));
    await until(() => first.storage().reserveBytes > 0);
    await first.stop();
    small.fill();
    const second = await startStore(small.dir, { limits: quick });
    expect(await seqs(second)).toEqual([1, 2]);
    await second.commit(commitOf([big(second.recovery().nextSeq)]));
    await second.settle([settled(1)]);
    expect(existsSync(join(small.dir, 'reserve'))).toBe(false);
  });

  it('lets delivered events be marked, so that none is sent again, and makes room for itself afterwards', async () => {
    const small = smallDisk('ext4', 24);
    const store = await startStore(small.dir, { limits: quick });
    const all = Array.from({ length: 600 }, (_, index) => index + 1);
    for (const seq of all) await store.commit(commitOf([big(seq)]));
    await until(() => store.storage().reserveBytes > 0);
    small.fill();
    for (let from = 0; from < 600; from += 50) {
      await store.settle(all.slice(from, from + 50).map((seq) => settled(seq)));
    }
    expect(await seqs(store)).toEqual([]);
    // The sweep removes the history but for the newest event, until new alarms find room in the file itself.
    await until(async () => (await store.events({ limit: 1000 })).length === 1);
    for (let seq = 1001; seq <= 1400; seq += 1) await store.commit(commitOf([big(seq)]));
    expect((await store.stats()).lost).toBe(0);
    small.free();
    await until(() => store.storage().reserveBytes > 0 && store.storage().level !== 'full');
  });
});

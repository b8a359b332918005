import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, asyncProperty, boolean, integer, record as recordOf } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginNewLife, storedEpoch } from '#site/store/index.ts';
import { commitOf, row, startStore, temporaryDir, withFile } from './helpers.ts';

/** A state directory of that epoch, closed; its side file gone or older than its database where that is said. */
async function life(epoch: number, { hasSide }: { hasSide: boolean }): Promise<string> {
  const dir = temporaryDir();
  writeFileSync(join(dir, 'epoch.json'), JSON.stringify({ epoch: Math.max(1, epoch - 1), created: 1 }));
  const store = await startStore(dir);
  await store.commit(commitOf([row(1)], { state: [`${epoch}\n{"a":1}`] }));
  await store.stop();
  if (!hasSide) rmSync(join(dir, 'epoch.json'));
  return dir;
}

const idIn = (dir: string) => /"id":"([^"]+)"/.exec(readFileSync(join(dir, 'epoch.json'), 'utf8'))?.[1];

it('is of an epoch above both sides and has a store id that nobody had, whatever is left of either', {
  timeout: 120_000,
}, async () => {
  const side = recordOf({ epoch: integer({ min: 2, max: 9 }), hasSide: boolean() });
  await assert(
    asyncProperty(side, side, async (backup, box) => {
      const present = await life(box.epoch, box);
      const copied = await life(backup.epoch, backup);
      const again = temporaryDir();
      cpSync(copied, again, { recursive: true });
      const known = Math.max(backup.epoch, box.epoch);
      const before = box.hasSide ? idIn(present) : 'nobody';
      expect(beginNewLife({ copied, present })).toBe(known + 1);
      // The same backup on a third box.
      beginNewLife({ copied: again, present: temporaryDir() });
      expect(new Set([idIn(copied), idIn(again), before]).size).toBe(3);

      const store = await startStore(copied);
      const found = store.recovery();
      expect(found).toMatchObject({ epoch: known + 1, storeId: idIn(copied), lost: false, restored: true });
      expect(found.nextSeq).toBeGreaterThan(1);
      expect(found.state).toBe(`${backup.epoch}\n{"a":1}`);
      await store.stop();
      expect(
        withFile(join(copied, 'site.db'), (db) => db.prepare('SELECT eid FROM pend JOIN ev USING (seq)').all()),
      ).toHaveLength(1);
    }),
    { numRuns: 12 },
  );
});

it('is not the life of a store that was damaged later', async () => {
  const copied = await life(3, { hasSide: true });
  beginNewLife({ copied, present: temporaryDir() });
  rmSync(join(copied, 'site.db'));
  rmSync(join(copied, 'site.db-wal'), { force: true });
  const store = await startStore(copied);
  expect(store.recovery()).toMatchObject({ epoch: 5, lost: true, restored: false });
});

describe('an older copy of site.db that was put back by hand within its epoch', () => {
  /** Three events; its side file says that there were five. */
  async function older(): Promise<string> {
    const dir = await life(3, { hasSide: true });
    const first = await startStore(dir);
    await first.commit(commitOf([row(2), row(3)], { state: ['3\n{"a":3}'] }));
    await first.stop();
    const copy = readFileSync(join(dir, 'site.db'));
    const second = await startStore(dir);
    await second.commit(commitOf([row(4), row(5)], { state: ['3\n{"a":5}'] }));
    await second.stop();
    writeFileSync(join(dir, 'site.db'), copy);
    return dir;
  }
  const backup = { epoch: 4, lost: false, restored: true, state: '3\n{"a":3}' };

  it('is taken for a backup, also after a second start without a new state', async () => {
    const dir = await older();
    for (let start = 0; start < 2; start += 1) {
      const store = await startStore(dir);
      expect(store.recovery()).toMatchObject(backup);
      expect(store.recovery().nextSeq).toBeGreaterThan(5);
      await store.stop();
    }
  });

  it('is taken for a backup, though it can only be read', async () => {
    const dir = await older();
    // A table that refuses every note of the start, as a disk without room does.
    withFile(join(dir, 'site.db'), (db) =>
      db.exec("CREATE TRIGGER full BEFORE UPDATE ON meta BEGIN SELECT raise(FAIL, 'full'); END"),
    );
    expect((await startStore(dir)).recovery()).toMatchObject(backup);
  });

  it('is not what a start after a kill finds', async () => {
    const dir = await life(3, { hasSide: true });
    const store = await startStore(dir);
    await store.commit(commitOf([row(2), row(3)], { state: ['3\n{"a":3}'] }));
    // The files of a process that ended here.
    const killed = temporaryDir();
    cpSync(dir, killed, { recursive: true });
    expect((await startStore(killed)).recovery()).toMatchObject({ epoch: 3, restored: false, state: '3\n{"a":3}' });
  });
});

it('knows no epoch of a folder without a store', () => {
  expect(storedEpoch(temporaryDir())).toBe(0);
});

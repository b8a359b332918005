import { closeSync, cpSync, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf, row, settled, startStore, temporaryDir, until, withFile } from './helpers.ts';

const activity = (...seqs: number[]) => commitOf(seqs.map((seq) => row(seq, { lane: 'activity' })));

/** Zeroes the first page of a table. */
function zeroRoot(path: string, table: string): void {
  const page = withFile(path, (db) =>
    db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table),
  );
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096), 0, 4096, (Number(page) - 1) * 4096);
  closeSync(fd);
}

describe('after a kill no delivered event counts as lost', () => {
  it('when a damaged bulk.db had been read to its end before', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(activity(1, 2, 3, 4, 5));
    await first.settle([1, 2, 3, 4, 5].map((seq) => settled(seq, 'activity')));
    await first.stop();
    // Found in the background: the side file says by then what the old one held.
    zeroRoot(join(dir, 'bulk.db'), 'media');
    await startStore(dir);
    await until(() => existsSync(join(dir, 'bulk.db.corrupt-1.read')));
    // What a kill leaves.
    const left = join(temporaryDir(), 'left');
    cpSync(dir, left, { recursive: true });
    const again = await startStore(left);
    expect(await again.gaps({ limit: 10 })).toEqual([]);
  });

  it('when nothing stands yet in the bulk.db that took the place of one that was deleted', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(activity(1, 2, 3));
    await first.settle([1, 3].map((seq) => settled(seq, 'activity')));
    // Numbers are jumped over after an unclean stop.
    await first.commit(activity(100_001));
    await first.stop();
    withFile(join(dir, 'bulk.db'), (db) => db.exec('DELETE FROM ev; DELETE FROM pend; DELETE FROM done'));
    const again = await startStore(dir);
    expect(await again.gaps({ limit: 10 })).toMatchObject([{ lane: 'activity', count: 2, why: 'damage' }]);
  });
});

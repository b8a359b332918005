import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { playbackCap } from '../../../src/site/store/playbacks.ts';
import { commitOf, startStore, temporaryDir, until, withFile } from './helpers.ts';

const row = (id: string, text: string) => ({ id, record: JSON.stringify({ id, text }) });

describe('playbacks in site.db', () => {
  it('come back after a restart in the order of their first row, each as it was written last', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.setPlaybacks([row('z', 'one'), row('a', 'one'), row('m', 'one')], true);
    await first.setPlaybacks([row('z', 'two'), { id: 'm', record: null }], false);
    await first.stop();
    const second = await startStore(dir);
    expect(await second.playbacks()).toEqual([row('z', 'two'), row('a', 'one')]);
  });

  it('leave the state of the core and the numbers of events as they are', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([], { state: ['{"a":1}'] }));
    await first.setPlaybacks([row('a', 'one')], true);
    await first.stop();
    const second = await startStore(dir);
    expect(second.recovery()).toMatchObject({ state: '{"a":1}', nextSeq: 1 });
  });

  it('are bounded: the oldest give way', async () => {
    const store = await startStore(temporaryDir());
    const rows = Array.from({ length: playbackCap + 3 }, (_, index) => row(`id-${index}`, 'one'));
    await store.setPlaybacks(rows, false);
    await store.setPlaybacks([row('id-5', 'two'), row('last', 'one')], false);
    const kept = await store.playbacks();
    expect(kept).toHaveLength(playbackCap);
    expect(kept[0]).toEqual(row('id-4', 'one'));
    expect(kept[1]).toEqual(row('id-5', 'two'));
    expect(kept.at(-1)).toEqual(row('last', 'one'));
  });

  it('are brought back from a damaged file', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.setPlaybacks([row('b', 'one'), row('a', 'two')], true);
    await first.stop();
    withFile(join(dir, 'site.db'), (db) => {
      db.unsafeMode(true);
      db.pragma('writable_schema = ON');
      db.exec(
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE core(id INTEGER PRIMARY KEY, other TEXT)' WHERE name = 'core'",
      );
    });
    const second = await startStore(dir);
    await until(() => existsSync(join(dir, 'site.db.corrupt-1')));
    await until(async () => (await second.playbacks()).length === 2);
    expect(await second.playbacks()).toEqual([row('b', 'one'), row('a', 'two')]);
  });

  it('have a table in a file that was written before they were kept', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.stop();
    withFile(join(dir, 'site.db'), (db) => {
      db.exec('DROP TABLE playback');
      db.pragma('user_version = 2');
    });
    const second = await startStore(dir);
    await second.setPlaybacks([row('a', 'one')], false);
    expect(await second.playbacks()).toEqual([row('a', 'one')]);
  });
});

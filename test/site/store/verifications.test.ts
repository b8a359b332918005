import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '#site/model/index.ts';
import { commitOf, startStore, temporaryDir, until, withFile } from './helpers.ts';

const record = (id: string, text: string, at = 1000) => ({ id, at, record: JSON.stringify({ id, text }) });
const entry: AuditRecord = {
  kind: 'command',
  source: 'lan',
  target: 'verification:a',
  action: 'verification_dispatch',
  at_wall: 1000,
  at_mono: 10,
  clock: 'synced',
  epoch: 1,
};

describe('verifications in site.db', () => {
  it('come back after a restart in the order they were asked, each as it was written last', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([], { verifications: [record('b', 'one', 2000), record('a', 'two')], audit: [entry] }));
    await first.commit(commitOf([], { verifications: [record('b', 'three', 2000), record('c', 'four', 3000)] }));
    await first.commit(commitOf([], { verifications: [{ id: 'c', at: 0, record: null }] }));
    await first.stop();
    const second = await startStore(dir);
    expect(await second.verifications()).toEqual([record('a', 'two'), record('b', 'three', 2000)]);
    expect((await second.audit({ limit: 10 })).map(({ action }) => action)).toEqual(['verification_dispatch']);
  });

  it('written alone leave the state of the core and the events as they are', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([], { state: ['{"a":1}'] }));
    await first.commit(commitOf([], { verifications: [record('a', 'one')] }));
    await first.stop();
    const second = await startStore(dir);
    expect(second.recovery()).toMatchObject({ state: '{"a":1}', nextSeq: 1 });
  });

  it('are brought back from a damaged file', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(
      commitOf([], { verifications: [record('a', 'one'), record('b', 'two', 2000)], state: ['{"a":1}'] }),
    );
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
    await until(async () => (await second.verifications()).length === 2);
    expect(await second.verifications()).toEqual([record('a', 'one'), record('b', 'two', 2000)]);
  });

  it('are made in a file of an earlier version, which keeps what it holds', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([], { state: ['{"a":1}'] }));
    await first.stop();
    withFile(join(dir, 'site.db'), (db) => {
      db.prepare('UPDATE core SET state = ?, crc = ?').run('{"a":1}', crc32('{"a":1}'));
      db.exec('DROP TABLE verification; DROP TABLE playback; DROP TABLE piece');
      db.pragma('user_version = 1');
    });
    const second = await startStore(dir);
    expect(second.recovery().state).toBe('{"a":1}');
    await second.commit(commitOf([], { verifications: [record('a', 'one')] }));
    expect(await second.verifications()).toEqual([record('a', 'one')]);
  });
});

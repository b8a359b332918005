import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf, row, startStore, type TestStore, temporaryDir, until } from './helpers.ts';

/** Whatever stands in place of a file, siteward starts, and so it does the next time. */
const databases = ['site.db', 'bulk.db'];
const besides = databases.flatMap((name) =>
  ['-wal', '-shm', '-journal', '.moved', '.moved.part'].map((end) => name + end),
);
const others = ['epoch.json', 'alarm.log', 'losses', 'reserve'].flatMap((name) => [name, `${name}.part`]);

function blocked(dir: string, name: string): void {
  const path = join(dir, name);
  if (existsSync(path)) renameSync(path, join(temporaryDir(), 'taken away'));
  mkdirSync(path);
  writeFileSync(join(path, 'note'), 'of whoever made it');
}

async function waiting(store: TestStore): Promise<number[]> {
  const rows = [...(await store.take('alarm', 0, 10)), ...(await store.take('activity', 0, 10))];
  return rows.map(({ seq }) => seq).sort((a, b) => a - b);
}

/** One alarm and one activity under the next two numbers. */
async function addTwo(store: TestStore, seq = store.recovery().nextSeq): Promise<number[]> {
  await store.commit(commitOf([row(seq), row(seq + 1, { lane: 'activity' })], { state: ['{}'] }));
  return [seq, seq + 1];
}

async function filled(): Promise<string> {
  const dir = temporaryDir();
  const store = await startStore(dir);
  await addTwo(store, 1);
  await store.stop();
  return dir;
}

describe('a folder in place of a file of the store', () => {
  it.each([...besides, ...others])('%s is set aside, and nothing is lost', async (name) => {
    const dir = await filled();
    blocked(dir, name);
    const store = await startStore(dir);
    const { epoch, lost } = store.recovery();
    expect(lost).toBe(false);
    // The name of the store is in site.db: a side file that cannot be read does not begin another one.
    if (name !== 'epoch.json') expect(epoch).toBe(1);
    expect(await waiting(store)).toEqual([1, 2]);
    const added = await addTwo(store);
    expect(await waiting(store)).toEqual([1, 2, ...added]);
    expect(await store.gaps({ limit: 10 })).toEqual([]);
    expect(store.health().state).toBe('ok');
    expect(readdirSync(join(dir, `${name}.no-file`))).toEqual(['note']);
    if (name === 'reserve') await until(() => statSync(join(dir, name), { throwIfNoEntry: false })?.isFile() === true);
    await store.stop();

    blocked(dir, name);
    const again = await startStore(dir);
    expect(await waiting(again)).toEqual([1, 2, ...added]);
    expect(readdirSync(dir).filter((one) => one.startsWith(`${name}.`) && one.includes('no-file'))).toHaveLength(1);
    await again.stop();
  });

  it.each(databases)('%s is damage like any other', async (name) => {
    const dir = await filled();
    blocked(dir, name);
    const store = await startStore(dir);
    await until(() => store.health().facts?.mending === false);
    // A waiting alarm has a second copy; the activity is counted.
    expect(await waiting(store)).toEqual(name === 'site.db' ? [1, 2] : [1]);
    const gaps = await store.gaps({ limit: 10 });
    expect(gaps.map(({ lane, count }) => ({ lane, count }))).toEqual(
      name === 'site.db' ? [] : [{ lane: 'activity', count: 1 }],
    );
    await addTwo(store);
    expect(readdirSync(dir)).toContain(`${name}.corrupt-1`);
  });
});

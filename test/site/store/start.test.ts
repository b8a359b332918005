import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { commitOf, makeStore, row, startStore, temporaryDir, until, withFile } from './helpers.ts';

const isRoot = process.getuid?.() === 0;
const mounts: string[] = [];
afterEach(() => {
  for (const mount of mounts.splice(0)) execFileSync('umount', ['--lazy', mount]);
});

function mounted(): string {
  const mount = temporaryDir();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', mount]);
  mounts.push(mount);
  return mount;
}

/** Starts the store in a process of its own and kills it as soon as it has committed something. */
async function crash(dir: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash-child.ts'), dir, '5', '2'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let lines = 0;
  for await (const _ of createInterface({ input: child.stdout })) {
    lines += 1;
    if (lines === 4) child.kill('SIGKILL');
  }
  await ended;
}

describe.skipIf(!isRoot)('a state directory that is read-only at start', () => {
  it('still tells the state, and is used again when it heals', async () => {
    const dir = join(mounted(), 'state');
    const first = await startStore(dir);
    await first.commit(commitOf([row(1)], { state: ['{"armed":true}'] }));
    const { epoch } = first.recovery();
    await first.stop();
    execFileSync('mount', ['-o', 'remount,ro', join(dir, '..')]);
    const store = await startStore(dir);
    expect(store.recovery()).toMatchObject({ epoch, lost: false, state: '{"armed":true}' });
    expect(store.recovery().nextSeq).toBeGreaterThan(1);
    expect(store.health().state).toBe('down');
    execFileSync('mount', ['-o', 'remount,rw', join(dir, '..')]);
    const seq = store.recovery().nextSeq;
    await until(() =>
      store.commit(commitOf([row(seq)])).then(
        () => true,
        () => false,
      ),
    );
    expect((await store.take('alarm', 0, 10)).map((one) => one.seq)).toEqual([1, seq]);
  }, 30_000);
});

describe('starts in quick succession', () => {
  it('after the third, what can wait is left for later; a clean stop ends the count', async () => {
    const dir = temporaryDir();
    for (let start = 0; start < 3; start += 1) await crash(dir);
    const { starts } = JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8'));
    expect(starts.uptimes).toHaveLength(3);
    const store = await startStore(dir);
    await store.commit(commitOf([row(store.recovery().nextSeq)]));
    await store.stop();
    expect(JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8')).starts.uptimes).toEqual([]);
  }, 30_000);
});

describe('a kill while a damaged file is being read', () => {
  it('copies nothing twice and loses nothing', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir, { limits: { alarmCopy: 'off' } });
    const last = 6000;
    for (let from = 1; from <= last; from += 500) {
      await first.commit(commitOf(Array.from({ length: 500 }, (_, index) => row(from + index))));
    }
    await first.stop();
    const path = join(dir, 'site.db');
    const root = withFile(path, (db) =>
      Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'audit'").pluck().get()),
    );
    const fd = openSync(path, 'r+');
    writeSync(fd, Buffer.alloc(4096), 0, 4096, (root - 1) * 4096);
    closeSync(fd);
    for (let kills = 0; kills < 3; kills += 1) await crash(dir);
    // Outside the two minutes, so that the rest is done at once.
    const side = JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8'));
    writeFileSync(join(dir, 'epoch.json'), JSON.stringify({ ...side, starts: { boot: 'x', uptimes: [] } }));
    const store = await startStore(dir, { limits: { alarmCopy: 'off' } });
    await until(() => store.health().facts?.mending === false);
    const seqs: number[] = [];
    for (
      let rows = await store.take('alarm', 0, 1000);
      rows.length > 0;
      rows = await store.take('alarm', seqs.at(-1) ?? 0, 1000)
    ) {
      seqs.push(...rows.map(({ seq }) => seq));
    }
    expect(seqs.filter((seq) => seq <= last)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    expect(statSync(join(dir, 'site.db.corrupt-1')).size).toBeGreaterThan(0);
    await store.stop();
    const again = makeStore(dir);
    await again.start(new AbortController().signal);
    expect((await again.stats()).pending.alarm).toBe(seqs.length);
  }, 60_000);
});

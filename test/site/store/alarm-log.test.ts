import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AlarmLog } from '#site/store/alarm-log.ts';
import { attempt } from '#site/store/quiet.ts';
import { wireCommit } from '#site/store/wire.ts';
import { commitOf, row, startStore, temporaryDir, until, withFile } from './helpers.ts';

const alarms = wireCommit(commitOf([row(1)]), 1).site ?? [];

describe('a second copy of the alarms that cannot be emptied', () => {
  it('is told once, and once more when it was well in between', () => {
    const dir = temporaryDir();
    const path = join(dir, 'alarm.log');
    const errors: string[] = [];
    const log = new AlarmLog({ dir, mode: 'written', note: (_, text) => errors.push(text) });
    log.add(alarms);
    log.close();
    rmSync(path);
    mkdirSync(path);
    for (let second = 0; second < 3; second += 1) log.clear();
    expect(errors).toHaveLength(1);
    rmdirSync(path);
    log.rewrite(alarms);
    expect(readFileSync(path, 'utf8')).toMatch(/event-1/);
    log.close();
    rmSync(path);
    mkdirSync(path);
    for (let second = 0; second < 3; second += 1) log.clear();
    expect(errors).toHaveLength(2);
  });
});

it('the second copy is made of what waits once there is room again, also where it held nothing when it gave way', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const dir = temporaryDir();
  const log = new AlarmLog({ dir, mode: 'written', note: () => {} });
  expect(log.wantsRewrite).toBe(false);
  expect(log.giveWay()).toBe(false);
  expect(log.wantsRewrite).toBe(false);
  vi.advanceTimersByTime(60_001);
  expect(log.wantsRewrite).toBe(true);
  log.rewrite(alarms);
  expect(log.wantsRewrite).toBe(false);
  expect(log.giveWay()).toBe(true);
  log.close();
});

describe('a second copy of the alarms that is taken away from a running store', () => {
  it.each([
    ['deleted', (path: string) => rmSync(path)],
    ['emptied', (path: string) => truncateSync(path, 0)],
    [
      'replaced',
      (path: string) => {
        writeFileSync(`${path}.new`, 'something else');
        renameSync(`${path}.new`, path);
      },
    ],
  ])('is written anew with all that waits: %s', async (_, take) => {
    const dir = temporaryDir();
    const path = join(dir, 'alarm.log');
    const store = await startStore(dir);
    await store.commit(commitOf([row(1), row(2)]));
    take(path);
    await store.commit(commitOf([row(3)]));
    await until(() => attempt(() => readFileSync(path, 'utf8'))?.match(/"event-\d"/g)?.length === 3);
    await store.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, `site.db${suffix}`), { force: true });
    const next = await startStore(dir);
    expect((await next.take('alarm', 0, 10)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });
});

describe('the pictures of alarms that come from the second copy', () => {
  /** Two alarms that wait, each with a picture in the spool, and a second copy that was written anew. */
  async function rewritten(dir: string): Promise<string> {
    const path = join(dir, 'alarm.log');
    const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as never;
    const store = await startStore(dir);
    await store.commit(commitOf([row(1, { media }), row(2, { media })]));
    for (const seq of [1, 2]) {
      const ready = { file: `${seq}-0.jpg`, bytes: 9, sha256: 'ab', mime: 'image/jpeg' } as const;
      await store.updateMedia([{ seq, lane: 'alarm', index: 0, at: 1, state: 'ready', ...ready }]);
    }
    rmSync(path);
    await until(() => attempt(() => readFileSync(path, 'utf8'))?.includes('event-2') === true);
    await store.stop();
    return join(dir, 'site.db');
  }

  it('are as the damaged file knew them', async () => {
    const dir = temporaryDir();
    const path = await rewritten(dir);
    const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'arming'";
    const root = withFile(path, (db) => Number(db.prepare(sql).pluck().get()));
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0, (root - 1) * 4096, root * 4096));
    const store = await startStore(dir);
    await until(() => store.health().state === 'degraded' && store.health().facts?.mending === false);
    expect(await store.media(['ready'], 10)).toMatchObject([
      { seq: 1, file: '1-0.jpg' },
      { seq: 2, file: '2-0.jpg' },
    ]);
  });

  it('are planned where the file is gone, so that those in the spool find their rows again', async () => {
    const dir = temporaryDir();
    rmSync(await rewritten(dir));
    const store = await startStore(dir);
    expect(await store.media(['planned'], 10)).toMatchObject([
      { seq: 1, camera: 'yard' },
      { seq: 2, camera: 'yard' },
    ]);
  });
});

describe('a process that ends while it stores an alarm', () => {
  const child = fileURLToPath(new URL('./crash-child.ts', import.meta.url));
  /** One that stores alarms one after the other, each with its own state, and ends at the point. */
  async function endedAt(point: string): Promise<string> {
    const dir = temporaryDir();
    const env = { ...process.env, SITEWARD_CRASH_AT: point };
    const running = spawn(process.execPath, [child, dir, '0', '1'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    expect((await once(running, 'exit'))[1]).toBe('SIGKILL');
    return dir;
  }
  const newest = (rows: readonly { readonly seq: number }[]) => Math.max(...rows.map(({ seq }) => seq));

  it.each(['commit.begun:20', 'commit.rows:20', 'commit.committed:20'])(
    'leaves no alarm without the state that knows of it: %s',
    async (point) => {
      const store = await startStore(await endedAt(point));
      const known = JSON.parse(store.recovery().state ?? '{}').seq;
      expect(known).toBeGreaterThan(5);
      expect(newest(await store.take('alarm', 0, 100))).toBe(known);
    },
  );

  it('has its second copy made after the next start, where it had none yet', async () => {
    const dir = await endedAt('commit.committed:20');
    const log = () => attempt(() => readFileSync(join(dir, 'alarm.log'), 'utf8'));
    // Before the start, which brings the copy up to date at once.
    const before = log() ?? '';
    const store = await startStore(dir);
    const last = newest(await store.take('alarm', 0, 100));
    expect(before.includes(`"event-${last}"`)).toBe(false);
    await until(() => log()?.includes(`"event-${last}"`) === true);
  });
});

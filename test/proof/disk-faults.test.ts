import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { startStore, temporaryDir, withFile } from '../site/store/helpers.ts';
import { isRoot, smallDisk } from '../site/store/small-disk.ts';
import { buildWriters, type Program } from './durable/build.ts';
import { type Broken, brokenIn, createPromises, type Promises } from './durable/record.ts';
import { startWriters, type Writers } from './durable/run.ts';

/** A disk that refuses writes and syncs, and one that is full, while several writers are at work. */
const hasStrace = spawnSync('strace', ['-V']).status === 0;
const sync = 'fsync,fdatasync';
const whole: Broken = { events: [], settled: [], pictures: [], doubled: [], dangling: [] };

let program: Program;
beforeAll(async () => {
  program = await buildWriters({ weak: false });
});
afterAll(() => program?.remove());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function write(dir: string, under: readonly string[] = [], bodyLength = 300): Writers {
  const writers = startWriters([...under, process.execPath, program.path, dir, '3', String(bodyLength)]);
  cleanups.push(writers.kill);
  return writers;
}

const failures = (writers: Writers): number => writers.said.filter(({ what }) => what === 'failed').length;
const failed = (writers: Writers, count: number) =>
  eventually('writes that fail', () => (failures(writers) >= count ? true : undefined), { timeoutMs: 30_000 });

/** Ends the writers, lets the store recover as at a start, and closes it. */
async function recovered(dir: string, writers: Writers): Promise<Promises> {
  const promises = createPromises();
  promises.add(await writers.kill());
  const store = await startStore(dir);
  expect(store.recovery()).toMatchObject({ epoch: 1, lost: false });
  await store.stop();
  return promises;
}

describe.skipIf(!hasStrace)('a disk that fails (needs strace)', () => {
  const strace = ['strace', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null'];
  const inject = (calls: string, error: string) => [
    ...strace,
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:${error}`,
  ];

  it.each([
    { fault: 'a sync fails a while', calls: sync, error: 'error=EIO:when=60..75', heals: true },
    { fault: 'a sync fails for good', calls: sync, error: 'error=EIO:when=60+', heals: false },
    { fault: 'writes fail a while', calls: 'pwrite64', error: 'error=EIO:when=200..230', heals: true },
    { fault: 'writes fail for good', calls: 'pwrite64', error: 'error=EIO:when=200+', heals: false },
  ])('keeps every promise and no event twice when $fault', async ({ calls, error, heals }) => {
    const dir = join(temporaryDir(), 'state');
    const writers = write(dir, inject(calls, error));
    await failed(writers, 3);
    if (heals) await writers.promised(writers.promises + 50);
    const promises = await recovered(dir, writers);
    expect(promises.events.size).toBeGreaterThan(10);
    expect(brokenIn(dir, promises)).toEqual(whole);
    expect(promises.twice).toEqual([]);
  });

  // Whether room can be made depends on which write of the store's is the last that fails.
  it.each([
    ...['200..230', '203..226'].map((when) => ({ when, failing: 3 })),
    // Each is refused alone: what makes room for it succeeds, and nobody is told of a failure.
    { when: '400..600+40', failing: 0 },
  ])('lets only counted, delivered history go while there is no space, writes $when', async ({ when, failing }) => {
    const dir = join(temporaryDir(), 'state');
    const writers = write(dir, inject('pwrite64', `error=ENOSPC:when=${when}`));
    await failed(writers, failing);
    if (failing === 0) await eventually('history that goes', () => writers.said.find(({ what }) => what === 'gone'));
    // All refusals lie before these, and who was told of its delivery has said so.
    await writers.promised(writers.promises + 300);
    const promises = await recovered(dir, writers);
    expect(promises.events.size).toBeGreaterThan(10);
    onlyHistoryWent(dir, promises);
    expect(promises.twice).toEqual([]);
  });

  it('goes on by itself when syncs have failed for two seconds', async () => {
    const dir = join(temporaryDir(), 'state');
    const writers = write(dir);
    await writers.promised(50);
    const attach = [...strace.filter((flag) => flag !== '--seccomp-bpf'), '-p', String(writers.pid)];
    const [command = '', ...args] = [...attach, '-e', `trace=${sync}`, '-e', `inject=${sync}:error=EIO`];
    const faulty = spawn('timeout', ['--foreground', '2', command, ...args], { stdio: 'ignore' });
    await once(faulty, 'exit');
    expect(failures(writers)).toBeGreaterThan(0);
    await writers.promised(writers.promises + 100);
    const promises = await recovered(dir, writers);
    expect(brokenIn(dir, promises)).toEqual(whole);
  });
});

describe.skipIf(!isRoot)('a small disk that is full (needs root)', () => {
  it('takes 300 more alarms, counts what gave way, is no obstacle to a start, and goes on when there is room', async () => {
    const disk = smallDisk('ext4', 24);
    const writers = write(disk.dir, [], 2000);
    await writers.promised(200);
    await eventually('the reserve file', () => (existsSync(join(disk.dir, 'reserve')) ? true : undefined));
    disk.fill();
    const alarms = () => writers.said.filter((one) => one.what === 'event' && one.lane === 'alarm').length;
    const whenFull = alarms();
    await eventually('alarms on a full disk', () => (alarms() > whenFull + 300 ? true : undefined), {
      timeoutMs: 30_000,
    });
    const promises = await recovered(disk.dir, writers);
    accounted(disk.dir, promises);

    const again = write(disk.dir, [], 2000);
    await again.promised(20);
    disk.free();
    await again.promised(again.promises + 200);
    promises.add(await again.kill());
    const store = await startStore(disk.dir);
    await store.stop();
    accounted(disk.dir, promises);
    expect(promises.twice).toEqual([]);
  });
});

/** What waits is all there; an event goes with its verdict, and each that went is in the store's count. */
function onlyHistoryWent(dir: string, promises: Promises): void {
  const delivered = new Set(promises.settled.map(({ seq }) => seq));
  const { events, settled, ...others } = brokenIn(dir, promises);
  expect(events.filter((seq) => !delivered.has(seq))).toEqual([]);
  expect(new Set(settled)).toEqual(new Set(events));
  expect(promises.gone).toBe(events.length);
  expect({ ...others, events: [], settled: [] }).toEqual(whole);
}

/** Every promised event that is not there was delivered (history gives way), or is counted in a gap record around it. */
function accounted(dir: string, promises: Promises): void {
  const settled = new Set(promises.settled.map(({ seq }) => seq));
  const { events, doubled, dangling } = brokenIn(dir, promises);
  const gone = events.filter((seq) => !settled.has(seq));
  const gaps = ['site.db', 'bulk.db'].flatMap((name) =>
    withFile(join(dir, name), (db) =>
      db
        .prepare<[], { from: number; to: number; n: number }>('SELECT seq_from AS "from", seq_to AS "to", n FROM gap')
        .all(),
    ),
  );
  expect(gone.filter((seq) => !gaps.some(({ from, to }) => from <= seq && seq <= to))).toEqual([]);
  expect(gaps.reduce((sum, { n }) => sum + n, 0)).toBeGreaterThanOrEqual(gone.length);
  expect({ doubled, dangling }).toEqual({ doubled: [], dangling: [] });
}

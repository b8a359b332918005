import { fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#site/store/index.ts';
import { percentile } from './figure.ts';
import { bodyBytes, makeRow, writeAtOnce } from './rows.ts';

/**
 * The process that writes, for measurements that slow its disk down or cut its power. `slow DIR` measures and ends;
 * the others write with `IN_FLIGHT` messages at once, print the number of each one that was acknowledged, and slow
 * down to one at a time when a line arrives.
 */
const [kind = '', dir = '', libraries = ''] = process.argv.slice(2);

async function openOurs() {
  const store = openStore({
    dir,
    clock: systemClock(),
    log: pino({ level: 'error' }, pino.destination(2)),
    metrics: new Registry(),
  });
  await store.start(new AbortController().signal);
  return store;
}

/** Time of one fsync here, as the store's own process meets it, milliseconds. */
function fsyncMs(): number {
  const path = join(dir, 'probe');
  const fd = openSync(path, 'w');
  const times = Array.from({ length: 15 }, () => {
    writeSync(fd, Buffer.alloc(4096), 0, 4096, 0);
    const began = performance.now();
    fsyncSync(fd);
    return performance.now() - began;
  });
  rmSync(path);
  return percentile(times, 0.5);
}

async function slow(): Promise<void> {
  const syncMs = fsyncMs();
  const store = await openOurs();
  const warm = await writeAtOnce(store, { writers: 64, ms: 300, lane: 'trouble', firstSeq: store.recovery().nextSeq });
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const { perSecond, acceptMs } = await writeAtOnce(store, {
    writers: 64,
    ms: 4000,
    lane: 'trouble',
    firstSeq: warm.nextSeq,
  });
  loop.disable();
  await store.stop();
  const figures = { syncMs, perSecond, acceptMs: percentile(acceptMs, 0.99), loopMs: loop.percentile(99) / 1e6 };
  console.log(JSON.stringify(figures));
}

type Put = (n: number) => Promise<unknown>;

async function putInto(): Promise<Put> {
  const payload = (n: number) => `${n} `.padEnd(bodyBytes, 'x');
  if (kind === 'siteward') {
    const store = await openOurs();
    return (n) => store.commit({ rows: [makeRow(n)], arming: [], inputs: [] });
  }
  const library = (path: string) => import(pathToFileURL(join(libraries, 'node_modules', path)).href);
  if (kind === 'plainjob') {
    const { better, defineQueue } = (await library('plainjob/dist/plainjob.js')) as Plainjob;
    const queue = defineQueue({ connection: better(new Database(join(dir, 'queue.db'))) });
    return async (n) => queue.add('event', { text: payload(n) });
  }
  const { buildDBClient, SqliteQueue } = (await library('liteque/dist/index.js')) as Liteque;
  const db = buildDBClient(join(dir, 'queue.db'), { runMigrations: true, walEnabled: true });
  const queue = new SqliteQueue('events', db, { defaultJobArgs: { numRetries: 1 }, keepFailedJobs: false });
  return (n) => queue.enqueue({ text: payload(n) });
}

interface Plainjob {
  better(db: unknown): unknown;
  defineQueue(options: { connection: unknown }): { add(type: string, data: unknown): unknown };
}

interface Liteque {
  buildDBClient(path: string, options: { runMigrations: boolean; walEnabled: boolean }): unknown;
  SqliteQueue: new (
    name: string,
    db: unknown,
    options: { defaultJobArgs: { numRetries: number }; keepFailedJobs: boolean },
  ) => { enqueue(data: unknown): Promise<unknown> };
}

async function write(): Promise<void> {
  const put = await putInto();
  let n = 0;
  let slower = false;
  process.stdin.once('data', () => {
    slower = true;
  });
  let acked: number[] = [];
  const writer = async (isFirst: boolean) => {
    while (isFirst || !slower) {
      n += 1;
      const mine = n;
      await put(mine);
      if (acked.push(mine) === 1) {
        setImmediate(() => {
          process.stdout.write(`${acked.join(' ')}\n`);
          acked = [];
        });
      }
      // Synchronous libraries would never let the line in.
      if (slower) await new Promise((resolve) => setTimeout(resolve, 10));
      else if (kind !== 'siteward') await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: Number(process.env.IN_FLIGHT) }, (_, index) => writer(index === 0)));
}

await (kind === 'slow' ? slow() : write());

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { crc32 } from 'node:zlib';
import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { type Lane, lanes } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import { openDatabase } from '../src/site/store/sqlite.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { makeRow, writeAtOnce } from './rows.ts';

const writers = 64;
const rounds = 7;
const roundMs = 800;
/** Until the code of a new thread is compiled. The bare loop has it too, so that both files have grown alike. */
const warmMs = 1500;
const troubleLane = lanes.indexOf('trouble');

const goal = 0.8;
const loopGoalMs = 20;

/** Durable events per second from concurrent writers, beside a bare loop. */
export const store: Measurement = {
  name: 'store',
  title: `Durable events from ${writers} concurrent writers`,
  about: `${writers} writers each wait for their event to be on disk (\`synchronous=FULL\`) before the next, through the store and its
thread. Beside it a bare better-sqlite3 loop in one thread writes the same rows in groups of ${writers} into the same tables.
${rounds} rounds of ${roundMs} ms each in turns on the same file system, each after ${warmMs} ms of the same on the same new file; the ratio is the median of the rounds' own.`,
  remark: `Of a group's time the thread spends the most in the commit, as the bare loop does; what is added is one trip to the
main thread and back per group, in which the thread has nothing to do, since every writer waits for its answer. The rows of a
rush cross in parts of 8, so that the thread writes the first while the main thread makes the last; each part says that
more follows, and the thread waits for it, a millisecond at most, so that a group is not split into two that cost as much
each. A part is one flat list of values, and eight rows go into one statement. Alarms also go into their second copy (\`alarm.log\`), which the bare loop does not write, and so are measured beside it. On a busy machine each trip
waits for its turn on a processor. The slower the disk, the less all of this counts.`,
  async run(tell) {
    const bare: number[] = [];
    const through: Through[] = [];
    const alarms: Through[] = [];
    for (let round = 0; round < rounds; round += 1) {
      tell(`round ${round + 1} of ${rounds}`);
      bare.push(await inTemporary(tmpdir(), bareLoop));
      through.push(await inTemporary(tmpdir(), (dir) => throughStore(dir, 'trouble')));
      alarms.push(await inTemporary(tmpdir(), (dir) => throughStore(dir, 'alarm')));
    }
    const share = (all: readonly Through[]) =>
      rounded(median(all.map(({ perSecond }, round) => perSecond / (bare[round] ?? perSecond))));
    const rate = (all: readonly Through[]) => Math.round(median(all.map(({ perSecond }) => perSecond)));
    const ratio = share(through);
    const unit = 'events/s';
    const loopMs = rounded(median(through.map((round) => round.loopMs)));
    return [
      { name: `bare better-sqlite3, groups of ${writers}`, value: Math.round(median(bare)), unit },
      {
        name: `store, ${writers} concurrent writers`,
        value: rate(through),
        unit,
        ratio,
        goal: `at least ${goal} of the bare loop`,
        met: ratio >= goal,
      } satisfies Figure,
      { name: 'the same with alarms, which have a second copy', value: rate(alarms), unit, ratio: share(alarms) },
      {
        name: 'event loop of the main thread meanwhile, p99',
        value: loopMs,
        unit: 'ms',
        goal: `under ${loopGoalMs} ms`,
        met: loopMs < loopGoalMs,
      },
    ];
  },
};

async function inTemporary<T>(parent: string, measure: (dir: string) => T | Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(parent, 'siteward-bench-'));
  try {
    return await measure(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function bareLoop(dir: string): number {
  const db = openDatabase({ path: join(dir, 'site.db'), file: 'site', maxBytes: 1024 ** 3 });
  const event = db.prepare(
    `INSERT INTO ev(seq, lane, eid, okey, mono, wall, boot, clock, crc, class, part, body, event, silent)
     VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
  );
  const pending = db.prepare('INSERT INTO pend(lane, seq, okey, silent) VALUES(?, ?, ?, 0)');
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')];
  let seq = 0;
  const group = () => {
    begin.run();
    for (let index = 0; index < writers; index += 1) {
      seq += 1;
      const row = makeRow(seq, 'trouble');
      const { eventId, orderKey, mono, wall, boot, clock, body } = row;
      const text = JSON.stringify(row.event);
      event.run(
        seq,
        troubleLane,
        eventId,
        orderKey,
        mono,
        wall,
        boot,
        clock,
        crc32(body),
        row.event.class,
        'p1',
        body,
        text,
      );
      pending.run(troubleLane, seq, orderKey);
    }
    commit.run();
  };
  for (const warm = performance.now(); performance.now() - warm < warmMs; ) group();
  const first = seq;
  const began = performance.now();
  while (performance.now() - began < roundMs) group();
  const rate = ((seq - first) / (performance.now() - began)) * 1000;
  db.close();
  return rate;
}

interface Through {
  readonly perSecond: number;
  /** 99th percentile of the main thread's event-loop delay, milliseconds. */
  readonly loopMs: number;
}

async function throughStore(dir: string, lane: Lane): Promise<Through> {
  const log = pino({ level: 'error' });
  const store = openStore({ dir, clock: systemClock(), log, metrics: new Registry() });
  await store.start(new AbortController().signal);
  const warm = await writeAtOnce(store, { writers, ms: warmMs, lane, firstSeq: store.recovery().nextSeq });
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const { perSecond } = await writeAtOnce(store, { writers, ms: roundMs, lane, firstSeq: warm.nextSeq });
  loop.disable();
  await store.stop();
  return { perSecond, loopMs: loop.percentile(99) / 1e6 };
}

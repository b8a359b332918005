import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { type OutboxRow, openStore } from '#site/store/index.ts';
import { openDatabase } from '../src/site/store/sqlite.ts';
import { type Figure, type Measurement, median } from './figure.ts';

const writers = 64;
const bodyBytes = 600;
const rounds = 9;
const roundMs = 800;

const goal = 0.8;

/** Durable events per second from concurrent writers, beside a bare loop. */
export const store: Measurement = {
  name: 'store',
  title: `Durable events from ${writers} concurrent writers`,
  about: `${writers} writers each wait for their event to be on disk (\`synchronous=FULL\`) before the next, through the store and its
thread. Beside it a bare better-sqlite3 loop in one thread writes the same rows in groups of ${writers} into the same tables.
${rounds} rounds of ${roundMs} ms each in turns on the same file system; the ratio is the median of the rounds' own.`,
  remark: `Where the share falls short, it is not for the disk's sake. A profile of the store thread shows half of its time in the
transactions and a tenth in writing rows, as in the bare loop; what is added is one trip to the main thread and back per
group, in which the thread has nothing to do, since every writer waits for its answer, and the answers' own message. On a
busy machine a writer that is scheduled late misses its group, and groups of 16 or 48 commit at the price of 64. Larger
messages and rarer reports were tried in turns with this and differ by less than the noise. The slower the disk, the less all
of this counts.`,
  async run(tell) {
    const bare: number[] = [];
    const through: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      tell(`round ${round + 1} of ${rounds}`);
      bare.push(await inTemporary(tmpdir(), bareLoop));
      through.push(await inTemporary(tmpdir(), throughStore));
    }
    const ratio = Math.round(median(through.map((rate, round) => rate / (bare[round] ?? rate))) * 1000) / 1000;
    const unit = 'events/s';
    return [
      { name: `bare better-sqlite3, groups of ${writers}`, value: Math.round(median(bare)), unit },
      {
        name: `store, ${writers} concurrent writers`,
        value: Math.round(median(through)),
        unit,
        ratio,
        goal: `at least ${goal} of the bare loop`,
        met: ratio >= goal,
      } satisfies Figure,
    ];
  },
};

async function inTemporary(parent: string, measure: (dir: string) => number | Promise<number>): Promise<number> {
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
      const row = makeRow(seq);
      const { eventId, orderKey, mono, wall, boot, clock, body } = row;
      const text = JSON.stringify(row.event);
      event.run(seq, 0, eventId, orderKey, mono, wall, boot, clock, crc32(body), row.event.class, 'p1', body, text);
      pending.run(0, seq, orderKey);
    }
    commit.run();
  };
  for (let warm = 0; warm < 20; warm += 1) group();
  const first = seq;
  const began = performance.now();
  while (performance.now() - began < roundMs) group();
  const rate = ((seq - first) / (performance.now() - began)) * 1000;
  db.close();
  return rate;
}

async function throughStore(dir: string): Promise<number> {
  const log = pino({ level: 'error' });
  const store = openStore({ dir, clock: systemClock(), log, metrics: new Registry() });
  await store.start(new AbortController().signal);
  let seq = store.recovery().nextSeq;
  let end = performance.now() + 200;
  const writer = async () => {
    while (performance.now() < end) {
      const row = makeRow(seq);
      seq += 1;
      await store.commit({ rows: [row], arming: [], inputs: [] });
    }
  };
  const all = () => Promise.all(Array.from({ length: writers }, writer));
  await all();
  const first = seq;
  const began = performance.now();
  end = began + roundMs;
  await all();
  const rate = ((seq - first) / (performance.now() - began)) * 1000;
  await store.stop();
  return rate;
}

function makeRow(seq: number): OutboxRow {
  const eventId = `00000000-0000-8000-8000-${String(seq).padStart(12, '0')}`;
  const event: SiteEvent = {
    event_id: eventId,
    event_type: 'burglary',
    kind: 'burglary',
    class: 'alarm',
    status: 'active',
    partition: 'p1',
    seq,
    source: 'panel:main',
    at: '2026-11-27T20:00:00.000Z',
    data: { version: 1, epoch: 1, clock: 'synced' },
  };
  const boot = '00000000-0000-4000-8000-000000000001';
  const body = JSON.stringify({ event_id: eventId, pad: '' }).padEnd(bodyBytes, 'x');
  const times = { mono: seq, wall: 1_795_896_000_000, boot, clock: 'synced' } as const;
  return { seq, lane: 'alarm', eventId, orderKey: 'p1', ...times, body, event, media: [], toCloud: true };
}

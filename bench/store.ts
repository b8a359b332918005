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

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly ratio?: number;
  readonly goal?: string;
}

const writers = 64;
const bodyBytes = 600;
const rounds = 9;
const roundMs = 800;

/**
 * Durable events per second from 64 concurrent writers through the store, beside a bare better-sqlite3 loop that
 * writes the same rows in groups of 64 into the same tables. Rounds alternate on the same file system, so that a
 * busy moment of the machine meets both; the ratio is the median of the rounds' own.
 */
export async function benchStore(dir = tmpdir()): Promise<Figure[]> {
  const bare: number[] = [];
  const store: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await inTemporary(dir, bareLoop));
    store.push(await inTemporary(dir, throughStore));
  }
  const value = median(store);
  const limit = median(bare);
  return [
    { name: 'bare better-sqlite3, groups of 64', value: Math.round(limit), unit: 'events/s' },
    {
      name: 'store, 64 concurrent writers',
      value: Math.round(value),
      unit: 'events/s',
      ratio: Math.round(median(store.map((rate, round) => rate / (bare[round] ?? rate))) * 1000) / 1000,
      goal: 'at least 0.8 of the bare loop',
    },
  ];
}

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
    `INSERT INTO ev(seq, lane, eid, okey, mono, wall, boot, clock, crc, class, part, body, event)
     VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const pending = db.prepare('INSERT INTO pend(lane, seq, okey) VALUES(?, ?, ?)');
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

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

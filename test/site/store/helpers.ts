import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { Lane, SiteEvent } from '#site/model/index.ts';
import { type Commit, type OutboxRow, openStore, type Store, type StoreLimits } from '#site/store/index.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export function temporaryDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-store-'));
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface TestStore extends Store {
  readonly metrics: Registry;
}

export interface TestStoreOptions {
  limits?: Partial<StoreLimits>;
  workerUrl?: URL;
  clock?: ReturnType<typeof manualClock>;
}

/** Not started; stopped at the end of the test. */
export function makeStore(dir: string, options: TestStoreOptions = {}): TestStore {
  const metrics = new Registry();
  const { clock = manualClock(), ...rest } = options;
  const store = openStore({ dir, clock, log: pino({ level: 'silent' }), metrics, ...rest });
  cleanups.push(() => store.stop());
  return Object.assign(store, { metrics });
}

export async function startStore(dir: string, options: TestStoreOptions = {}): Promise<TestStore> {
  const store = makeStore(dir, options);
  await store.start(new AbortController().signal);
  return store;
}

export function row(
  seq: number,
  change: Partial<OutboxRow> & { part?: string; class?: SiteEvent['class'] } = {},
): OutboxRow {
  const { part = 'p1', class: eventClass = 'alarm', ...rest } = change;
  const eventId = `event-${seq}`;
  const event: SiteEvent = {
    event_id: eventId,
    event_type: 'burglary',
    kind: 'burglary',
    class: eventClass,
    status: 'active',
    partition: part,
    seq,
    source: 'panel:main',
    at: '2026-11-27T20:00:00.000Z',
    data: { version: 1, epoch: 1, clock: 'synced' },
  };
  return {
    seq,
    lane: 'alarm',
    eventId,
    orderKey: part,
    mono: seq * 10,
    wall: 1_795_896_000_000 + seq,
    boot: 'boot-1',
    clock: 'synced',
    body: JSON.stringify({ event_id: eventId, text: 'Außentür' }),
    event,
    media: [],
    toCloud: true,
    ...rest,
  };
}

export const commitOf = (rows: OutboxRow[], change: Partial<Commit> = {}): Commit => ({
  rows,
  arming: [],
  inputs: [],
  ...change,
});

export const settled = (seq: number, lane: Lane = 'alarm') =>
  ({ seq, lane, verdict: 'delivered', at: 5000, tries: 2 }) as const;

export const parkedVerdict = (seq: number, lane: Lane = 'alarm') =>
  ({ seq, lane, verdict: 'parked', at: 5000, tries: 3, status: 400, reason: 'bad field' }) as const;

/** Works on a file nobody has open. */
export function withFile<T>(path: string, work: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** The sum of a metric over all its labels; for a histogram give `<name>_count` or `<name>_sum`. */
export async function metric(store: TestStore, name: string, labels: Record<string, string> = {}): Promise<number> {
  const base = name.replace(/_(count|sum)$/, '');
  const found = (await store.metrics.getMetricsAsJSON()).filter((one) => one.name === name || one.name === base);
  const values = found.flatMap(
    (one) => one.values as { value: number; labels: Record<string, string>; metricName?: string }[],
  );
  return values
    .filter((one) => (one.metricName ?? name) === name)
    .filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((sum, one) => sum + one.value, 0);
}

/** Waits until the condition holds, at most ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the condition did not come true within ten seconds');
}

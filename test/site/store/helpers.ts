import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import pino, { type Logger } from 'pino';
import { Registry } from 'prom-client';
import { afterEach } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { openStore, type Store, type StoreLimits } from '#site/store/index.ts';

export { until } from '../../harness/until.ts';
export * from './rows.ts';

const cleanups: (() => unknown)[] = [];
/** What was begun last ends first; one that fails keeps none of the others from being ended. */
afterEach(async () => {
  const failures: unknown[] = [];
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
});

/** At the end of the test, before the end of what was begun earlier. */
export const atEnd = (cleanup: () => unknown): void => void cleanups.push(cleanup);

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
  ahead?: ThreadAhead;
  clock?: ReturnType<typeof manualClock>;
  onRestored?: () => void;
  onForgotten?: (files: readonly string[]) => void;
  log?: Logger;
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

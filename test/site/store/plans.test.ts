import Sqlite from 'better-sqlite3';
import { expect, it, vi } from 'vitest';
import { Engine } from '../../../src/site/store/engine.ts';
import { Files } from '../../../src/site/store/files.ts';
import { defaultLimits } from '../../../src/site/store/limits.ts';
import { emptyDatabase } from '../../../src/site/store/schema.ts';
import { temporaryDir } from './helpers.ts';

/** By rowid or by a short table beside it: a million rows are no reason to hold up an alarm. */
it('no statement of the store reads all events through', () => {
  const asked = new Set<string>();
  const prepare = Sqlite.prototype.prepare;
  vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function prepared(this: Sqlite.Database, sql: string) {
    asked.add(sql);
    return prepare.call(this, sql);
  } as typeof prepare);
  try {
    everyRoad();
  } finally {
    vi.restoreAllMocks();
  }
  const joined = [...asked].filter((sql) => /\b(FROM|JOIN) ev\b/.test(sql));
  expect(joined.length).toBeGreaterThan(15);
  const db = emptyDatabase('site');
  const slow = joined.filter((sql) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...places(sql)) as { detail: string }[];
    return steps.some(({ detail }) => /^SCAN ev\b(?!.*INDEX)/.test(detail));
  });
  db.close();
  expect(slow).toEqual([]);
});

/** Both files opened, their marks written, one given up and made anew: what is prepared at once or on these ways. */
function everyRoad(): void {
  const data = { dir: temporaryDir(), bootId: 'boot', limits: defaultLimits, sent: new Int32Array(1) };
  const files = new Files({ data, note: () => {}, wall: () => 0 });
  const engine = new Engine(files, defaultLimits);
  engine.open();
  engine.read({ id: 1, op: 'stats' });
  files.writeSide();
  files.abandonBulk();
  engine.close(0);
}

/** A value for each place of a statement, which its plan does not look at. */
function places(sql: string): unknown[] {
  const names = [...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, 1]);
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  return names.length > 0 ? [...values, Object.fromEntries(names)] : values;
}

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import type { AuditRecord } from '#site/model/index.ts';
import { AuditLog } from '#site/store/audit-log.ts';
import { openStore, type Store } from '#site/store/index.ts';

const base = 1_800_000_000_000;
const entry = (seq: number): AuditRecord => ({
  ...{ kind: 'command', source: 'lan', client_id: 'keypad-1', actor_ref: 'anna', target: 'p1', action: 'disarm', seq },
  ...{ at_wall: base + seq, at_mono: seq, clock: 'synced', epoch: 1, command_id: `id-${'x'.repeat(200)}` },
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-large-audit-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function opened(dir: string): Promise<Store> {
  const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() });
  onTestFinished(() => store.stop());
  await store.start(new AbortController().signal);
  return store;
}

/** Works on the files while nobody has them. */
function withSite(dir: string, work: (db: Sqlite.Database) => void): void {
  const db = new Sqlite(join(dir, 'site.db'));
  try {
    db.transaction(() => work(db))();
  } finally {
    db.close();
  }
}

test('a log of 100,000 entries is verified without being held in memory, and a changed one is found', async () => {
  const dir = folder();
  await (await opened(dir)).stop();
  withSite(dir, (db) => {
    const log = new AuditLog(db);
    for (let commit = 1; commit <= 2000; commit += 1)
      log.add(
        commit,
        Array.from({ length: 50 }, (_, index) => entry(commit * 50 + index)),
      );
  });
  const store = await opened(dir);
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage().heapUsed - before);
  }, 5);
  const whole = await store.verifyAudit();
  clearInterval(look);
  expect(whole).toMatchObject({ entries: 100_000, shown: 100_000 });
  expect(whole.broken).toBeUndefined();
  // Its texts alone are above 50 MB.
  expect(most).toBeLessThan(40e6);
  await store.stop();
  withSite(dir, (db) => {
    db.prepare("UPDATE audit SET record = replace(record, 'anna', 'annb') WHERE n = 77777").run();
  });
  expect(await (await opened(dir)).verifyAudit()).toMatchObject({
    entries: 77_776,
    broken: { n: 77_777, why: 'changed' },
  });
}, 120_000);

test('entries that an older copy of site.db does not hold are missed, also when others follow', async () => {
  const dir = folder();
  const add = async (from: number) => {
    const store = await opened(dir);
    await store.commit({ rows: [], arming: [], inputs: [], state: ['{}'], audit: [entry(from), entry(from + 1)] });
    await store.stop();
  };
  await add(1);
  cpSync(join(dir, 'site.db'), join(dir, 'copy'));
  await add(3);
  cpSync(join(dir, 'copy'), join(dir, 'site.db'));
  const store = await opened(dir);
  expect((await store.verifyAudit()).broken?.why).toBe('cut');
  await store.commit({ rows: [], arming: [], inputs: [], audit: [entry(5)] });
  expect((await store.verifyAudit()).broken?.why).toBe('missing');
});

test('what comes after a site.db that was lost follows its last entry, and that it is gone is told', async () => {
  const dir = folder();
  const first = await opened(dir);
  await first.commit({ rows: [], arming: [], inputs: [], state: ['{}'], audit: [entry(1), entry(2)] });
  const { rows } = await first.auditSlice({ limit: 10 });
  await first.stop();
  rmSync(join(dir, 'site.db'));
  const store = await opened(dir);
  expect((await store.verifyAudit()).broken).toEqual({ n: rows.at(-1)?.n, why: 'cut' });
  await store.commit({ rows: [], arming: [], inputs: [], state: ['{}'], audit: [{ ...entry(3), epoch: 2 }] });
  const [next] = (await store.auditSlice({ limit: 10 })).rows;
  expect(next?.prev).toBe(rows.at(-1)?.hash);
  expect((await store.verifyAudit()).broken).toEqual({ n: next?.n, why: 'missing' });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import { sha256 } from '#lib/digest.ts';
import type { AuditRecord } from '#site/model/index.ts';
import { chainWalk, readAuditEntry, zeros } from '#site/store/audit-chain.ts';
import { AuditLog } from '#site/store/audit-log.ts';
import { type AuditLink, openStore } from '#site/store/index.ts';
import { emptyDatabase } from '#site/store/schema.ts';
import { plan, startRig } from './rig.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const entry = (seq: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ kind: 'transition', source: 'lan', target: 'p1', action: 'armed_away', seq },
  ...{ at_wall: 1_800_000_000_000 + seq, at_mono: seq, clock: 'synced', epoch: 1 },
  ...more,
});

function memoryLog() {
  const db = emptyDatabase('site');
  cleanups.push(() => db.close());
  const log = new AuditLog(db);
  /** `heads`: what else is known of the newest entries, as from `bulk.db`. */
  const verify = (heads: readonly AuditLink[] = []) => {
    const walk = chainWalk(heads);
    const slice = () => {
      const { base, head, foreign, ...found } = log.read({
        from: walk.from,
        to: Number.MAX_SAFE_INTEGER,
        limit: 7,
        newest: false,
      });
      const more = { ...(base !== undefined && { base }), ...(foreign !== undefined && { foreign }) };
      return { ...found, ...more, heads: head === undefined ? [] : [head] };
    };
    while (walk.take(slice()));
    return walk.verdict();
  };
  return { db, log, verify };
}

describe('the audit log of a site', () => {
  it('has an entry for each transition and each answer, in one chain, and nothing of a repeated commit', async () => {
    const rig = await startRig();
    cleanups.push(() => rig.remove());
    await rig.open('1', false);
    await rig.command({ verb: 'arm', code: 'ok' });
    rig.refuse = true;
    const late = rig.command({ verb: 'disarm' });
    setTimeout(() => {
      rig.refuse = false;
    }, 50);
    await late;
    await expect.poll(() => rig.store.audit({ limit: 10 }).then((found) => found.length)).toBe(4);
    const told = (await rig.store.audit({ limit: 10 })).map(({ kind, action, before, after }) => [
      ...[kind, action, before, after],
    ]);
    expect(told.reverse()).toEqual([
      ['transition', 'armed_away', 'disarmed', 'armed_away away'],
      ['command', 'arm', undefined, 'armed_away'],
      ['transition', 'disarmed', 'armed_away away', 'disarmed'],
      ['command', 'disarm', undefined, 'disarmed'],
    ]);
    expect(await rig.store.verifyAudit()).toMatchObject({ entries: 4, shown: 4, anew: [] });
    expect((await rig.store.verifyAudit()).broken).toBeUndefined();
    const [, second] = await rig.store.audit({ limit: 2 });
    expect((await rig.store.audit({ limit: 1, before: second?.n ?? 0 }))[0]?.action).toBe('arm');
  });

  it('has an entry for each change of the plan, without a name of it', async () => {
    const rig = await startRig();
    cleanups.push(() => rig.remove());
    await rig.controller.reconfigure(plan);
    await rig.controller.reconfigure({ ...plan, confirmMs: 5000 });
    const found = await rig.store.audit({ limit: 10 });
    expect(found).toMatchObject([{ kind: 'config', target: 'site', action: 'plan' }]);
    expect(found[0]?.after).toMatch(/^[0-9a-f]{64}$/);
    expect(found[0]?.after).not.toBe(found[0]?.before);
    expect(JSON.stringify(found)).not.toContain('Warehouse');
  });

  it('is whole after kill -9 in the middle of commits, and goes on', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audit-'));
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    const script = new URL('./audit-child.ts', import.meta.url).pathname;
    let told = 0;
    for (let round = 0; round < 3; round += 1) {
      const child = spawn(process.execPath, [script, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
      cleanups.push(() => child.kill('SIGKILL'));
      const lines = createInterface(child.stdout);
      let seen = 0;
      for await (const _ of lines) {
        seen += 1;
        if (seen >= 40 + round * 13) break;
      }
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      told += seen;
    }
    const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() });
    cleanups.push(() => store.stop());
    await store.start(new AbortController().signal);
    const verdict = await store.verifyAudit();
    expect(verdict.broken).toBeUndefined();
    expect(verdict.entries).toBeGreaterThanOrEqual(told);
  }, 60_000);

  it('one flipped byte in site.db names the entry', async () => {
    const rig = await startRig();
    cleanups.push(() => rig.remove());
    await rig.open('1', false);
    for (const verb of ['arm', 'disarm'] as const) await rig.command({ verb, code: 'ok' });
    const victim = (await rig.store.audit({ limit: 3 })).at(-1)?.n;
    await rig.stop();
    const db = new Sqlite(join(rig.dir, 'site.db'));
    db.prepare("UPDATE audit SET record = replace(record, 'anna', 'annb') WHERE n = ?").run(victim);
    db.close();
    const again = await startRig({ dir: rig.dir });
    cleanups.push(() => again.stop());
    expect(await again.store.verifyAudit()).toMatchObject({ entries: 1, broken: { n: victim, why: 'changed' } });
  });
});

describe('the chain', () => {
  it('a commit that comes again under its number, also after later ones, changes nothing', async () => {
    const { log, verify } = memoryLog();
    for (const commit of [1, 3, 2, 3, 1, 4]) log.add(commit, [entry(commit), entry(commit)]);
    expect(verify()).toMatchObject({ entries: 8 });
    expect(verify().broken).toBeUndefined();
  });

  it('entries of commits without a state are kept over two starts, and none passes for a repeat of another run', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-audit-'));
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    for (let run = 1; run <= 3; run += 1) {
      const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() });
      await store.start(new AbortController().signal);
      for (const seq of [1, 2])
        await store.commit({ rows: [], arming: [], inputs: [], audit: [entry(10 * run + seq)] });
      expect(await store.audit({ limit: 100 })).toHaveLength(2 * run);
      await store.stop();
    }
  });

  it('what is put in by hand above all numbers keeps nothing from being written', () => {
    const { db, log } = memoryLog();
    log.add(1, [entry(1)]);
    db.exec("INSERT INTO audit(n, prev, hash, at, record) VALUES(9223372036854775807, 'x', 'y', 1, 'null')");
    log.recount();
    log.add(2, [entry(2)]);
    expect(log.read({ from: 0, to: Number.MAX_SAFE_INTEGER, limit: 10, newest: false }).rows).toHaveLength(2);
  });

  it.each([-5, 0, 9e15, 9e15 + 1, 2 ** 63])(
    'an entry that was put in by hand under the number %d is told',
    (number) => {
      const { db, log, verify } = memoryLog();
      log.add(1, [entry(1)]);
      const n = number === 2 ** 63 ? '9223372036854775807' : String(number);
      const record = JSON.stringify({ ...entry(2), n: number, prev_hash: zeros });
      const put = `INSERT INTO audit(n, prev, hash, at, record) VALUES(${n}, ?, ?, ?, ?)`;
      db.prepare(put).run(zeros, sha256(record), entry(2).at_wall, record);
      expect(verify().broken).toEqual({ n: Math.min(number, Number.MAX_SAFE_INTEGER), why: 'changed' });
      log.add(2, [entry(3)]);
      expect(verify().broken?.why).toBe('changed');
    },
  );

  it.each(['null', '7', '{"n":1,"at_wall":1e300}', '{'])(
    'a record that is %s under its own hash is found, and is no entry',
    (text) => {
      const { db, log, verify } = memoryLog();
      for (const commit of [1, 2]) log.add(commit, [entry(commit)]);
      const [row] = log.read({ from: 0, to: 1e15, limit: 1, newest: false }).rows;
      db.prepare('UPDATE audit SET record = ?, hash = ? WHERE n = ?').run(text, sha256(text), row?.n);
      expect(verify().broken).toEqual({ n: row?.n, why: 'changed' });
      expect(readAuditEntry(text)).toBeUndefined();
    },
  );

  it('any change of any column of any entry, and any entry taken out, is found', () => {
    const change = fc.constantFrom(
      'UPDATE audit SET record = replace(record, \'"p1"\', \'"p2"\') WHERE n = ?',
      "UPDATE audit SET hash = '0' || substr(hash, 2, 62) || 'x' WHERE n = ?",
      "UPDATE audit SET prev = 'x' || substr(prev, 2) WHERE n = ?",
      'UPDATE audit SET at = at + 1 WHERE n = ?',
      'DELETE FROM audit WHERE n = ?',
    );
    fc.assert(
      fc.property(fc.nat({ max: 19 }), change, (index, sql) => {
        const { db, log, verify } = memoryLog();
        for (let commit = 1; commit <= 20; commit += 1) log.add(commit, [entry(commit)]);
        const n = log.read({ from: 0, to: 1e15, limit: 20, newest: false }).rows[index]?.n ?? 0;
        db.prepare(sql).run(n);
        const isLast = index === 19;
        const broken = sql.startsWith('DELETE')
          ? isLast
            ? { n, why: 'cut' }
            : { n: n + 1, why: 'missing' }
          : { n, why: 'changed' };
        expect(verify().broken).toEqual(broken);
      }),
      { numRuns: 60 },
    );
  });

  /** Twenty entries of which the newest five are then taken out, and what was the newest. */
  function cutLog() {
    const { db, log, verify } = memoryLog();
    for (let commit = 1; commit <= 20; commit += 1) log.add(commit, [entry(commit)]);
    const { head = { n: 0, hash: '' } } = log.read({ from: 0, to: 1, limit: 1, newest: true });
    db.prepare('DELETE FROM audit WHERE n > ?').run(head.n - 5);
    return { db, log, verify, head };
  }

  it('newest entries that were taken out are missed, also when others follow', () => {
    const { log, verify, head } = cutLog();
    log.recount();
    expect(verify()).toMatchObject({ entries: 15, broken: { n: head.n, why: 'cut' } });
    log.add(30, [entry(30), entry(31)]);
    expect(verify().broken).toEqual({ n: head.n + 1, why: 'missing' });
  });

  it('they are missed by what bulk.db or an export knows when site.db was made to forget them', () => {
    const { db, log, verify, head } = cutLog();
    db.prepare("DELETE FROM meta WHERE k = 'audit_head'").run();
    log.recount();
    expect(verify().broken).toBeUndefined();
    expect(verify([head]).broken).toEqual({ n: head.n, why: 'cut' });
    log.adopt(head);
    log.add(30, [entry(30)]);
    expect(verify().broken).toEqual({ n: head.n + 1, why: 'missing' });
  });

  it('a log that was written anew from some entry on does not hold what an export ended with', () => {
    const { db, log, verify, head } = cutLog();
    db.prepare("DELETE FROM meta WHERE k = 'audit_head'").run();
    log.recount();
    for (let commit = 21; commit <= 40; commit += 1) log.add(commit, [entry(commit)]);
    expect(verify().broken).toBeUndefined();
    expect(verify([head]).broken).toEqual({ n: head.n, why: 'changed' });
  });

  it('numbers stay exact in the epoch of a store whose side file could not be read', () => {
    const { log, verify } = memoryLog();
    const epoch = 20_785;
    for (let commit = 1; commit <= 5; commit += 1) log.add(commit, [entry(1, { epoch }), entry(2, { epoch })]);
    expect(verify()).toMatchObject({ entries: 10 });
    expect(verify().broken).toBeUndefined();
  });

  it('a store that was made anew goes on behind the first, and both are whole', () => {
    const { db, log, verify } = memoryLog();
    log.add(1, [entry(1)]);
    const kept = log.read({ from: 0, to: 1e15, limit: 1, newest: true }).rows;
    db.prepare('DELETE FROM audit').run();
    log.recount();
    log.add(1, [entry(1, { epoch: 2 }), entry(2, { epoch: 2 })]);
    for (const { n, prev, hash, at, record } of kept) {
      db.prepare('INSERT INTO audit(n, prev, hash, at, record) VALUES(?, ?, ?, ?, ?)').run(n, prev, hash, at, record);
    }
    expect(verify()).toMatchObject({ entries: 3, anew: [] });
    expect(verify().broken).toBeUndefined();
  });

  it('what is older than 90 days and was exported gives way above 100,000 entries, and the rest is still whole', () => {
    const { db, log, verify } = memoryLog();
    const many = (from: number, at: number) =>
      db.transaction(() => {
        for (let chunk = 0; chunk < 100; chunk += 1) {
          const commit = from + chunk;
          log.add(
            commit,
            Array.from({ length: 1001 }, (_, i) => entry(i, { at_wall: at })),
          );
        }
      })();
    many(1, 0);
    for (let commit = 1000; commit < 1005; commit += 1) log.add(commit, [entry(commit)]);
    expect(verify().entries).toBe(100_105);
    const [row] = log.read({ from: 0, to: 1e15, limit: 90, newest: false }).rows.slice(-1);
    expect(log.wasExported({ n: row?.n ?? 0, hash: 'another' })).toBe(false);
    expect(log.wasExported({ n: row?.n ?? 0, hash: row?.hash ?? '' })).toBe(true);
    for (let commit = 1005; commit < 1010; commit += 1) log.add(commit, [entry(commit)]);
    const verdict = verify();
    expect(verdict.broken).toBeUndefined();
    expect(verdict.entries).toBe(100_110 - 90);
  }, 60_000);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import type { AuditDraft, AuditRecord } from '#site/model/index.ts';
import { openStore, type Store } from '#site/store/index.ts';
import type { CodeVerdict } from '#site/users/index.ts';
import { auditPort, newAuditLines } from '../../src/daemon/audit-port.ts';
import { createAuditors } from '../../src/daemon/auditors.ts';
import { auditLine } from '../../src/lan/mqtt/audit-feed.ts';

const base = 1_800_000_000_000;
const entry = (seq: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ kind: 'command', source: 'lan', actor_ref: 'anna', target: 'p1', action: 'disarm', outcome: 'done', seq },
  ...{ at_wall: base + seq * 1000, at_mono: seq, clock: 'synced', epoch: 1 },
  ...more,
});
/** As the core tells a duress code: beside the entry everybody sees. */
const silent = (seq: number) => entry(seq, { action: 'duress', visibility: 'auditor' });

async function storeWith(dir: string): Promise<Store> {
  const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() });
  await store.start(new AbortController().signal);
  return store;
}

/** A port over a real store that holds these entries. */
async function portOver(entries: readonly AuditRecord[], tamper?: (db: Sqlite.Database) => void) {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-audit-port-'));
  let store = await storeWith(dir);
  onTestFinished(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  for (let from = 0; from < entries.length; from += 60)
    await store.commit({ rows: [], arming: [], inputs: [], audit: entries.slice(from, from + 60) });
  if (tamper !== undefined) {
    await store.stop();
    const db = new Sqlite(join(dir, 'site.db'));
    tamper(db);
    db.close();
    store = await storeWith(dir);
  }
  const clock = manualClock();
  const notes: AuditDraft[] = [];
  const verdicts: Record<string, CodeVerdict> = {
    '1111': { code: 'ok', actor: 'eva', role: 'auditor' },
    '2222': { code: 'ok', actor: 'anna', role: 'owner' },
    '1119': { code: 'duress', actor: 'eva', role: 'auditor' },
    '2229': { code: 'duress', actor: 'anna', role: 'owner' },
  };
  const calls: string[] = [];
  const note = async (one: AuditDraft) => void notes.push(one);
  const auditors = createAuditors({
    ...{ note, clock },
    check: async (code) => verdicts[code] ?? { code: 'bad', refused: { why: 'unknown' } },
    onDuress: (actor) => void calls.push(actor),
  });
  const port = auditPort({ store: () => store, auditors, note });
  return { calls, port, notes, clock, store: () => store };
}

type Port = Awaited<ReturnType<typeof portOver>>['port'];

/** Everything a client without a session is told, but for the cursors themselves. */
async function allTold(port: Port, limit: number) {
  const pages: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await port.entries({ limit, ...(cursor !== undefined && { cursor }) });
    pages.push(page.items, page.next === null);
    cursor = page.next;
  }
  const steps: unknown[] = [];
  for (let walk: string | null | undefined; walk !== null; ) {
    const verdict = await port.verify(walk === undefined ? {} : { walk });
    steps.push({ ...verdict, walk: verdict.walk !== null });
    walk = verdict.walk;
  }
  return { pages, steps };
}

test('safety 4: pages, counts and progress are the same whether silent entries are there or not', async () => {
  const plain = Array.from({ length: 12_000 }, (_, index) => entry(index + 1));
  const withSilent = plain.flatMap((one, index) => (index % 499 === 3 ? [one, silent(index + 1)] : [one]));
  const [told, same] = await Promise.all(
    [plain, withSilent].map(async (entries) => allTold((await portOver(entries)).port, 500)),
  );
  expect(same).toEqual(told);
  expect(told?.steps.map((step) => (step as { entries: number }).entries)).toEqual([5000, 10_000, 12_000]);
  expect(JSON.stringify(same)).not.toMatch(/duress|auditor|prev_hash|"n":|commit"/);
}, 60_000);

test('safety 4: a silent entry that was tampered with is told as a broken log, at the same place as any other', async () => {
  const about = [entry(1), silent(1), entry(2)];
  const { port } = await portOver(
    about,
    (db) => void db.prepare("UPDATE audit SET record = replace(record, 'duress', 'durexx')").run(),
  );
  expect(await port.verify({})).toEqual({
    ...{ done: true, walk: null, entries: 1, at: new Date(base + 1000).toISOString(), anew: [], broken: 'changed' },
  });
});

test('an auditor sees every entry with its number, and that they looked is recorded', async () => {
  const { port, notes } = await portOver([entry(1), silent(1), entry(2)]);
  const { session, actor } = await port.open('1111');
  expect(actor).toBe('eva');
  const { items } = await port.entries({ session, limit: 10 });
  expect(items.map(({ n, action, auditor_only }) => [n, action, auditor_only])).toEqual([
    [3, 'disarm', undefined],
    [2, 'duress', true],
    [1, 'disarm', undefined],
  ]);
  expect(await port.verify({ session })).toMatchObject({ done: true, entries: 3, broken: null });
  expect(notes).toEqual([expect.objectContaining({ kind: 'login', actor_ref: 'eva', outcome: 'done' })]);
});

test('a code of somebody else opens nothing; after five nobody is heard for ten minutes, and each is recorded', async () => {
  const { port, notes, clock } = await portOver([entry(1)]);
  const refusal = { code: 'auditor_needed', message: 'the code is not that of an auditor' };
  for (const code of ['2222', '9999', '9998', '9997', '9996'])
    await expect(port.open(code)).rejects.toMatchObject(refusal);
  await expect(port.open('1111')).rejects.toMatchObject({ code: 'auditor_needed', message: /wait 600 s/ });
  expect(notes.map(({ kind, reason, actor_ref: actor }) => [kind, reason, actor])).toEqual([
    ['refusal', 'NOT_ALLOWED', 'anna'],
    ...Array.from({ length: 4 }, () => ['refusal', 'BAD_CODE', undefined]),
  ]);
  expect(JSON.stringify(notes)).not.toMatch(/2222|999\d/);
  clock.advance(600_000);
  await expect(port.open('1111')).resolves.toMatchObject({ actor: 'eva' });
});

test('a session ends after 15 minutes, and a made-up one opens nothing', async () => {
  const { port, clock } = await portOver([entry(1), silent(1)]);
  const { session } = await port.open('1111');
  clock.advance(15 * 60_000);
  for (const over of [session, 'made-up']) {
    await expect(port.entries({ session: over, limit: 5 })).rejects.toMatchObject({ code: 'auditor_needed' });
    await expect(port.export({ session: over })).rejects.toMatchObject({ code: 'auditor_needed' });
  }
});

test('entries are found by kind and time', async () => {
  const { port } = await portOver([entry(1), entry(2, { kind: 'refusal', reason: 'BAD_CODE' }), entry(3), entry(4)]);
  const found = async (query: Partial<Parameters<Port['entries']>[0]>) =>
    (await port.entries({ limit: 10, ...query })).items.map(({ seq }) => seq);
  expect(await found({ kinds: ['refusal', 'login'] })).toEqual([2]);
  const at = (seq: number) => new Date(base + seq * 1000).toISOString();
  expect(await found({ since: at(2), before: at(4) })).toEqual([3, 2]);
});

test('an export goes on behind the last one, and not where the log was changed since', async () => {
  const { port, notes, store } = await portOver([entry(1), silent(1), entry(2)]);
  const { session } = await port.open('1111');
  const { items } = await port.export({ session });
  const [, second, last] = items;
  expect(items).toHaveLength(3);
  if (second === undefined || last === undefined) return;
  await port.exported({ session, last });
  expect(notes.at(-1)).toMatchObject({ kind: 'export', actor_ref: 'eva', after: last.hash });
  expect((await port.export({ session, after: second })).items).toEqual([last]);
  expect((await port.export({ session, after: last })).items).toEqual([]);
  const other = { n: last.n, hash: second.hash };
  const refusal = { code: 'audit_discontinued' };
  await expect(port.export({ session, after: other })).rejects.toMatchObject(refusal);
  await expect(port.exported({ session, last: other })).rejects.toMatchObject(refusal);
  expect((await store().auditSlice({ limit: 1 })).exported).toBe(last.n);
});

test('marks of an export are for auditors, and one that is not in the log is missed', async () => {
  const { port } = await portOver([entry(1), entry(2)]);
  const { session } = await port.open('1111');
  const { items } = await port.export({ session });
  const mark = { n: items[0]?.n ?? 0, hash: items[0]?.hash ?? '' };
  await expect(port.verify({ marks: [mark] })).rejects.toMatchObject({ code: 'auditor_needed' });
  expect(await port.verify({ session, marks: [mark] })).toMatchObject({ broken: null });
  const ahead = { n: 99, hash: mark.hash };
  expect(await port.verify({ session, marks: [mark, ahead] })).toMatchObject({ broken: 'cut', broken_n: 99 });
});

test('a cursor of another run is refused', async () => {
  const [one, other] = [await portOver([entry(1), entry(2)]), await portOver([entry(1), entry(2)])];
  const { next } = await one.port.entries({ limit: 1 });
  await expect(other.port.entries({ limit: 1, cursor: next ?? '' })).rejects.toMatchObject({
    code: 'audit_discontinued',
  });
});

test('safety 4: a duress code calls for help, opens what the code of the auditor opens, and shows what everybody sees', async () => {
  const { port, calls, notes } = await portOver([entry(1), silent(1), entry(2)]);
  const forced = await port.open('1119');
  const free = await port.open('1111');
  expect(calls).toEqual(['eva']);
  expect({ ...forced, session: '' }).toEqual({ ...free, session: '' });
  expect(notes[0]).toEqual(notes[1]);
  const { session } = forced;
  expect(await port.entries({ session, limit: 10 })).toEqual(await port.entries({ limit: 10 }));
  expect(await port.verify({ session })).toEqual(await port.verify({}));
  const over = { code: 'auditor_needed', message: 'the session of the auditor has ended; give the code again' };
  const last = { n: 1, hash: '0'.repeat(64) };
  await expect(port.export({ session })).rejects.toMatchObject(over);
  await expect(port.exported({ session, last })).rejects.toMatchObject(over);
  await expect(port.verify({ session, marks: [last] })).rejects.toMatchObject(over);
});

test('safety 1: a duress code of somebody else calls for help too, also while no code is heard', async () => {
  const { port, calls, notes } = await portOver([entry(1)]);
  for (const code of ['2222', '2229', '9998', '9997', '9996'])
    await expect(port.open(code)).rejects.toMatchObject({ message: 'the code is not that of an auditor' });
  expect(notes[1]).toEqual(notes[0]);
  await expect(port.open('1119')).rejects.toMatchObject({ message: /wait 600 s/ });
  expect(calls).toEqual(['anna', 'eva']);
});

test('safety 4: the new lines for MQTT are what everybody may see, and go on behind what is hidden', async () => {
  const { store } = await portOver([entry(1), silent(1), entry(2), silent(2), entry(3)]);
  expect(await newAuditLines(store(), undefined, 2)).toEqual({ lines: [], place: 5 });
  const seqs: unknown[] = [];
  for (let place = 0; place < 5; ) {
    const page = await newAuditLines(store(), place, 2);
    seqs.push(...(page?.lines.map(({ line }) => line.seq) ?? []));
    for (const { line } of page?.lines ?? []) expect(Object.keys(auditLine.parse(line))).not.toContain('n');
    place = page?.place ?? 5;
  }
  expect(seqs).toEqual([1, 2, 3]);
  expect(await newAuditLines(store(), 5, 2)).toEqual({ lines: [], place: 5 });
  expect(await newAuditLines(undefined, 5, 2)).toBeUndefined();
});

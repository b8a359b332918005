import { randomBytes } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import type { AuditEntryBody, AuditPort, AuditVerdictBody } from '#lan/http/index.ts';
import type { AuditPage } from '#lan/mqtt/index.ts';
import { BoundedMap } from '#lib/bounded.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { type AuditDraft, type AuditEntry, isoTime } from '#site/model/index.ts';
import {
  type AuditRow,
  type AuditVerdict,
  type ChainWalk,
  chainWalk,
  readAuditEntry,
  type Store,
} from '#site/store/index.ts';
import { type Auditors, ended, needed, seesAll } from './auditors.ts';
import { createOpaque } from './opaque.ts';

/** Entries asked of the store at once; a commit waits for one slice at most. */
const slice = 500;
/** Entries one answer looks through: the rest is for the next question. */
const lookCap = 20_000;
const verifyStep = 5000;
const walkCap = 4;

/**
 * The audit log as the control socket shows it. Whoever is no auditor is told nothing of what only auditors may see: not the
 * entries, not numbers or hashes with gaps, and no count or page that comes out short because of them (safety 4).
 */
export function auditPort(options: {
  store: () => Store;
  auditors: Auditors;
  note: (entry: AuditDraft) => Promise<void>;
}): AuditPort {
  const cursors = createOpaque();
  const walks = new BoundedMap<string, ChainWalk>(walkCap);
  const { store, note, auditors } = options;

  function belowOf(cursor: string | undefined): number {
    if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
    const below = cursors.open(cursor);
    if (below === undefined) throw discontinued('the page before is of another run of siteward; begin anew');
    return below;
  }

  /** The entries as they lie in the log hide nothing: under duress the session seems to be over instead. */
  function mayExport(session: string): string | undefined {
    const looker = auditors.whose(session);
    if (looker?.isForced === true) throw ended();
    return looker?.actor;
  }

  return {
    open: auditors.open,

    async entries(query) {
      const isAuditor = seesAll(auditors.whose(query.session));
      const fits = filterOf(query);
      const items: AuditEntryBody[] = [];
      let below = belowOf(query.cursor);
      for (let looked = 0; ; ) {
        const { rows } = await store().auditSlice({ to: below - 1, limit: slice, newest: true });
        if (rows.length === 0) return { items, next: null };
        for (const { n, record } of rows) {
          below = n;
          const entry = readAuditEntry(record);
          if (entry === undefined || (!isAuditor && entry.visibility !== undefined)) continue;
          looked += 1;
          if (fits(entry)) items.push(shownEntry(entry, isAuditor));
          if (items.length === query.limit || looked === lookCap) return { items, next: cursors.seal(below) };
        }
      }
    },

    async verify({ session, walk: token, marks }) {
      const looker = auditors.whose(session);
      const isAuditor = seesAll(looker);
      if (marks !== undefined && looker?.isForced === true) throw ended();
      // Where a made-up entry is missed would tell how many lie before it.
      if (marks !== undefined && !isAuditor) throw needed('only an auditor can compare the log with an export');
      const walk = token === undefined ? chainWalk(marks) : walks.get(token);
      if (walk === undefined) throw discontinued('this verification is no longer known; begin anew');
      if (token !== undefined) walks.delete(token);
      const isDone = await onward(walk, store());
      const next = isDone ? null : randomBytes(24).toString('base64url');
      if (next !== null) walks.set(next, walk);
      return verdictOf(walk.verdict(), { isAuditor, next });
    },

    async export({ session, after }) {
      mayExport(session);
      const found = await store().auditSlice({ from: after?.n ?? 0, limit: slice });
      const { base = null } = found;
      const rows = after === undefined ? found.rows : behind(found.rows, after, base);
      return { items: rows.map(({ n, hash, record }) => ({ n, hash, record })), base };
    },

    async exported({ session, last }) {
      const actor = mayExport(session);
      if (!(await store().auditExported(last))) throw notThere();
      await note(auditNotes.exported('audit', { head: last.hash, ...(actor !== undefined && { actor }) }));
    },
  };
}

/** Goes on by so many entries that everybody may see, so that the count of a step tells nothing; true at the end. */
async function onward(walk: ChainWalk, store: Store): Promise<boolean> {
  for (let left = verifyStep; left > 0; ) {
    const found = await store.auditSlice({ from: walk.from, limit: slice });
    const [rows, shown] = firstShown(found.rows, left);
    left -= shown;
    if (!walk.take({ ...found, rows })) return true;
  }
  return false;
}

function firstShown(rows: readonly AuditRow[], most: number): readonly [rows: readonly AuditRow[], shown: number] {
  let shown = 0;
  for (const [index, { record }] of rows.entries()) {
    if (readAuditEntry(record)?.visibility === undefined) shown += 1;
    if (shown === most) return [rows.slice(0, index + 1), shown];
  }
  return [rows, shown];
}

function verdictOf(
  { entries, shown, at, anew, broken }: AuditVerdict,
  { isAuditor, next }: { isAuditor: boolean; next: string | null },
): AuditVerdictBody {
  return {
    done: next === null,
    walk: next,
    entries: isAuditor ? entries : shown,
    at: at === undefined ? null : isoTime(at),
    anew: anew.map(isoTime),
    broken: broken?.why ?? null,
    ...(isAuditor && broken !== undefined && { broken_n: broken.n }),
  };
}

type Link = Pick<AuditRow, 'n' | 'hash'>;

/** The rows behind the one an export ended with, which must still be there, or the last that gave way. */
function behind(rows: readonly AuditRow[], after: Link, base: Link | null): readonly AuditRow[] {
  const [first] = rows;
  if (first?.n === after.n && first.hash === after.hash) return rows.slice(1);
  if (base?.n === after.n && base.hash === after.hash) return rows;
  throw notThere();
}

const discontinued = (reason: string) => new SitewardError('audit_discontinued', reason);
const notThere = () =>
  discontinued('the log does not hold the last entry of the export: it was changed, cut or replaced since; verify it');

function filterOf(query: { kinds?: readonly string[]; since?: string; before?: string }) {
  const from = query.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.since);
  const to = query.before === undefined ? Number.POSITIVE_INFINITY : Date.parse(query.before);
  return ({ kind, at_wall: at }: AuditEntry): boolean =>
    at >= from && at < to && (query.kinds === undefined || query.kinds.includes(kind));
}

/** The new lines everybody may see, for the topic of the audit log; undefined while the log cannot be read. */
export async function newAuditLines(
  store: Store | undefined,
  after: number | undefined,
  limit: number,
): Promise<AuditPage | undefined> {
  const query = after === undefined ? { limit: 1, newest: true } : { from: after + 1, limit };
  const rows = (await store?.auditSlice(query).catch(() => undefined))?.rows;
  if (rows === undefined) return undefined;
  const lines = rows.flatMap(({ n, record }) => {
    const entry = after === undefined ? undefined : readAuditEntry(record);
    return entry === undefined || entry.visibility !== undefined ? [] : [{ place: n, line: shownEntry(entry, false) }];
  });
  return { lines, place: rows.at(-1)?.n ?? after ?? 0 };
}

/** Hash, place and commit stay inside: beside each other they would show where something is left out. */
function shownEntry(entry: AuditEntry, isAuditor: boolean): AuditEntryBody {
  const { at_wall, at_mono: _, n, prev_hash: __, commit: ___, visibility, ...told } = entry;
  return {
    at: isoTime(at_wall),
    ...told,
    ...(isAuditor && { n }),
    ...(visibility !== undefined && { auditor_only: true as const }),
  };
}

import { z } from 'zod';
import { auditKinds, auditMembers, personCode } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });
const moment = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-12-01T08:00:00Z' });
/** Opaque: it must tell nobody how many entries lie between two that are shown (safety 4). */
const cursor = z.string().max(200);
const count = z.int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');

const auditLink = z.strictObject({ n: z.int().positive(), hash });
export type AuditLinkBody = z.output<typeof auditLink>;

/** Given by `openAudit` to who has the code of an auditor; ends by itself. Without it only what everybody may see is told. */
const session = z.string().max(100).exactOptional();

export const openAuditBody = z.strictObject(
  {
    code: personCode,
  },
  { error: 'must be { code }' },
);
export const openedAudit = z.object({ session: z.string(), actor: z.string(), expires_at: time });

export const auditQuery = z.strictObject({
  session,
  limit: z.int().min(1).max(500).default(100),
  cursor: cursor.exactOptional().describe('Where the page before ended.'),
  kinds: z.array(z.enum(auditKinds)).min(1).exactOptional(),
  since: moment.exactOptional().describe('Entries of this time and later.'),
  before: moment.exactOptional().describe('Entries before this time.'),
});
export type AuditQuery = z.output<typeof auditQuery>;

const auditEntry = z.object({
  at: time,
  ...auditMembers,
  /** For auditors: the number in the chain, and whether only they see the entry. */
  n: z.int().optional(),
  auditor_only: z.literal(true).optional(),
});
export type AuditEntryBody = z.output<typeof auditEntry>;

export const auditPage = z.object({
  /** Newest first. A page may be short and still not be the last. */
  items: z.array(auditEntry),
  next: cursor.nullable(),
});

export const auditVerifyBody = z.strictObject({
  session,
  walk: z.string().max(100).exactOptional().describe('From the answer before; absent at the beginning.'),
  marks: z
    .array(auditLink)
    .max(16)
    .exactOptional()
    .describe('Entries that must be in the log, such as the last of an export.'),
});
export type AuditVerifyBody = z.output<typeof auditVerifyBody>;

export const auditVerdict = z.object({
  done: z.boolean(),
  /** Null when it is done. */
  walk: z.string().nullable(),
  /** Entries that were found sound so far: those that are shown to whoever asks. */
  entries: count,
  /** Time of the newest of them. */
  at: time.nullable(),
  /** Times at which a chain begins anew, as after a damaged disk. */
  anew: z.array(time),
  broken: z.enum(['changed', 'missing', 'cut']).nullable(),
  /** For auditors: number of the entry that is broken. */
  broken_n: z.int().optional(),
});
export type AuditVerdictBody = z.output<typeof auditVerdict>;

export const auditExportBody = z.strictObject({
  session: z.string().max(100),
  after: auditLink.exactOptional().describe('The last entry of the export before, which must still be in the log.'),
});
export type AuditExportBody = z.output<typeof auditExportBody>;

export const auditExportPage = z.object({
  /** The entries as they lie in the log, oldest first: the hash is the SHA-256 of the text. Empty at the end. */
  items: z.array(z.object({ n: z.int(), hash: z.string(), record: z.string() })),
  /** What the first of them follows, where the log no longer has it. */
  base: auditLink.nullable(),
});
export type AuditExportPage = z.output<typeof auditExportPage>;

export const auditExportedBody = z.strictObject({ session: z.string().max(100), last: auditLink });
export const auditExportedAnswer = z.object({ exported: z.literal(true) });

export const inputsQuery = z.strictObject({ cursor: cursor.exactOptional() });
export const inputsPage = z.object({ items: z.array(z.string()), next: cursor.nullable() });

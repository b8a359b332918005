import type {
  AuditEntryBody,
  AuditExportBody,
  AuditExportPage,
  AuditLinkBody,
  AuditQuery,
  AuditVerdictBody,
  AuditVerifyBody,
} from './audit-schemas.ts';

/**
 * The audit log as it may be read on this machine. What only an auditor may see, and what would betray that it is there,
 * needs a session (safety 4). Calls reject with `auditor_needed` where one is needed, or has ended.
 */
export interface AuditPort {
  /** Rejects with `auditor_needed` for a code that is not an auditor's, and after too many of these for some minutes. */
  open(code: string): Promise<{ readonly session: string; readonly actor: string; readonly expires_at: string }>;
  /** Newest first; `next` is null only when there are no more. */
  entries(query: AuditQuery): Promise<{ readonly items: readonly AuditEntryBody[]; readonly next: string | null }>;
  /** Goes on where the walk stands, for a part of a second. */
  verify(query: AuditVerifyBody): Promise<AuditVerdictBody>;
  /** Rejects with `audit_discontinued` when the log does not hold `after`. */
  export(query: AuditExportBody): Promise<AuditExportPage>;
  /** As `export`; records it. */
  exported(done: { readonly session: string; readonly last: AuditLinkBody }): Promise<void>;
}

/** The recorded input log, for `siteward replay`. */
export interface InputsPort {
  /** Oldest first; `next` is null when there are no more. */
  lines(cursor: string | undefined): Promise<{ readonly items: readonly string[]; readonly next: string | null }>;
}

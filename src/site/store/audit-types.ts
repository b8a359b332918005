/** An entry of the audit log by its number and its hash. */
export interface AuditLink {
  readonly n: number;
  readonly hash: string;
}

/** One entry as it lies in `site.db`: `record` is its canonical JSON, `hash` the SHA-256 of that text. */
export interface AuditRow extends AuditLink {
  /** Hash of the entry before; zeros where a chain begins. */
  readonly prev: string;
  readonly at: number;
  readonly record: string;
}

/** Some entries, and what else is known of the log. */
export interface AuditSlice {
  readonly rows: readonly AuditRow[];
  /** The last entry that gave way. */
  readonly base?: AuditLink;
  /** The newest entry as each of the two files remembers it; that of `bulk.db` may be a moment older. */
  readonly heads: readonly AuditLink[];
  /** Number of the last entry that an export has; 0 for none. */
  readonly exported: number;
  /** A number that siteward never gives and that stands in the file all the same: somebody put it in. */
  readonly foreign?: number;
}

export interface AuditVerdict {
  readonly entries: number;
  /** Entries everybody may see. */
  readonly shown: number;
  /** Wall clock of the newest sound one of these. */
  readonly at?: number;
  /** Wall clock of entries with which a chain begins anew, as after a damaged disk; at most 16. */
  readonly anew: readonly number[];
  /**
   * The first thing that is wrong: an entry that is not as it was written, one before which others are missing, or the
   * newest that is known of and not there.
   */
  readonly broken?: { readonly n: number; readonly why: 'changed' | 'missing' | 'cut' };
}

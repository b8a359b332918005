/** One alarm verification as it lies in `site.db`. */
export interface VerificationRow {
  readonly id: string;
  /** Wall clock milliseconds of the request; rows are read in this order. */
  readonly at: number;
  /** JSON text; null deletes it. */
  readonly record: string | null;
}

export interface VerificationStore {
  /** All kept verifications, the oldest request first. */
  verifications(): Promise<VerificationRow[]>;
}

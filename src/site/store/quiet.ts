import { describe, SitewardError } from '#errors.ts';
import type { BulkFile } from './bulk-file.ts';
import type { SiteFile } from './site-file.ts';

export function closeQuietly(file: SiteFile | BulkFile, checkpoint: boolean): void {
  if (checkpoint) attempt(() => file.db.pragma('wal_checkpoint(TRUNCATE)'));
  attempt(() => file.db.close());
}

/** For steps whose failure shows by itself: in the file's state, or in the next commit. Our own errors pass. */
export function attempt(step: () => unknown): void {
  succeeds(step);
}

export const isReadOnly = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EROFS';

/** False when the file would not do it; our own errors go through. */
export function succeeds(step: () => unknown): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof SitewardError) throw error;
    return false;
  }
}

/** The reason, our own errors included; undefined when it succeeded. */
export function failureOf(step: () => unknown): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    return describe(error);
  }
}

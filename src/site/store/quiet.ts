import { describe, SitewardError } from '#errors.ts';
import { systemCode } from '#lib/system-code.ts';
import type { BulkFile } from './bulk-file.ts';
import type { SiteFile } from './site-file.ts';

/** One line for the log of the main thread. */
export type Note = (level: 'info' | 'warn' | 'error', text: string, facts: Record<string, string | number>) => void;

export function closeQuietly(file: SiteFile | BulkFile, checkpoint: boolean): void {
  if (checkpoint) attempt(() => file.db.pragma('wal_checkpoint(TRUNCATE)'));
  attempt(() => file.db.close());
}

/**
 * For steps whose failure shows by itself: in the file's state, in the next commit, in the count of what cannot be
 * read. Undefined when the disk or the file would not do it; our own errors go through.
 */
export function attempt<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (error instanceof SitewardError) throw error;
    return undefined;
  }
}

/** The same, for whoever needs to know. */
export const succeeds = (step: () => unknown): boolean =>
  attempt(() => {
    step();
    return true;
  }) === true;

/** The file system takes no writes. */
export const isReadOnly = (error: unknown): boolean => systemCode(error) === 'EROFS';

/** The reason, our own errors included; undefined when it succeeded. */
export function failureOf(step: () => unknown): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    return describe(error);
  }
}

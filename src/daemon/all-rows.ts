import type { Health } from '#lib/health.ts';

/**
 * Every row of the outbox can be asked for: no file of the store is shut or being filled again, and nothing waits in
 * memory for the disk.
 */
export function holdsAllRows(store: Health | undefined, waitingRows: unknown): boolean {
  const { siteOpen, bulkOpen, mending } = store?.facts ?? {};
  return siteOpen === true && bulkOpen === true && mending === false && waitingRows === 0;
}

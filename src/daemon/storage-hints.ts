import type { StatusDocument } from '#lan/http/index.ts';
import { isoTime } from '#site/model/index.ts';
import type { StorageLevel, StorageState } from '#site/store/index.ts';

/** What to do about each state of the disk; nothing is said of a good one. */
const advice: Readonly<Record<StorageLevel, string | undefined>> = {
  ok: undefined,
  soft: 'the disk is getting full: delivered events are kept for a shorter time. Make room or take a larger disk',
  hard: 'the disk is nearly full: the history is deleted and activity that waits gives way to new. Make room now',
  full: 'the disk is full: each new alarm needs something else to be deleted. Make room now',
  readonly: 'the file system is read-only: events are sent from memory and are lost with the power. Check the disk',
  failing: 'the disk fails: events are sent from memory and are lost with the power. Replace the disk or card',
};

export function storageHints(storage: StorageState | undefined, now: number): StatusDocument['hints'] {
  const text = storage === undefined ? undefined : advice[storage.level];
  if (storage === undefined || text === undefined) return [];
  const { level, freeBytes, totalBytes } = storage;
  const values = freeBytes === undefined ? [] : [`${freeBytes} of ${totalBytes ?? 0} bytes free`];
  return [{ device: 'bridge siteward', about: `storage ${level}`, text, values, count: 1, last: isoTime(now) }];
}

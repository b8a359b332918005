import type { By } from '#lan/access/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { type Asker, localAsker } from '#site/model/index.ts';

/** Longer than a commit on a slow SD card, shorter than a person's patience. */
export const answerDeadlineMs = 5000;
/** The first sample takes a second at most, an answer of the service five and a half. */
export const playMs = 8_000;

export const json = (body: unknown, status = 200): Reply => ({
  status,
  body,
  headers: { 'cache-control': 'no-store' },
});

/** As limits and the audit log know whoever calls. */
export function askerOf({ caller, from }: By): Asker {
  if (from === 'local') return localAsker;
  const client =
    caller.kind === 'person' ? `account:${caller.id}` : caller.kind === 'key' ? `key:${caller.id}` : 'unknown';
  return { source: 'lan', client, address: from.address };
}

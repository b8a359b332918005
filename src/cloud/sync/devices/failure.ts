import { describe, isCode, type SitewardError } from '#errors.ts';
import { type Health, ok } from '#lib/health.ts';
import type { DeviceSyncShown } from './types.ts';

const goneText = {
  cloud_not_found:
    'the cloud does not know this site: it was deleted there, or site.id or site.dealer_id is wrong. It is protected as before',
  cloud_forbidden:
    'the cloud does not let this bridge at the site: the dealer is perhaps not connected any more. It is protected as before',
} as const;
export const closedText =
  'the site is deleted in the cloud, or access to it was withdrawn; nothing is asked of it until it is back. It is protected as before';

export const isGone = (code: string): code is keyof typeof goneText => Object.hasOwn(goneText, code);

/** Somebody must change something first. */
export const isLasting = (code: string): boolean =>
  isGone(code) || ['site_gone', 'cloud_unauthorized', 'cloud_refused'].includes(code);

/** What ended the last reconciliation. */
export interface Failure {
  readonly error: SitewardError;
  /** The site itself was read, in spite of a 404 or 403. */
  readonly isSiteThere: boolean;
}

export function failureShown({ error, isSiteThere }: Failure): { state: DeviceSyncShown['state']; reason: string } {
  const { code } = error;
  if (isSiteThere) return { state: 'away', reason: describe(error) };
  if (isGone(code)) return { state: 'gone', reason: goneText[code] };
  return { state: code === 'site_gone' ? 'gone' : 'away', reason: describe(error) };
}

export function healthOf({ state, held }: DeviceSyncShown, failure: Failure | undefined): Health {
  const facts = { devices: state, held: held.length };
  if (failure !== undefined)
    // That nobody answers is the trouble of the line.
    return isCode(failure.error, 'cloud_unreachable')
      ? ok(facts)
      : { state: 'degraded', reason: failureShown(failure).reason, facts };
  const [first, ...more] = held.filter(({ reason }) => reason !== 'waiting');
  if (first === undefined) return ok(facts);
  const others = more.length === 0 ? '' : `, and ${more.length} more`;
  return {
    state: 'degraded',
    reason: `${first.external_id} is not in the cloud as it should be: ${first.message}${others}`,
    facts,
  };
}

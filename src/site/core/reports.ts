import type { ZoneNumber } from '#site/model/index.ts';
import { now, since } from './timers.ts';
import type { ToldReport } from './types.ts';
import type { Work } from './work.ts';

const reportCap = 64;
/**
 * After so long the same number with the same text is another report: the numbers of a panel go round. Longer than a receiver takes
 * to remind of one (`remindMs`), to forget it (`recentMs`) and `renewMs` together: what a receiver still knows is known here too.
 */
const againMs = 1_200_000;
/** One that is repeated for ever is remembered anew after so long, and not on disk each time. */
const renewMs = 120_000;

export const zoneKey = (zone: ZoneNumber): string => `zone:${zone}`;

/** Of calls for help without a zone, which are nobody's to see. */
export const silentKey = (panel: string): string => `silent:${panel}`;
export const isSilentKey = (about: string): boolean => about.startsWith('silent:');

/**
 * Whether a panel has made this report about this before. Panels repeat a report until it is acknowledged, also when siteward
 * has stopped between keeping it and saying so. It is noted in the decision that acts on it, so that both are on disk or neither.
 * Told again it changes nothing at all, since even that it came may be nobody's to see (safety 4).
 */
export function isToldAgain(work: Work, about: string, id: string | undefined): boolean {
  if (id === undefined) return false;
  const recent = (work.state.reports ?? []).filter(({ at }) => Math.abs(since(work.at, at)) < againMs);
  const before = recent.find((one) => one.about === about && one.id === id);
  if (before !== undefined && Math.abs(since(work.at, before.at)) < renewMs) return true;
  const told: ToldReport = { about, id, at: now(work.at) };
  work.state = { ...work.state, reports: [...recent.filter((one) => one !== before), told].slice(-reportCap) };
  return before !== undefined;
}

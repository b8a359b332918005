import type { PartitionId, ZoneNumber } from '#site/model/index.ts';
import { now, since } from './timers.ts';
import type { ToldReport } from './types.ts';
import type { Work } from './work.ts';

/** Of one zone, or one partition's openings and closings: so many, that no other panel's reports push them out. */
const aboutCap = 16;
/** Of all zones and panels together. Openings are not among them: an old one that is told again would disarm. */
const reportCap = 512;
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
  work.state = { ...work.state, reports: bounded([...recent.filter((one) => one !== before), told], about) };
  return before !== undefined;
}

/** What is about `about` has grown by one. */
function bounded(reports: readonly ToldReport[], about: string): readonly ToldReport[] {
  const same = reports.filter((one) => one.about === about);
  const first = same.length > aboutCap ? same[0] : undefined;
  const kept = reports.filter((one) => one !== first);
  const others = kept.filter((one) => !isOfArming(one));
  const oldest = others.length > reportCap ? others[0] : undefined;
  return kept.filter((one) => one !== oldest);
}

const armingPrefix = 'partition:';
/** Of the openings and closings of a partition; an alarm of it is another matter. */
export const armingKey = (id: PartitionId): string => `${armingPrefix}${id}`;
const isOfArming = ({ about }: ToldReport): boolean => about.startsWith(armingPrefix);

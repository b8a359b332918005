import type { DeviceRef, PartitionId, Reported, ZoneNumber } from '#site/model/index.ts';
import { deviceName } from './events.ts';
import { now, since } from './timers.ts';
import type { ToldReport } from './types.ts';
import type { Work } from './work.ts';
import { behaviour } from './zones.ts';

type Told = Pick<Reported, 'report' | 'sentAt'> & { readonly source: DeviceRef };

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
/** Of its sabotage, which shows also where the zone is silent. */
export const tamperKey = (zone: ZoneNumber): string => `tamper:${zone}`;

/** Of calls for help without a zone, which are nobody's to see. */
export const silentKey = (panel: string): string => `silent:${panel}`;
export const isSilentKey = (about: string): boolean => about.startsWith('silent:');

/**
 * Whether a panel has made this report about this before. Panels repeat a report until it is acknowledged, also when siteward
 * has stopped between keeping it and saying so. It is noted in the decision that acts on it, so that both are on disk or neither.
 * Told again it changes nothing at all, since even that it came may be nobody's to see (safety 4).
 */
export function isToldAgain(work: Work, about: string, { report: id, sentAt, source }: Told): boolean {
  if (id === undefined) return false;
  const by = deviceName(source);
  const recent = (work.state.reports ?? []).filter(({ at }) => Math.abs(since(work.at, at)) < againMs);
  const before = recent.find((one) => one.about === about && one.id === id);
  const isAnother = before !== undefined && isRenumbered(work, recent, before, { by, sentAt });
  if (before !== undefined && !isAnother && Math.abs(since(work.at, before.at)) < renewMs) return true;
  const sent = isAnother ? sentAt : (before?.sent ?? sentAt);
  const told: ToldReport = { about, id, at: now(work.at), by, ...(sent === undefined ? {} : { sent }) };
  work.state = { ...work.state, reports: bounded([...recent.filter((one) => one !== before), told], about) };
  return before !== undefined && !isAnother;
}

/**
 * A panel repeats the last report it has made until it is acknowledged. One before that, with a later time, is another one: its panel has
 * begun its numbers anew, as after a power cut that siteward shared. Silent ones play no part (safety 4).
 */
function isRenumbered(
  work: Work,
  recent: readonly ToldReport[],
  before: ToldReport,
  { by, sentAt }: { by: string; sentAt: number | undefined },
): boolean {
  if (sentAt === undefined || before.sent === undefined || sentAt <= before.sent) return false;
  const last = recent.findLast((one) => one.by === by && !isSilent(work, one.about));
  // Of another report in this very frame the same was said a moment ago.
  return last !== undefined && (frameOf(last.id) !== frameOf(before.id) || last.sent === sentAt);
}

/** The frame in which a report stood. */
const frameOf = (id: string): string => id.replace(/\.\d+$/, '');

const isSilent = (work: Work, about: string): boolean =>
  isSilentKey(about) || work.plan.zones.some((zone) => behaviour(zone).silent && zoneKey(zone.number) === about);

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

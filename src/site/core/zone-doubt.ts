import type { PartitionPlan, SignalOf, SitePlan, ZonePlan } from '#site/model/index.ts';
import type { LevelDoubt, SiteState, ZoneDoubts, ZoneLevel } from './types.ts';
import { change, own, setZones, type Work, without, zonePlan } from './work.ts';
import { behaviour, forGood, independent } from './zones.ts';

type ZoneSignal = SignalOf<'zone'>;

const levels = ['open', 'alarm', 'tamper'] as const;
const apart = [['open'], ['alarm'], ['tamper']] as const;
/** Of a detector that siteward judges, or a silent button: open and alarm are one thing, it has tripped. */
const asOne = [['open', 'alarm'], ['tamper']] as const;

/**
 * What counts of a panel's word about a zone. One that was retained, or that waited in a queue, may be older than what is known, as that
 * of a partition (`doubt.ts`): it calms nothing, only a live word does. What begins after it is then another one: one told twice is
 * better than one lost. A queue ends what it has begun itself.
 */
export function judged(work: Work, plan: ZonePlan, signal: ZoneSignal, isOne: boolean): ZoneSignal {
  if (signal.source.kind !== 'panel') return signal;
  const verdicts = (isOne ? asOne : apart).map((group) => judge(work, plan, signal, group));
  const anew = verdicts.flatMap((one) => one.anew);
  if (anew.length > 0) calm(work, plan, anew);
  note(work, plan, Object.fromEntries(verdicts.flatMap((one) => one.doubts)));
  return change(signal, Object.fromEntries(verdicts.flatMap((one) => one.doubted).map((level) => [level, undefined])));
}

interface Verdict {
  /** Levels of the signal that say calm and are no proof of it. */
  readonly doubted: readonly ZoneLevel[];
  /** Levels that hold, and begin once more. */
  readonly anew: readonly ZoneLevel[];
  readonly doubts: readonly (readonly [ZoneLevel, LevelDoubt])[];
}

function judge(work: Work, plan: ZonePlan, signal: ZoneSignal, group: readonly ZoneLevel[]): Verdict {
  const before = doubtsOf(work.state, plan);
  const queue = signal.waited === undefined ? undefined : (signal.waited.since ?? 0);
  const isOfQueue = (level: ZoneLevel) => queue !== undefined && before[level]?.queue === queue;
  const held = group.filter((level) => holds(work, plan, level));
  if (group.some((level) => signal[level] === true)) {
    const anew = held.filter((level) => before[level]?.ended === true);
    const isNews = (level: ZoneLevel) => !held.includes(level) || anew.includes(level) || isOfQueue(level);
    const doubts = queue === undefined ? [] : group.filter(isNews).map((level) => [level, { queue }] as const);
    return { doubted: [], anew, doubts };
  }
  const kept = held.flatMap((level) => (before[level] === undefined ? [] : [[level, before[level]] as const]));
  if (held.length === 0 || !ends(signal, group, held)) return { doubted: [], anew: [], doubts: kept };
  const isLive = !signal.replay && queue === undefined;
  if (isLive || held.every(isOfQueue) || isDoor(plan, held)) return { doubted: [], anew: [], doubts: [] };
  // Nobody may see that a silent button is held (safety 4).
  if (!behaviour(plan).silent || group.includes('tamper')) work.rules.add('safety 2');
  const doubted = group.filter((level) => signal[level] === false);
  return { doubted, anew: [], doubts: held.map((level) => [level, { ...before[level], ended: true }] as const) };
}

/**
 * Whether all that would end is that a burglary detector is open. What is in alarm then stays so, and a door that was closed while siteward
 * was away must not keep the site from arming, nor be left out of it by a schedule (safety 7); nothing else may ever tell it live.
 */
const isDoor = (plan: ZonePlan, held: readonly ZoneLevel[]): boolean =>
  !independent(behaviour(plan).group) && held.every((level) => level === 'open');

/** While a detector is open, that it is in no alarm is not its end. */
const ends = (signal: ZoneSignal, group: readonly ZoneLevel[], held: readonly ZoneLevel[]): boolean =>
  group.some((level) => signal[level] === false && (level !== 'alarm' || !held.includes('open')));

/** Of a silent zone it is kept elsewhere (safety 4). */
function holds(work: Work, plan: ZonePlan, level: ZoneLevel): boolean {
  if (level === 'alarm' && behaviour(plan).silent) return own(work.state.silent, plan.number) === true;
  return own(work.state.zones, plan.number)?.[level] === true;
}

/** Nobody is told: when it ended is not known. */
function calm(work: Work, plan: ZonePlan, ended: readonly ZoneLevel[]): void {
  const state = own(work.state.zones, plan.number);
  if (behaviour(plan).silent && ended.includes('alarm'))
    work.state = { ...work.state, silent: { ...work.state.silent, [plan.number]: false } };
  if (state !== undefined) setZones(work, [{ ...state, ...Object.fromEntries(ended.map((level) => [level, false])) }]);
}

const doubtsOf = ({ zoneDoubts = {} }: SiteState, { number }: ZonePlan): ZoneDoubts => own(zoneDoubts, number) ?? {};

function note(work: Work, plan: ZonePlan, doubts: ZoneDoubts): void {
  const { zoneDoubts = {} } = work.state;
  const isNone = Object.keys(doubts).length === 0;
  if (isNone && own(zoneDoubts, plan.number) === undefined) return;
  const next = isNone ? without(zoneDoubts, plan.number) : { ...zoneDoubts, [plan.number]: doubts };
  work.state = change(work.state, { zoneDoubts: Object.keys(next).length === 0 ? undefined : next });
}

const isEndDoubted = (state: SiteState, plan: ZonePlan, level: ZoneLevel): boolean =>
  doubtsOf(state, plan)[level]?.ended === true && own(state.zones, plan.number)?.[level] === true;

/** Whether the zone stands as it was though a word that may be older has called it calm; of a silent one nobody hears (safety 4). */
export const isDoubted = (state: SiteState, plan: ZonePlan): boolean =>
  !behaviour(plan).silent && levels.some((level) => isEndDoubted(state, plan, level));

/** What everybody may know of it (safety 4). */
export function visibleDoubts(plan: SitePlan, { zoneDoubts }: SiteState): Pick<SiteState, 'zoneDoubts'> {
  if (zoneDoubts === undefined) return {};
  const shown = Object.entries(zoneDoubts).flatMap(([number, doubts]) => {
    const zone = zonePlan(plan, number);
    if (zone === undefined || !behaviour(zone).silent) return [[number, doubts] as const];
    return doubts.tamper === undefined ? [] : [[number, { tamper: doubts.tamper }] as const];
  });
  return shown.length === 0 ? {} : { zoneDoubts: Object.fromEntries(shown) };
}

/** Zones of a panel's partition whose alarm was said to be over by such a word; life safety ends with its cause alone (safety 1). */
export function alarmsDoubted({ plan, state }: Work, { id, panel }: PartitionPlan): readonly ZonePlan[] {
  // Hardly ever is anything doubted, and a panel may repeat its state all day.
  const doubts = Object.entries(state.zoneDoubts ?? {});
  const doubted = new Set(doubts.flatMap(([number, { alarm }]) => (alarm?.ended === true ? [number] : [])));
  if (doubted.size === 0) return [];
  return plan.zones.filter(
    (zone) =>
      doubted.has(zone.number) &&
      zone.source.kind === 'panel' &&
      zone.source.id === panel &&
      zone.partitions.includes(id) &&
      !forGood(behaviour(zone).group) &&
      isEndDoubted(state, zone, 'alarm'),
  );
}

import type {
  PartitionId,
  PartitionPlan,
  PartitionState,
  SitePlan,
  Stamp,
  ZonePlan,
  ZoneState,
} from '#site/model/index.ts';
import { bridgeItself, modeOf } from '#site/model/index.ts';
import { adoptAuthority, planInForce } from './authority.ts';
import { deviceName } from './events.ts';
import { leftOutStill } from './left-out.ts';
import { carrierOf, linkUp } from './link.ts';
import { timerId } from './timers.ts';
import { troubleKey } from './trouble.ts';
import type { AbandonedAlarm, InFlight, SiteState, TimerState, WaitingAlarm } from './types.ts';
import { own, periodOf } from './work.ts';
import { behaviour, forGood } from './zones.ts';

/**
 * The state of a new store. Only a store that never existed starts with the engine's partitions disarmed, at
 * commissioning; after a lost one nobody knows, and unknown is never disarmed (I3, safety 2). Panels are always asked.
 */
export function initialState(plan: SitePlan, at: Stamp, options: { readonly storeLost: boolean }): SiteState {
  const lost = { trouble: 'system', source: bridgeItself, since: at.wall } as const;
  const empty: SiteState = {
    partitions: {},
    zones: {},
    links: {},
    troubles: options.storeLost ? { [troubleKey('system', bridgeItself)]: lost } : {},
    timers: {},
    commands: [],
    wrongCodes: {},
    incidents: 0,
    periods: {},
    inFlight: {},
    silent: {},
    seeing: {},
    sightings: [],
    held: {},
    retired: {},
    ...(plan.securityTypeFixed === true && { authority: { securityType: plan.securityType, by: 'config' } }),
  };
  return fill(plan, empty, at, !options.storeLost);
}

/**
 * Takes a plan over, after a start or a reload. What is new starts, what is gone goes, the rest stays exactly. A
 * partition that was removed while it was not disarmed comes back unknown, with its sequence.
 */
export function adoptPlan(plan: SitePlan, state: SiteState, at: Stamp): SiteState {
  const authority = adoptAuthority(plan, state);
  const { authority: _, ...rest } = state;
  const next: SiteState = authority === undefined ? rest : { ...rest, authority };
  return handOverAll(planInForce(plan, next), next, at);
}

/** Every partition comes under the authority the plan gives it. */
export function handOverAll(plan: SitePlan, state: SiteState, at: Stamp): SiteState {
  const partitionIds = new Set<string>(plan.partitions.map(({ id }) => id));
  const zoneNumbers = sameDetectors(plan, state);
  const retired = { ...state.retired };
  for (const gone of Object.values(state.partitions)) {
    if (!partitionIds.has(gone.id)) retired[gone.id] = { seq: gone.seq, disarmed: gone.state === 'disarmed' };
  }
  const timers = pick(state.timers, (_, timer) => stillRuns(plan, timer, zoneNumbers));
  const kept: SiteState = {
    ...state,
    partitions: Object.fromEntries(
      plan.partitions.flatMap((partition) => {
        const before = own(state.partitions, partition.id);
        return before === undefined ? [] : [[partition.id, handOver(partition, before, at)]];
      }),
    ),
    zones: pick(state.zones, (number) => zoneNumbers.has(number)),
    links: pick(state.links, (device) => hasLink(plan, device)),
    silent: pick(state.silent, (number) => zoneNumbers.has(number)),
    ...(state.silentBefore && { silentBefore: state.silentBefore.filter((number) => zoneNumbers.has(number)) }),
    ...(state.zoneDoubts && { zoneDoubts: pick(state.zoneDoubts, (number) => zoneNumbers.has(number)) }),
    held: pick(state.held, (_, held) => held.kind !== 'zone' || zoneNumbers.has(held.zone)),
    periods: pick(state.periods, (id) => partitionIds.has(id)),
    timers,
    inFlight: pick(state.inFlight, (_, flight) => stillWaits(flight, partitionIds, timers)),
    retired,
    ...(state.given === undefined ? {} : { given: pick(state.given, (id) => partitionIds.has(id)) }),
  };
  return fill(plan, leftOutStill(plan, withAbandoned(plan, kept, state)), at, true);
}

/** A zone that takes another device, another name at its panel, or watches for something else, is another detector. */
function detectorOf(plan: ZonePlan): string {
  const { group, silent } = behaviour(plan);
  const watched = forGood(group) ? plan.type : group === 'key' ? 'key' : 'zone';
  return `${deviceName(plan.source)} ${silent ? 'silent' : watched} ${plan.key ?? plan.input ?? ''}`;
}

/** Zones that were in the plan before, with the same detector. */
const sameDetectors = (plan: SitePlan, { detectors = {} }: SiteState): ReadonlySet<string> =>
  new Set(
    plan.zones.flatMap((zone) => {
      const before = own(detectors, zone.number);
      return before === undefined || before === detectorOf(zone) ? [zone.number] : [];
    }),
  );

const abandonedCap = 64;

/**
 * What waits in the abort window of a partition that goes, or ran in an entry delay that ends with its authority, must
 * still be signalled: nobody can disarm there any more.
 */
function withAbandoned(plan: SitePlan, kept: SiteState, before: SiteState): SiteState {
  const abandoned = Object.values(before.partitions).flatMap((partition): readonly AbandonedAlarm[] => {
    const { id, incident } = partition;
    const isGone = own(kept.partitions, id) === undefined;
    const waiting = isGone ? (periodOf(before, id).waiting ?? []) : [];
    const isEntered = runs(before, 'entry', id) && !runs(kept, 'entry', id);
    const entered = isEntered ? enteredIn(plan, before, partition) : [];
    return [...waiting, ...entered].map((alarm) => ({
      ...alarm,
      partition: id,
      ...(incident === undefined ? {} : { incident }),
    }));
  });
  if (abandoned.length === 0) return kept;
  return { ...kept, abandoned: [...(before.abandoned ?? []), ...abandoned].slice(0, abandonedCap) };
}

const runs = ({ timers }: SiteState, kind: TimerState['kind'], id: PartitionId): boolean =>
  Object.values(timers).some((timer) => timer.kind === kind && timer.partition === id);

/** The zone somebody came in by, and what tripped on the way. */
function enteredIn(
  plan: SitePlan,
  before: SiteState,
  { id, alarm, entryEnds, at }: PartitionState,
): readonly (WaitingAlarm & { readonly entry: true })[] {
  if (alarm?.zone === undefined || entryEnds === undefined) return [];
  const began = { ...entryEnds, wall: at, mono: entryEnds.mono - (entryEnds.wall - at) };
  const numbers = new Set([alarm.zone, ...periodOf(before, id).entered]);
  return [...numbers].map((zone) => {
    const known = plan.zones.find(({ number }) => number === zone);
    const kind = zone === alarm.zone ? alarm.kind : known === undefined ? 'burglary' : behaviour(known).alarm;
    return { zone, kind, at: began, evidence: [], entry: true };
  });
}

const ownerOf = ({ authority, panel }: PartitionPlan): string =>
  panel === undefined ? authority : `${authority}:${panel}`;

/**
 * A partition that came under another authority. What the former one said is not the word of the new one, least of all
 * "disarmed" (safety 2): a panel must be heard first; siteward's engine goes on with what is armed.
 */
function handOver(plan: PartitionPlan, before: PartitionState, at: Stamp): PartitionState {
  const owner = ownerOf(plan);
  if (before.owner === owner) return before;
  if (before.owner === undefined) return { ...before, owner };
  const isArmed = plan.authority === 'engine' && modeOf(before.state) !== null;
  if (isArmed) return { ...before, owner, stale: false };
  return newPartition(plan, at, { seq: before.seq, disarmed: false });
}

/** A timer goes on as long as what it runs for is in the plan, under an authority that has such timers. */
function stillRuns(plan: SitePlan, timer: TimerState, zoneNumbers: ReadonlySet<string>): boolean {
  // Of a detector that is another now there is nothing to calm.
  if (timer.kind === 'calm' && timer.zone !== undefined && !zoneNumbers.has(timer.zone)) return false;
  if (timer.zone !== undefined && !plan.zones.some(({ number }) => number === timer.zone)) return false;
  if (timer.partition === undefined) return true;
  const partition = plan.partitions.find(({ id }) => id === timer.partition);
  // An alarm that waits is signalled, a trouble that was told is restored, and a bypass for some minutes ends, whoever
  // decides the partition now.
  if (timer.kind === 'abort' || timer.kind === 'swinger' || timer.kind === 'bypass') return partition !== undefined;
  return partition?.authority === (timer.kind === 'panel_answer' ? 'panel' : 'engine');
}

/** Of a zone, only while its time runs: nothing else would answer it, and the zone would be taken for ever. */
const stillWaits = (
  { waiting, zone }: InFlight,
  partitions: ReadonlySet<string>,
  timers: SiteState['timers'],
): boolean =>
  waiting.every(
    (id) =>
      partitions.has(id) &&
      (zone === undefined || own(timers, timerId('panel_answer', { partition: id, zone })) !== undefined),
  );

function fill(plan: SitePlan, state: SiteState, at: Stamp, commissioning: boolean): SiteState {
  const partitions = { ...state.partitions };
  const zones = { ...state.zones };
  const retired = { ...state.retired };
  for (const partition of plan.partitions) {
    if (own(partitions, partition.id) !== undefined) continue;
    const before = own(retired, partition.id);
    partitions[partition.id] = newPartition(partition, at, {
      seq: before?.seq ?? 0,
      disarmed: commissioning && (before?.disarmed ?? true),
    });
    delete retired[partition.id];
  }
  for (const zone of plan.zones)
    if (own(zones, zone.number) === undefined) zones[zone.number] = newZone(zone, at, isOnline(plan, state, zone));
  const detectors = Object.fromEntries(plan.zones.map((zone) => [zone.number, detectorOf(zone)]));
  return { ...state, partitions, zones, detectors, retired };
}

function newPartition(
  plan: PartitionPlan,
  at: Stamp,
  from: { readonly seq: number; readonly disarmed: boolean },
): PartitionState {
  const { id, authority } = plan;
  return {
    id,
    owner: ownerOf(plan),
    state: authority === 'engine' && from.disarmed ? 'disarmed' : 'unknown',
    mode: null,
    seq: from.seq,
    at: at.wall,
    source: 'engine',
    stale: authority !== 'engine',
    memory: [],
  };
}

/** A silent zone always looks closed: its level is kept elsewhere (safety 4). */
function newZone(zone: ZonePlan, at: Stamp, online: boolean): ZoneState {
  return {
    number: zone.number,
    open: behaviour(zone).silent ? false : null,
    alarm: false,
    tamper: false,
    bypassed: false,
    lowBattery: false,
    online,
    at: at.wall,
  };
}

/** What a camera or recorder sees is known while its events arrive; the zone may be given to one that is linked already. */
const isOnline = (plan: SitePlan, { links }: SiteState, { source }: ZonePlan): boolean =>
  (source.kind !== 'camera' && source.kind !== 'nvr') ||
  linkUp(own(links, deviceName(carrierOf(plan, source)))) === true;

/** A device that comes back must be heard anew. A channel has no link of its own, and a list that is absent is not known. */
function hasLink({ cameras, nvrs, panels, speakers = [] }: SitePlan, device: string): boolean {
  const alone = cameras.filter(({ nvr }) => nvr === undefined).map(({ id }) => id);
  return Object.entries({ camera: alone, nvr: nvrs, panel: panels, speaker: speakers }).every(
    ([kind, ids]) =>
      ids === undefined || !device.startsWith(`${kind}:`) || ids.some((id) => device === deviceName({ kind, id })),
  );
}

function pick<T>(
  record: Readonly<Record<string, T>>,
  keep: (key: string, value: T) => boolean,
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).filter(([key, value]) => keep(key, value)));
}

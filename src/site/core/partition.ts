import {
  type ArmingSource,
  type ArmMode,
  alarming,
  armedWord,
  type Command,
  isArmed,
  type PartitionId,
  type PartitionPlan,
  type PartitionState,
  type ZoneNumber,
  type ZonePlan,
} from '#site/model/index.ts';
import { incidentOf, raise, soundAgain, sourceOf, takeBack } from './alarm.ts';
import { noteEntryZone } from './confirmation.ts';
import { coded, emit, place } from './events.ts';
import { modeAfterExit } from './exit.ts';
import { onePicture } from './media.ts';
import { isSame, lifeSince } from './running.ts';
import { after, setTimer } from './timers.ts';
import { type Transition, transition } from './transition.ts';
import type { CalledHelp, Evidence } from './types.ts';
import { endTest } from './walk-test.ts';
import {
  enginePlan,
  own,
  partitionOf,
  periodOf,
  setPartition,
  setPeriod,
  setZones,
  type Work,
  zonePlan,
} from './work.ts';
import { behaviour, covers, independent, watches, type ZoneGroup } from './zones.ts';

/** At most so many zones are remembered as tripped on the way in. */
const enteredCap = 16;

/** Who arms or disarms, and by which command if by one. */
type By = Partial<Pick<Command, 'id' | 'actor'>> & { readonly source: ArmingSource };

const caused = (by: By): Pick<Transition, 'source' | 'changedBy' | 'commandId' | 'local'> => ({
  source: by.source,
  changedBy: by.actor,
  commandId: by.id,
  local: by.source !== 'cloud',
});

/** Arms a partition of the engine. Its readiness was checked; `leftOut` are the zones it is armed without. */
export function arm(
  work: Work,
  plan: PartitionPlan,
  to: { mode: ArmMode; leftOut: readonly ZoneNumber[]; skipExitDelay: boolean; by: By },
): void {
  const before = partitionOf(work, plan.id);
  if (to.skipExitDelay || plan.exitDelayMs <= 0 || watchesTheSame(before, to.mode)) {
    // Before the arming, so that its event and its audit entry tell them.
    leaveOut(work, plan.id, to.leftOut);
    transition(work, plan.id, { state: armedWord[to.mode], mode: to.mode, ...caused(to.by) });
    return;
  }
  // Another mode on the way out of an armed one makes that way no longer: what it was armed with stays off only once.
  // Nor does what comes without a code, or it could hold the way out open for ever.
  const isKept = to.by.actor === undefined || periodOf(work.state, plan.id).guard !== undefined;
  const exitEnds =
    (before.state === 'arming' && isKept ? before.exitEnds : undefined) ?? after(work.at, plan.exitDelayMs);
  leaveOut(work, plan.id, to.leftOut);
  transition(work, plan.id, { state: 'arming', mode: to.mode, ...caused(to.by), more: { exitEnds } });
  if (isArmed(before.state) && before.mode !== null) {
    work.rules.add('C10');
    setPeriod(work, plan.id, { guard: before.mode });
  }
  setTimer(work, 'exit', plan.id, exitEnds);
}

/** Armed, and the new mode watches neither more nor less: nobody leaves, so the protection goes on as it is (C10). */
const watchesTheSame = ({ state, mode: before }: PartitionState, mode: ArmMode): boolean =>
  isArmed(state) && before !== null && covers(mode, before) && covers(before, mode);

function leaveOut(work: Work, id: PartitionId, numbers: readonly ZoneNumber[]): void {
  if (numbers.length === 0) return;
  const bypassed = [...new Set([...periodOf(work.state, id).bypassed, ...numbers])];
  setPeriod(work, id, { bypassed });
  setZones(
    work,
    numbers.flatMap((number) => {
      const zone = own(work.state.zones, number);
      return zone === undefined ? [] : [{ ...zone, bypassed: true }];
    }),
  );
}

export function disarm(work: Work, id: PartitionId, by: By): void {
  const alarmed = partitionOf(work, id).state === 'triggered';
  if (alarmed) takeBack(work, id, by.source, by.actor);
  transition(work, id, { state: 'disarmed', mode: null, ...caused(by) });
}

/**
 * The exit delay has ended: armed. What is open now is never armed over in silence: on the way in it
 * is treated as an entry, so that whoever went back in can still disarm (exit error); anything else is an alarm.
 */
export function exitEnded(work: Work, plan: PartitionPlan): void {
  const { mode: wanted, source, changedBy } = partitionOf(work, plan.id);
  if (wanted === null) return;
  const mode = modeAfterExit(work, plan, wanted);
  transition(work, plan.id, { state: armedWord[mode], mode, source, changedBy });
  const open = burglaryZones(work, plan.id, mode).filter((zone) => own(work.state.zones, zone.number)?.open === true);
  if (open.length === 0) return;
  work.rules.add('exit error');
  // An entry is by a door first of all; a window is none, and cuts its delay short.
  const instant = open.filter((zone) => !isWayIn(zone));
  const [first, ...more] = open.filter(isWayIn).sort((one, other) => Number(isDoor(other)) - Number(isDoor(one)));
  if (first !== undefined) startEntry(work, plan, first, { exitError: true });
  for (const zone of more) {
    if (partitionOf(work, plan.id).state === 'pending') noteEntered(work, plan.id, zone.number);
    else burglaryAlarm(work, plan.id, zone);
  }
  for (const zone of instant) burglaryAlarm(work, plan.id, zone, { evidence: [{ type: 'exit_error' }] });
}

const isDoor = (zone: ZonePlan): boolean => behaviour(zone).group === 'entry';
const isWayIn = (zone: ZonePlan): boolean => isDoor(zone) || behaviour(zone).group === 'follower';

/** The zones of a partition that are watched in a mode and not left out. */
function burglaryZones(work: Work, id: PartitionId, mode: ArmMode): readonly ZonePlan[] {
  const { bypassed } = periodOf(work.state, id);
  return work.plan.zones.filter((zone) => {
    const how = behaviour(zone);
    return (
      zone.partitions.includes(id) && !independent(how.group) && watches(mode, how) && !bypassed.includes(zone.number)
    );
  });
}

/**
 * The entry delay begins. A picture leaves at once with an event that signals nobody, so that smashing the box does
 * not help (safety 8).
 */
export function startEntry(
  work: Work,
  plan: PartitionPlan,
  zone: ZonePlan,
  how: { exitError?: boolean; late?: boolean },
): void {
  const { mode } = partitionOf(work, plan.id);
  const kind = how.exitError === true ? 'exit_error' : behaviour(zone).alarm;
  setPartition(work, plan.id, { alarm: { zone: zone.number, kind } });
  setPeriod(work, plan.id, { entered: [], entry: true });
  if (plan.entryDelayMs <= 0) {
    trigger(work, plan.id, { zone, kind, ...how });
    return;
  }
  const entryEnds = after(work.at, plan.entryDelayMs);
  transition(work, plan.id, { state: 'pending', mode, source: 'engine', more: { entryEnds } });
  setTimer(work, 'entry', plan.id, entryEnds);
  entryEvent(work, plan.id, zone, how);
}

export function entryEvent(
  work: Work,
  id: PartitionId,
  zone: ZonePlan | undefined,
  how: { exitError?: boolean; late?: boolean },
): void {
  work.rules.add('safety 8');
  const source = zone === undefined ? 'engine' : sourceOf(zone);
  emit(work, {
    class: 'system',
    kind: 'entry_delay_started',
    status: 'active',
    lane: 'alarm',
    ...place(work, { partition: id, zone }),
    ...(zone?.source.kind === 'camera' ? { camera: zone.source.id } : {}),
    source,
    ...(how.late === true ? { late: true } : {}),
    signalToStation: false,
    toCloud: true,
    media: onePicture(work.plan, { partition: id, zone }, 'alarm'),
    incident: incidentOf(work, id),
    ...(how.exitError === true ? { detail: 'exit_error', ...coded('alarm', 'exit_error', 'active') } : {}),
  });
}

/** A zone tripped on the way in: part of the alarm if nobody disarms. */
export function noteEntered(work: Work, id: PartitionId, zone: ZoneNumber): void {
  const { entered } = periodOf(work.state, id);
  if (entered.includes(zone) || entered.length >= enteredCap) return;
  setPeriod(work, id, { entered: [...entered, zone] });
}

/** The entry delay has ended without a disarm: the entry zone and all that tripped on the way in are alarms. */
export function entryEnded(work: Work, id: PartitionId, how: { late?: boolean } = {}): void {
  const { alarm } = partitionOf(work, id);
  const { entered } = periodOf(work.state, id);
  const zone = alarm?.zone === undefined ? undefined : zonePlan(work.plan, alarm.zone);
  trigger(work, id, { zone, kind: alarm?.kind ?? 'burglary', ...how });
  for (const number of entered) {
    const other = zonePlan(work.plan, number);
    if (other === undefined || number === alarm?.zone) continue;
    burglaryAlarm(work, id, other, how);
  }
}

/** An alarm of a burglary zone in a partition of the engine, which is triggered from now on. */
export function burglaryAlarm(
  work: Work,
  id: PartitionId,
  zone: ZonePlan,
  how: { late?: boolean; evidence?: readonly Evidence[] } = {},
): void {
  const { state } = partitionOf(work, id);
  if (state !== 'triggered') {
    const { entered } = periodOf(work.state, id);
    const entry = partitionOf(work, id).alarm;
    if (state === 'pending' && entry?.zone !== undefined) noteEntryZone(work, id, zonePlan(work.plan, entry.zone));
    trigger(work, id, { zone, kind: behaviour(zone).alarm, ...how });
    // A second, instant zone cuts an entry delay short: what opened on the way in is no longer an entry.
    if (state === 'pending') reportEntered(work, id, wayIn(entry, entered), { ...how, by: zone.number });
    return;
  }
  markZone(work, zone);
  raise(work, { kind: behaviour(zone).alarm, partition: id, zone, source: sourceOf(zone), ...how });
}

const wayIn = (entry: PartitionState['alarm'], entered: readonly ZoneNumber[]): readonly ZoneNumber[] => [
  ...(entry?.zone === undefined ? [] : [entry.zone]),
  ...entered,
];

/** `by`: the zone that cut the entry delay short, where one did; it was reported before. */
function reportEntered(
  work: Work,
  id: PartitionId,
  numbers: readonly ZoneNumber[],
  { by, late }: { readonly by?: ZoneNumber; readonly late?: boolean },
): void {
  for (const number of new Set(numbers)) {
    const zone = zonePlan(work.plan, number);
    if (zone !== undefined && number !== by) burglaryAlarm(work, id, zone, late === true ? { late } : {});
  }
}

function trigger(
  work: Work,
  id: PartitionId,
  alarm: { zone: ZonePlan | undefined; kind: string; late?: boolean; evidence?: readonly Evidence[] },
): void {
  const { mode } = partitionOf(work, id);
  const { zone, kind } = alarm;
  incidentOf(work, id);
  const running = { kind, ...(zone === undefined ? {} : { zone: zone.number }) };
  transition(work, id, { state: 'triggered', mode, source: 'engine', more: { alarm: running } });
  setPeriod(work, id, { entered: [] });
  if (zone !== undefined) markZone(work, zone);
  raise(work, {
    kind,
    partition: id,
    zone,
    source: zone === undefined ? 'engine' : sourceOf(zone),
    ...(alarm.late === true ? { late: true } : {}),
    ...(alarm.evidence === undefined ? {} : { evidence: alarm.evidence }),
  });
}

/** A zone that is open shows its alarm until it closes; one that only pulsed has nothing that could end. */
function markZone(work: Work, zone: ZonePlan): void {
  const state = own(work.state.zones, zone.number);
  if (state !== undefined && state.open === true && !state.alarm)
    setZones(work, [{ ...state, alarm: true, at: work.at.wall }]);
}

/** The alarm of a zone that never depends on arming (safety 1). It is raised once, for the zone's first partition. */
export function independentAlarm(work: Work, zone: ZonePlan, how: { late?: boolean; past?: boolean }): void {
  const { alarm: kind, silent } = behaviour(zone);
  work.rules.add('safety 1');
  const partition = zone.partitions.find((id) => own(work.state.partitions, id) !== undefined);
  const alarm = { kind, partition, zone, source: sourceOf(zone), silent, ...how };
  const { number, partitions } = zone;
  const shown = { partitions, kind, group: behaviour(zone).group, zone: number };
  const cut = silent ? [] : showIndependent(work, shown);
  raise(work, alarm);
  reportCut(work, cut, { ...how, by: number });
}

/** What tripped on the way in, in entry delays that an alarm has cut short. */
export function reportCut(
  work: Work,
  cut: readonly CutEntry[],
  how: { readonly by?: ZoneNumber; readonly late?: boolean },
): void {
  for (const { id, numbers } of cut) reportEntered(work, id, numbers, how);
}

/** An entry delay that an alarm has cut short, with all that tripped on the way in. */
interface CutEntry {
  readonly id: PartitionId;
  readonly numbers: readonly ZoneNumber[];
}

/** An alarm that depends on no arming, of a zone or of a person who calls for help. */
export function showIndependent(
  work: Work,
  what: {
    readonly partitions: readonly PartitionId[];
    readonly kind: string;
    readonly group: ZoneGroup;
    readonly zone?: ZoneNumber;
  },
): readonly CutEntry[] {
  const { kind, group, zone } = what;
  const cut: CutEntry[] = [];
  soundAgain(work, what.partitions);
  for (const id of what.partitions) {
    if (enginePlan(work, id) === undefined) continue;
    const { state, mode, alarm: entry } = partitionOf(work, id);
    const alarm = { ...(zone !== undefined && { zone }), kind };
    // A danger to life ends with its cause; of a call for help nobody tells an end, and none may vanish beside another alarm.
    const called = zone === undefined || group === 'holdup' ? noteCalled(work, id, alarm) : undefined;
    if (alarming(state) && group === 'life') continue;
    // Life safety shows on the partition as long as its cause lasts; the arming goes on beneath it.
    if (group === 'life') {
      endTest(work, id, { source: 'engine', detail: 'alarm' });
      const since = called?.since ?? lifeSince(work, id) ?? work.at.wall;
      setPartition(work, id, { alarm: { ...alarm, since } });
    } else if (state !== 'triggered' && state !== 'unknown') {
      if (state === 'pending') {
        cut.push({ id, numbers: wayIn(entry, periodOf(work.state, id).entered) });
        if (entry?.zone !== undefined) noteEntryZone(work, id, zonePlan(work.plan, entry.zone));
        setPeriod(work, id, { entered: [] });
      }
      transition(work, id, { state: 'triggered', mode, source: 'engine', more: { alarm } });
    }
  }
  return cut;
}

function noteCalled(work: Work, id: PartitionId, alarm: Omit<CalledHelp, 'since'>): CalledHelp {
  const { called = [] } = periodOf(work.state, id);
  const known = called.find((one) => isSame(one, alarm));
  if (known !== undefined) return known;
  const call = { ...alarm, since: work.at.wall };
  setPeriod(work, id, { called: [...called, call] });
  return call;
}

import type {
  ArmingWord,
  ArmMode,
  DeviceRef,
  PartitionId,
  PartitionPlan,
  PartitionState,
  Reported,
  SignalOf,
  ZonePlan,
} from '#site/model/index.ts';
import { alarming, isArmed, isCalmer, modeOf } from '#site/model/index.ts';
import { isForGood, raise, sourceOf } from './alarm.ts';
import { cancel, cancelBurglary, restore } from './alarm-end.ts';
import { armingCode } from './codes.ts';
import { doubt, isDoubtful, isRetold, noteCalledOff, noteRetold } from './doubt.ts';
import { deviceName, emit, place } from './events.ts';
import { settle } from './flight.ts';
import { furtherZone } from './further-zone.ts';
import { hold } from './link.ts';
import { partitionOvertakes } from './overtaken.ts';
import {
  goesOn,
  isBesideLife,
  isOver,
  isTold,
  isToldBurglary,
  isUnnamed,
  noteBegun,
  noteSight,
  onlyFire,
  opened,
  reportedZone,
  suspect,
  togetherMs,
  withIt,
  zonesOf,
} from './panel-zones.ts';
import { entryEvent, independentAlarm } from './partition.ts';
import { armingKey, isToldAgain } from './reports.ts';
import { lifeSince } from './running.ts';
import { type Transition, transition } from './transition.ts';
import { endAlarm } from './trip.ts';
import { own, partitionOf, partitionPlan, periodOf, setPartition, setPeriod, setZones, type Work } from './work.ts';
import { alarmsDoubted } from './zone-doubt.ts';
import { behaviour, independent, lastingKinds, staysKind } from './zones.ts';

type PartitionSignal = SignalOf<'partition'>;
type ZoneSignal = SignalOf<'zone'>;

/** The plan of a partition that is what this device says. */
function mirrored(work: Work, id: PartitionId, source: DeviceRef): PartitionPlan | undefined {
  const plan = partitionPlan(work, id);
  const foreign = source.kind !== 'panel' || (plan?.panel !== undefined && plan.panel !== source.id);
  return plan?.authority === 'engine' || foreign ? undefined : plan;
}

/** What a panel says about a partition of its own is the truth (I6); siteward's belief never changes it. */
export function observe(work: Work, signal: PartitionSignal): void {
  const plan = mirrored(work, signal.partition, signal.source);
  if (plan === undefined) {
    work.rules.add('not the authority');
    return;
  }
  if (!signal.replay && signal.state === 'triggered') partitionOvertakes(work, plan.id);
  if (hold(work, signal, `partition:${plan.id}`)) return;
  work.rules.add('I6');
  const about = signal.state === 'triggered' ? `triggered:${plan.id}` : armingKey(plan.id);
  const isNews = !isToldAgain(work, about, signal);
  const before = partitionOf(work, plan.id);
  if (isDoubtful(work, before, signal)) {
    doubt(work, before, signal.state);
    if (signal.state === 'triggered') retell(work, plan, signal);
    return;
  }
  if (!isNews || signal.reminder === true) return;
  if (isHistory(work, signal)) {
    // Without a time it may be newer than what is known.
    if (signal.ageMs === undefined && isCalmer(before.state, signal.state)) doubt(work, before, signal.state);
    history(work, signal);
    return;
  }
  if (signal.state === 'triggered' && isPastAlarm(work, plan.id, signal)) {
    pastAlarm(work, plan, signal);
    return;
  }
  noteSaid(work, plan.id, signal);
  if (before.stale) setPartition(work, plan.id, { stale: false });
  const reached = before.request !== undefined && reaches(before.request.target, signal.state, before);
  const { endDoubted } = periodOf(work.state, plan.id);
  if (signal.state !== before.state) mirror(work, plan, signal, reached);
  else if (endDoubted && signal.state === 'triggered') anotherAlarm(work, plan, signal);
  if (endDoubted) setPeriod(work, plan.id, { endDoubted: undefined });
  if (!signal.replay && signal.waited === undefined) calmDoubted(work, plan);
  prove(work, signal, before);
  if (reached && before.request !== undefined) {
    settle(work, plan.id, before.request.commandId, signal.user === undefined ? 'done' : 'already');
  }
}

/**
 * Panels empty their memory behind what is new: of two openings and closings the one that happened last counts (I1), and one from before
 * the alarm takes nothing of it back. One that is old without a time disarms nothing. An alarm is told whenever it comes.
 */
function isHistory(work: Work, signal: PartitionSignal): boolean {
  const { partition, state, ageMs, past, report } = signal;
  if (report === undefined) return false;
  if (state === 'triggered') return false;
  const { saidAt } = periodOf(work.state, partition);
  if (ageMs !== undefined && saidAt !== undefined && work.at.wall - ageMs < saidAt) return true;
  return past === true && ageMs === undefined && state === 'disarmed';
}

/** Panels write whole seconds: an alarm and an opening so near are told in the order they come (milliseconds). */
const nearMs = 10_000;

/** Whether an alarm happened before what is known of its partition, which then is as it is: the alarm is over. */
export function isPastAlarm(work: Work, id: PartitionId, { report, ageMs }: Reported): boolean {
  const { state, stale } = partitionOf(work, id);
  const { saidAt } = periodOf(work.state, id);
  if (report === undefined || ageMs === undefined || saidAt === undefined) return false;
  // The clock was set back: when something was said says nothing then.
  if (saidAt > work.at.wall) return false;
  return !stale && state !== 'unknown' && state !== 'triggered' && work.at.wall - ageMs + nearMs < saidAt;
}

/** It is told all the same. Where the partition is armed, or the zone always watches, that has told it. */
function pastAlarm(work: Work, plan: PartitionPlan, { told, report }: PartitionSignal): void {
  work.rules.add('I1');
  const { state } = partitionOf(work, plan.id);
  const zone = reportedZone(work, plan, report);
  const isDisarmed = state === 'disarmed' || state === 'arming';
  const isTold = told !== undefined || (zone !== undefined && (independent(behaviour(zone).group) || !isDisarmed));
  if (isTold) return;
  const kind = zone === undefined ? 'burglary' : behaviour(zone).alarm;
  raise(work, { kind, partition: plan.id, zone, source: sourceOfPanel(plan), past: true });
}

/** What a report says last of a partition's arming or alarm. */
export function noteSaid(work: Work, id: PartitionId, { report, ageMs }: Reported): void {
  const { saidAt } = periodOf(work.state, id);
  const at = work.at.wall - (ageMs ?? 0);
  if (report === undefined || (ageMs !== undefined && saidAt !== undefined && at < saidAt)) return;
  setPeriod(work, id, { saidAt: at, saidBy: report });
}

/** Whether a zone would be calm by an opening that changed nothing, or that something newer has followed. */
export function isPastOpening(work: Work, { opening, report, source }: SignalOf<'zone'>): boolean {
  if (opening === undefined || mirrored(work, opening, source) === undefined) return false;
  const { saidBy } = periodOf(work.state, opening);
  return saidBy !== undefined && saidBy !== report;
}

function history(work: Work, { partition, state, user }: PartitionSignal): void {
  work.rules.add('I1');
  emit(work, {
    class: 'arming',
    kind: state,
    status: 'active',
    lane: 'arming',
    ...place(work, { partition }),
    ...armingCode('panel', user, modeOf(state)),
    source: 'panel',
    ...(user === undefined ? {} : { actor: user }),
    late: true,
    signalToStation: false,
    toCloud: true,
    media: [],
  });
}

/** A retained word proves nothing about an arming that was not heard: an alarm of a zone then goes up all the same (safety 2). */
function prove(work: Work, { partition, state, replay }: PartitionSignal, before: PartitionState): void {
  const isNews = before.state !== state || before.stale;
  if (replay && isNews && state === 'disarmed') setPeriod(work, partition, { unproven: true });
  else if (!replay && periodOf(work.state, partition).unproven) setPeriod(work, partition, { unproven: undefined });
}

function mirror(work: Work, plan: PartitionPlan, signal: PartitionSignal, reached: boolean): void {
  const before = partitionOf(work, plan.id);
  const { state, replay: late } = signal;
  const by = causeOf(work, before, signal, reached);
  if (state === 'disarmed' && before.state === 'triggered') callOff(work, plan.id, by.source, by.changedBy);
  if (state === 'disarmed' && !late) opened(work, plan.id, signal);
  transition(work, plan.id, { state, mode: modeAfter(before, state), ...by, late, local: by.source !== 'cloud' });
  if (state === 'pending') entryEvent(work, plan.id, entryZone(work, plan), late ? { late } : {});
  if (state === 'triggered') triggered(work, plan, signal, before.state);
  else if (before.state === 'triggered') {
    // The panel has ended its alarm, and what it tells next is another one, also where nobody has disarmed.
    onlyFire(work, plan.id);
    if (state === 'disarmed') noteCalledOff(work, before);
  }
}

/** What is retained may be an alarm of the time when nobody listened. */
function retell(work: Work, plan: PartitionPlan, { told }: PartitionSignal): void {
  if (told !== undefined || periodOf(work.state, plan.id).calledOff?.retold === true) return;
  noteRetold(work, plan.id, 'partition');
  const zone = suspect(work, plan, true);
  const kind = zone === undefined ? 'burglary' : behaviour(zone).alarm;
  raise(work, { kind, partition: plan.id, zone, source: sourceOfPanel(plan), flagged: true, late: true });
}

/** The panel has ended the alarm that is known, though nobody can tell when: one told twice is better than one lost. */
function anotherAlarm(work: Work, plan: PartitionPlan, signal: PartitionSignal): void {
  setPartition(work, plan.id, { alarm: undefined, incident: undefined });
  setPeriod(work, plan.id, { burglary: undefined, expected: undefined });
  triggered(work, plan, signal, 'disarmed');
}

/** An opening takes back the burglary; life safety ends with its cause, and a call for help is nobody's to take back (safety 1). */
function callOff(work: Work, id: PartitionId, source: string, actor: string | undefined): void {
  const { alarm } = partitionOf(work, id);
  const stays = alarm !== undefined && (alarm.zone === undefined ? staysKind(alarm.kind) : isForGood(work, alarm.zone));
  if (!stays) cancel(work, id, source, actor);
  else cancelBurglary(work, id, periodOf(work.state, id).burglary, { source, actor });
}

/** The command that asked for this state, unless the panel names a person or nobody asked. */
function causeOf(
  work: Work,
  { request }: PartitionState,
  { user }: PartitionSignal,
  reached: boolean,
): Pick<Transition, 'source' | 'changedBy' | 'commandId'> {
  const flight = request === undefined ? undefined : own(work.state.inFlight, request.commandId);
  if (!reached || user !== undefined || flight === undefined) return { source: 'panel', changedBy: user };
  return { source: flight.source, changedBy: flight.actor, commandId: request?.commandId };
}

/** An exit delay that was asked for is as good as armed: the panel has accepted. */
function reaches(target: 'disarmed' | ArmMode, state: ArmingWord, before: PartitionState): boolean {
  if (target === 'disarmed') return state === 'disarmed';
  if (modeOf(state) === target) return true;
  return state === 'arming' && (before.state !== 'arming' || before.mode === target);
}

function modeAfter(before: PartitionState, state: ArmingWord): ArmMode | null {
  if (isArmed(state)) return modeOf(state);
  if (state === 'disarmed' || state === 'unknown') return null;
  if (alarming(state)) return before.mode;
  const target = before.request?.target;
  return target === undefined || target === 'disarmed' ? null : target;
}

function entryZone(work: Work, plan: PartitionPlan): ZonePlan | undefined {
  return zonesOf(work, plan).find(
    (zone) => behaviour(zone).group === 'entry' && own(work.state.zones, zone.number)?.open === true,
  );
}

/** One incident, one alarm event: a zone's own alarm that came first was the event already. */
function triggered(
  work: Work,
  plan: PartitionPlan,
  { told, report, replay: late }: PartitionSignal,
  from: ArmingWord,
): void {
  const wasDisarmed = from === 'disarmed';
  const { alarm } = partitionOf(work, plan.id);
  const reported = reportedZone(work, plan, report);
  const isNear = alarm?.since === undefined || Math.abs(work.at.wall - alarm.since) < togetherMs;
  const isOld = alarm?.zone !== undefined && isOver(work, plan, alarm.zone);
  const isSame = isNear && !isOld && (reported === undefined || reported.number === alarm?.zone);
  const isOther = told === undefined && reported === undefined && isBesideLife(work, plan, from);
  if (alarm?.zone !== undefined && isTold(work, plan.id, alarm.zone) && isSame && !isOther) return;
  if (isToldBurglary(work, plan, reported)) return;
  const ofKind = zonesOf(work, plan).find(
    (one) => behaviour(one).alarm === told && own(work.state.zones, one.number)?.alarm === true,
  );
  if (told === 'burglary') setPeriod(work, plan.id, { burglary: undefined });
  if (told !== undefined && ofKind === undefined) return;
  const zone = ofKind ?? reported ?? suspect(work, plan, wasDisarmed);
  const kind = zone === undefined ? 'burglary' : behaviour(zone).alarm;
  setPartition(work, plan.id, { alarm: { kind, ...(zone === undefined ? {} : { zone: zone.number }) } });
  const isIn = zone === undefined || own(work.state.zones, zone.number)?.alarm === true;
  const began = staysKind(kind) ? {} : { burglary: undefined };
  setPeriod(work, plan.id, { ...began, expected: isIn ? undefined : zone.number });
  const additionalZones = isIn && zone !== undefined ? withIt(work, plan, zone) : [];
  raise(work, {
    kind,
    partition: plan.id,
    zone,
    source: sourceOfPanel(plan),
    additionalZones,
    ...(late ? { late } : {}),
  });
}

const sourceOfPanel = ({ panel }: PartitionPlan): string =>
  panel === undefined ? 'panel' : deviceName({ kind: 'panel', id: panel });

/**
 * A zone in alarm, by the word of its panel. It is raised at once; `triggered`, when it comes, is then the same
 * incident. A burglary zone of a partition the panel says is disarmed waits for the panel's verdict.
 */
export function panelZoneAlarm(work: Work, zone: ZonePlan, signal: ZoneSignal): void {
  const { replay } = signal;
  const late = replay ? { late: true } : {};
  if (!replay) for (const id of zone.partitions) partitionOvertakes(work, id);
  const expected = forgetExpected(work, zone);
  // No opening ends a danger to life: it shows until its own end does (safety 1).
  const isPast = (id: PartitionId) => !isForGood(work, zone.number) && isPastAlarm(work, id, signal);
  const past = zone.partitions.filter(isPast);
  for (const id of zone.partitions) noteBegun(work, id, zone, past.includes(id));
  noteSight(work, zone, signal);
  if (expected) return;
  if (independent(behaviour(zone).group)) {
    const unnamed = zone.type === '24h_burglary' ? zone.partitions.find((id) => isUnnamed(work, id)) : undefined;
    for (const id of zone.partitions) if (!past.includes(id)) name(work, id, zone);
    // A burglary that its panel tells of a disarmed partition is that of such a zone.
    if (unnamed !== undefined) {
      furtherZone(work, unnamed, zone, late);
      return;
    }
    const [first] = zone.partitions;
    independentAlarm(work, zone, { ...late, past: first !== undefined && past.includes(first) });
    return;
  }
  for (const id of zone.partitions) {
    if (past.includes(id)) pastBurglary(work, id, zone);
    else if (!replay || !isRetold(work, id, zone.number)) burglary(work, id, zone, late);
  }
}

/** In a partition that is disarmed it waits for the panel's verdict, as any. */
function pastBurglary(work: Work, id: PartitionId, zone: ZonePlan): void {
  const { state } = partitionOf(work, id);
  if (state === 'disarmed' || state === 'arming') return;
  raise(work, { kind: behaviour(zone).alarm, partition: id, zone, source: sourceOf(zone), past: true });
}

function burglary(work: Work, id: PartitionId, zone: ZonePlan, late: { late?: boolean }): void {
  const { state, stale } = partitionOf(work, id);
  const unproven = state === 'disarmed' && late.late !== true && periodOf(work.state, id).unproven === true;
  const flagged = state === 'unknown' || stale || unproven;
  if (!flagged && (state === 'disarmed' || state === 'arming')) return;
  const { endDoubted } = periodOf(work.state, id);
  const anonymous = isUnnamed(work, id);
  name(work, id, zone);
  // The event of `triggered` was about this zone; now its name is known.
  if (anonymous) {
    furtherZone(work, id, zone, late);
    return;
  }
  if (flagged) work.rules.add('safety 2');
  // The `triggered` that comes with it is the same.
  if (late.late === true) noteRetold(work, id, 'zone');
  else if (endDoubted) setPeriod(work, id, { endDoubted: undefined });
  raise(work, { kind: behaviour(zone).alarm, partition: id, zone, source: sourceOf(zone), flagged, ...late });
}

/** True when `triggered` has named this zone before it reported its alarm: the event was raised already. */
function forgetExpected(work: Work, zone: ZonePlan): boolean {
  const ids = zone.partitions.filter((id) => periodOf(work.state, id).expected === zone.number);
  for (const id of ids) setPeriod(work, id, { expected: undefined });
  return ids.length > 0;
}

/** Makes a zone the one the partition's alarm is about, unless a running alarm has one; a fire goes before a burglary. */
function name(work: Work, id: PartitionId, zone: ZonePlan): void {
  const { alarm, state, memory } = partitionOf(work, id);
  const { alarm: kind, group } = behaviour(zone);
  const isFire = alarm !== undefined && lastingKinds.has(alarm.kind);
  if (isFire && !independent(group)) return;
  const isFirst = group === 'life' && alarm !== undefined && !isFire;
  if (state === 'triggered' && alarm?.zone !== undefined && !isFirst) return;
  const since = (group === 'life' ? lifeSince(work, id) : undefined) ?? work.at.wall;
  const named = memory.includes(zone.number) ? memory : [...memory, zone.number];
  setPartition(work, id, {
    alarm: { zone: zone.number, kind, ...(independent(group) && { since }) },
    ...(state === 'triggered' ? { memory: named } : {}),
  });
}

/** Its panel says live that no alarm runs. What a zone was said to be calm of, by a word that may have been older, is over then. */
function calmDoubted(work: Work, plan: PartitionPlan): void {
  for (const zone of alarmsDoubted(work, plan)) {
    if (zone.partitions.some((id) => alarming(partitionOf(work, id).state))) continue;
    const state = own(work.state.zones, zone.number);
    if (state !== undefined) setZones(work, [{ ...state, alarm: false, at: work.at.wall }]);
    panelZoneCalm(work, zone, true);
  }
}

/** A mirrored zone is calm: what it was in alarm for is over. */
export function panelZoneCalm(work: Work, zone: ZonePlan, alarmEnded: boolean): void {
  forgetExpected(work, zone);
  if (!alarmEnded) return;
  const { alarm: kind, group } = behaviour(zone);
  const remembered = zone.partitions.find((partition) => partitionOf(work, partition).memory.includes(zone.number));
  // An arming meanwhile has begun the memory anew.
  const id = remembered ?? (independent(group) ? zone.partitions[0] : undefined);
  if (id !== undefined) restore(work, { kind, partition: id, zone, source: sourceOf(zone) });
  for (const partition of zone.partitions) {
    endAlarm(work, partition, zone);
    goesOn(work, partition, zone);
  }
}

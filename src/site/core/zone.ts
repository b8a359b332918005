import { isArmed, isSet, type PartitionId, type SignalOf, type ZonePlan, type ZoneState } from '#site/model/index.ts';
import { raise, soundAgain, sourceOf } from './alarm.ts';
import { restore } from './alarm-end.ts';
import { chime } from './chime.ts';
import { openedInAlarm } from './further-zone.ts';
import { turned } from './key-switch.ts';
import { hold, isAfterReturn } from './link.ts';
import { zoneOvertakes } from './overtaken.ts';
import { isPastAlarm, isPastOpening, panelZoneAlarm, panelZoneCalm } from './panel.ts';
import { bypassTold } from './panel-bypass.ts';
import { independentAlarm } from './partition.ts';
import { isToldAgain, tamperKey, zoneKey } from './reports.ts';
import { conditionChanged } from './supervision.ts';
import { closed, trip } from './trip.ts';
import { openForgotten } from './unrestored.ts';
import { isTestedAll } from './walk-test.ts';
import { decidedByPanel, own, partitionPlan, setZones, type Work, zoneOf, zonePlan } from './work.ts';
import { judged } from './zone-doubt.ts';
import { behaviour, forGood } from './zones.ts';

export type ZoneSignal = SignalOf<'zone'>;

/** What a zone reports about itself. Knowledge that is not new changes nothing (I1). */
export function zoneSignal(work: Work, heard: ZoneSignal): void {
  const plan = zonePlan(work.plan, heard.zone);
  if (plan === undefined || zoneOf(work.state, heard.zone) === undefined) {
    work.rules.add('zone not in plan');
    return;
  }
  if (heard.openForgotten === true) {
    openForgotten(work, plan);
    return;
  }
  const said = heard.opensOnly === true ? openingAsAlarm(work, plan, heard) : heard;
  const isOne = behaviour(plan).silent || !isMirrored(work, plan);
  zoneOvertakes(work, plan, said, isOne);
  if (hold(work, said, zoneKey(said.zone))) return;
  const about = said.alarm === true ? zoneKey(said.zone) : tamperKey(said.zone);
  if ((said.alarm === true || said.tamper === true) && isToldAgain(work, about, said)) {
    work.rules.add('told again');
    return;
  }
  if (isPastOpening(work, said)) {
    work.rules.add('I1');
    return;
  }
  const signal = judged(work, plan, said, isOne);
  const before = zoneOf(work.state, said.zone);
  if (before === undefined) return;
  // Many panels report no end of an alarm or a sabotage: another report of it ends the one before, by no code of its own.
  const { code: _, ...uncoded } = signal;
  const { alarm = false } = behaviour(plan).silent ? { alarm: own(work.state.silent, plan.number) } : before;
  if (signal.alarm === true && signal.report !== undefined && alarm)
    applyZone(work, plan, before, { ...uncoded, alarm: false });
  if (signal.tamper === true && signal.report !== undefined && before.tamper)
    applyZone(work, plan, before, { ...uncoded, tamper: false });
  applyZone(work, plan, zoneOf(work.state, signal.zone) ?? before, signal);
}

function applyZone(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  zoneTroubles(work, plan, before, signal);
  if (behaviour(plan).silent) silentZone(work, plan, before, signal);
  else if (behaviour(plan).group === 'key') keyZone(work, plan, before, signal);
  else if (isMirrored(work, plan)) mirrorZone(work, plan, before, signal);
  else ownZone(work, plan, before, signal);
  if (behaviour(plan).silent) return;
  if (before.open === false && signal.open === true && !signal.replay) chime(work, plan, sourceOf(plan));
}

const isMirrored = (work: Work, { partitions, source }: ZonePlan): boolean =>
  partitions.length > 0 && partitions.every((id) => decidedByPanel(work, id, source));

/**
 * Nobody else would tell the fire of a panel that says no more of its detectors than that they open (safety 1). Of one that its panel
 * leaves out, that is no alarm; its end always is one.
 */
function openingAsAlarm(work: Work, plan: ZonePlan, { alarm: _, ...said }: ZoneSignal): ZoneSignal {
  const { group, silent } = behaviour(plan);
  // Siteward's own judgement of a zone, and that of a silent button, begins with its opening anyway.
  if (said.open === undefined || !forGood(group) || silent || !isMirrored(work, plan)) return said;
  const bypassed = said.bypassed ?? zoneOf(work.state, plan.number)?.bypassed;
  return said.open && bypassed === true ? said : { ...said, alarm: said.open };
}

function keyZone(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  merge(work, before, ownLevels(plan, signal));
  turned(work, plan, before, signal);
}

/** A zone whose partitions belong to its panel: what it reports is shown, and only its alarms are acted on. */
function mirrorZone(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  merge(work, before, { ...levels(plan, signal), ...(signal.alarm === undefined ? {} : { alarm: signal.alarm }) });
  if (signal.bypassed !== undefined) bypassTold(work, plan, signal.bypassed);
  if (signal.alarm === true && !before.alarm) panelZoneAlarm(work, plan, signal);
  else if (signal.open === true && before.open === false && !signal.replay && !before.alarm) openedInAlarm(work, plan);
  if (signal.alarm === false || (signal.open === false && signal.alarm === undefined)) {
    panelZoneCalm(work, plan, signal.alarm === false && before.alarm);
  }
}

/**
 * A zone that siteward judges. `open` and `alarm` are both ways to say that the detector has tripped; one trip told
 * in both ways, or told again, is still one.
 */
function ownZone(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  merge(work, before, ownLevels(plan, signal));
  const idle = before.open !== true && !before.alarm;
  const calm = signal.open !== true && signal.alarm !== true;
  const ends = signal.open === false || (signal.alarm === false && before.open !== true);
  const isNext = before.open === null && signal.open === true && isAfterReturn(work, signal);
  if (isNext || (idle && (signal.open === true || signal.alarm === true))) {
    trip(work, plan, { late: signal.replay, motion: behaviour(plan).motion });
  } else if (!idle && calm && ends) closed(work, plan, before.open === true);
  const after = zoneOf(work.state, plan.number);
  if (signal.alarm === true && after !== undefined) merge(work, after, { alarm: true });
}

function levels(plan: ZonePlan, signal: ZoneSignal): Partial<ZoneState> {
  const { open, alarm, tamper, bypassed, lowBattery, online } = signal;
  const isHeard = forGood(behaviour(plan).group) && (open !== undefined || alarm !== undefined);
  return {
    ...(open === undefined ? {} : { open }),
    ...(isHeard ? { heard: true } : {}),
    ...(tamper === undefined ? {} : { tamper }),
    ...(bypassed === undefined ? {} : { bypassed }),
    ...(lowBattery === undefined ? {} : { lowBattery }),
    ...(online === undefined ? {} : { online }),
  };
}

/** Whether siteward leaves a zone out is its own word: a panel speaks of what the panel leaves out. */
function ownLevels(plan: ZonePlan, signal: ZoneSignal): Partial<ZoneState> {
  const { bypassed: _, ...own } = levels(plan, signal);
  return own;
}

function merge(work: Work, before: ZoneState, fields: Partial<ZoneState>): void {
  const names = Object.keys(fields) as (keyof ZoneState)[];
  if (names.every((name) => fields[name] === before[name])) return;
  setZones(work, [{ ...before, ...fields, at: work.at.wall }]);
}

/** Its level is kept out of `zones`, so that nothing shows (safety 4); only its health is shown. */
function silentZone(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  const { tamper = before.tamper, lowBattery = before.lowBattery, online = before.online } = signal;
  merge(work, before, { tamper, lowBattery, online });
  const was = own(work.state.silent, plan.number) ?? false;
  const is = signal.open === true || signal.alarm === true || (was && signal.open !== false && signal.alarm !== false);
  const isNext = isNextPress(work, signal);
  if (is === was && !isNext) return;
  work.state = { ...work.state, silent: { ...work.state.silent, [plan.number]: is } };
  if (is) independentAlarm(work, plan, signal.replay ? { late: true } : {});
  else {
    const { alarm: kind } = behaviour(plan);
    restore(work, { kind, partition: plan.partitions[0], zone: plan, source: sourceOf(plan), silent: true });
  }
}

/** Pressed before its camera went, and told as pressed anew a while after the return: it was let go meanwhile. */
function isNextPress(work: Work, signal: ZoneSignal): boolean {
  const { silentBefore = [] } = work.state;
  if (signal.open === undefined || !silentBefore.includes(signal.zone)) return false;
  work.state = { ...work.state, silentBefore: silentBefore.filter((zone) => zone !== signal.zone) };
  return signal.open && isAfterReturn(work, signal);
}

function zoneTroubles(work: Work, plan: ZonePlan, before: ZoneState, signal: ZoneSignal): void {
  const { code } = signal;
  const about = { source: plan.source, zone: plan.number, reported: code, ended: code };
  if (signal.lowBattery !== undefined)
    conditionChanged(work, { ...about, kind: 'sensor_battery', active: signal.lowBattery });
  if (signal.online !== undefined) conditionChanged(work, { ...about, kind: 'supervision', active: !signal.online });
  if (signal.tamper === undefined) return;
  if (signal.tamper && !before.tamper) tamperAlarm(work, plan, signal);
  conditionChanged(work, { ...about, kind: 'tamper', active: signal.tamper });
}

/**
 * Tamper is a trouble, and an alarm as well where the partition is armed or its arming is not known; that of a tamper zone
 * is one always.
 */
function tamperAlarm(work: Work, plan: ZonePlan, signal: ZoneSignal): void {
  const kind = 'tamper';
  const about = { kind, zone: plan, source: sourceOf(plan), ...(signal.replay ? { late: true } : {}) };
  const isPast = (id: PartitionId) => isMirrored(work, plan) && isPastAlarm(work, id, signal);
  if (behaviour(plan).alarm === kind) {
    if (isTestedAll(work, plan)) return;
    const [partition] = plan.partitions;
    soundAgain(work, plan.partitions);
    raise(work, { ...about, partition, past: partition !== undefined && isPast(partition) });
    return;
  }
  for (const id of plan.partitions) {
    const partition = own(work.state.partitions, id);
    if (partition === undefined || partitionPlan(work, id) === undefined) continue;
    const flagged = partition.state === 'unknown' || partition.stale;
    const isArming = partition.mode === null && !isArmed(partition.state);
    if (!flagged && (!isSet(partition.state) || isArming)) continue;
    soundAgain(work, plan.partitions);
    raise(work, { ...about, partition: id, flagged, past: isPast(id) });
    return;
  }
}

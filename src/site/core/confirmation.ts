import type { PartitionId, PartitionPlan, ZonePlan } from '#site/model/index.ts';
import { restore } from './alarm-end.ts';
import { deviceName, localEvent, place } from './events.ts';
import { after, clearTimer, isRunning, now, setTimer, since } from './timers.ts';
import type { Evidence } from './types.ts';
import { enginePlan, own, periodOf, setPeriod, setZones, type Work, zonePlan } from './work.ts';
import { behaviour, independent } from './zones.ts';

/**
 * Sequential confirmation: the alarm of a second, independent detector within the window of the first
 * one's is confirmed. It never delays or lowers anything: it only adds evidence.
 */
export function confirm(work: Work, id: PartitionId, zone: ZonePlan, kind: string): readonly Evidence[] {
  const plan = planOf(work, id);
  if (plan === undefined || !canConfirm(zone, kind)) return [];
  const { first, entry } = periodOf(work.state, id);
  if (first === undefined) {
    begin(work, plan, zone);
    return [];
  }
  const one = zonePlan(work.plan, first.zone);
  if (first.confirmed || !isRunning(work, 'confirmation', id) || !isIndependent(one, zone)) return [];
  // After an entry began, whoever came in trips what is on the way: only a detector off that way tells more.
  if (entry === true && onTheWayIn(zone)) return [];
  work.rules.add('sequential confirmation');
  clearTimer(work, 'confirmation', id);
  setPeriod(work, id, { first: { ...first, confirmed: true } });
  const seconds = Math.max(0, Math.round(since(work.at, first.at) / 1000));
  return [{ type: 'confirmed', method: 'sequential', first_zone: first.zone, second_zone: zone.number, seconds }];
}

/** The zone that began an entry is the first detector also when another one cuts the delay short. */
export function noteEntryZone(work: Work, id: PartitionId, zone: ZonePlan | undefined): void {
  const plan = planOf(work, id);
  if (plan === undefined || zone === undefined || periodOf(work.state, id).first !== undefined) return;
  if (canConfirm(zone, behaviour(zone).alarm)) begin(work, plan, zone);
}

function planOf(work: Work, id: PartitionId): PartitionPlan | undefined {
  const plan = enginePlan(work, id);
  return (plan?.confirmationMs ?? 0) > 0 ? plan : undefined;
}

/** Burglary detectors within the building. Tamper is tamper, and life safety needs no confirmation (safety 1). */
function canConfirm(zone: ZonePlan, kind: string): boolean {
  if (zone.confirms === false || kind === 'tamper') return false;
  return zone.type === '24h_burglary' || !independent(behaviour(zone).group);
}

/** Two zones of one camera are one detector. */
function isIndependent(first: ZonePlan | undefined, second: ZonePlan): boolean {
  if (first === undefined || first.number === second.number) return false;
  const isView = ({ source, input }: ZonePlan) => source.kind === 'camera' && input === undefined;
  return !isView(second) || !isView(first) || first.source.id !== second.source.id;
}

const onTheWayIn = (zone: ZonePlan): boolean => ['entry', 'follower'].includes(behaviour(zone).group);

function begin(work: Work, plan: PartitionPlan, zone: ZonePlan): void {
  setPeriod(work, plan.id, { first: { zone: zone.number, at: now(work.at), confirmed: false } });
  setTimer(work, 'confirmation', plan.id, after(work.at, plan.confirmationMs ?? 0));
}

/**
 * The window has ended without a second detector: the first alarm, if it still lasts, is restored and that is reported.
 * One that is over has been restored already: its end is told once, so the site's own history notes the rest.
 */
export function confirmationEnded(work: Work, id: PartitionId): void {
  const { first } = periodOf(work.state, id);
  if (first === undefined) return;
  work.rules.add('sequential confirmation');
  setPeriod(work, id, { first: undefined });
  const zone = zonePlan(work.plan, first.zone);
  const state = own(work.state.zones, first.zone);
  if (zone === undefined || state === undefined) return;
  const source = deviceName(zone.source);
  if (!state.alarm) {
    localEvent(work, { class: 'system', kind: 'alarm_not_confirmed', ...place(work, { partition: id, zone }), source });
    return;
  }
  setZones(work, [{ ...state, alarm: false, at: work.at.wall }]);
  restore(work, { kind: behaviour(zone).alarm, partition: id, zone, source, detail: 'not_confirmed' });
}

/** A confirmation never reaches over an arming period. */
export function endConfirmation(work: Work, id: PartitionId): void {
  clearTimer(work, 'confirmation', id);
  setPeriod(work, id, { first: undefined, entry: undefined });
}

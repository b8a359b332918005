import { isSet, type PartitionPlan, type Waited, type ZonePlan, type ZoneState } from '#site/model/index.ts';
import { sourceOf } from './alarm.ts';
import { keySwitchActor } from './codes.ts';
import { troubleEvent } from './events.ts';
import { isSteady } from './link.ts';
import { arm, disarm } from './partition.ts';
import { leaveOut } from './ready.ts';
import { settling } from './trip.ts';
import { enginePlan, partitionOf, periodOf, type Work } from './work.ts';

/**
 * A key switch that was turned: `momentary` changes between armed away and disarmed at each opening, `maintained` is
 * armed while open. Only an edge between two levels heard in this run of a living link counts, and not in its first
 * seconds: what a start, a replay, a panel that comes back or the queue of a broker tells is where the switch stands, and
 * never disarms (I3).
 */
export function turned(
  work: Work,
  zone: ZonePlan,
  before: ZoneState,
  heard: { open?: boolean; replay: boolean; waited?: Waited },
): void {
  const { open } = heard;
  if (heard.replay || open === undefined || before.open === null || open === before.open) return;
  const partitions = zone.partitions.flatMap((id) => {
    const plan = enginePlan(work, id);
    const isLeftOut = periodOf(work.state, id).bypassed.includes(zone.number);
    return plan !== undefined && !isLeftOut ? [plan] : [];
  });
  if (settling(work)) {
    work.rules.add('safety 3');
    return;
  }
  if (heard.waited !== undefined || !isSteady(work, zone.source)) {
    work.rules.add('I3');
    return;
  }
  if (zone.type === 'key_switch_maintained') {
    for (const plan of partitions) if (open) close(work, plan, zone);
    for (const plan of partitions) if (!open) openUp(work, plan, zone);
    return;
  }
  if (!open) return;
  const set = partitions.filter(({ id }) => isSet(partitionOf(work, id).state));
  for (const plan of set) openUp(work, plan, zone);
  if (set.length === 0) for (const plan of partitions) close(work, plan, zone);
}

const by = (zone: ZonePlan) => ({ source: 'panel' as const, actor: `${keySwitchActor}${zone.number}` });

/** Arms away; what is not ready is said aloud, because a key switch cannot answer. */
function close(work: Work, plan: PartitionPlan, zone: ZonePlan): void {
  if (isSet(partitionOf(work, plan.id).state)) return;
  const { blocking } = leaveOut(work, plan.id, { mode: 'away', bypass: [], force: false });
  if (blocking.length > 0) {
    const detail = `not ready: zones ${blocking.join(', ')}`;
    troubleEvent(work, { kind: 'fail_to_arm', active: true, source: sourceOf(zone), partition: plan.id, zone, detail });
    return;
  }
  arm(work, plan, { mode: 'away', leftOut: [], skipExitDelay: false, by: by(zone) });
}

/** After a lost store only a code says that the site is disarmed (I3). */
function openUp(work: Work, plan: PartitionPlan, zone: ZonePlan): void {
  if (!isSet(partitionOf(work, plan.id).state)) {
    work.rules.add('I3');
    return;
  }
  disarm(work, plan.id, by(zone));
}

import type { ArmMode, DeviceRef, PartitionId, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import { deviceUp } from './link.ts';
import { holds } from './supervision.ts';
import { troubleKey } from './trouble.ts';
import { decidedByPanel, own, periodOf, type Work } from './work.ts';
import { behaviour, forGood, watches } from './zones.ts';

/** Whether the engine would arm the partition in this mode without leaving a zone out. */
export const isReady = (work: Work, id: PartitionId, mode: ArmMode): boolean => notReady(work, id, mode).length === 0;

/** Zones that keep a partition of the engine from being armed in a mode, in the order of the plan. */
function notReady(work: Work, id: PartitionId, mode: ArmMode): readonly ZonePlan[] {
  const { bypassed } = periodOf(work.state, id);
  return work.plan.zones.filter((zone) => {
    if (!zone.partitions.includes(id) || bypassed.includes(zone.number)) return false;
    const kind = behaviour(zone);
    return !kind.silent && watches(mode, kind) && !decidedByPanel(work, id, zone.source) && !atRest(work, zone);
  });
}

/**
 * Known to be closed and well. A panel that was away before a start is away until it is heard. A camera that is connected, not covered and reports nothing sees nothing; any other zone that was
 * never heard counts as open, except those that watch regardless of arming.
 */
export function atRest(work: Work, zone: ZonePlan): boolean {
  const state = own(work.state.zones, zone.number);
  if (state === undefined || state.open === true || state.alarm || state.tamper || !state.online) return false;
  const link = deviceUp(work, zone.source);
  const isDevice = zone.source.kind === 'camera' || zone.source.kind === 'nvr';
  if (isDevice && zone.input === undefined) return link === true && !isBlind(work, zone.source);
  if (link === false || (link === null && holds(work, troubleKey('panel_offline', zone.source)))) return false;
  const { group } = behaviour(zone);
  return state.open === false || forGood(group);
}

const isBlind = (work: Work, source: DeviceRef): boolean =>
  holds(work, troubleKey('camera_tamper', source)) || holds(work, troubleKey('video_loss', source));

export interface LeftOut {
  /** Zones the partition is armed without. */
  readonly zones: readonly ZoneNumber[];
  /** Zones that stand in the way. */
  readonly blocking: readonly ZoneNumber[];
}

/** `bypass` names zones to leave out, `force` leaves out whatever is not ready; neither touches life safety. */
export function leaveOut(
  work: Work,
  id: PartitionId,
  arm: { mode: ArmMode; bypass: readonly ZoneNumber[]; force: boolean },
): LeftOut {
  const zones: ZoneNumber[] = [...arm.bypass];
  const blocking: ZoneNumber[] = [];
  for (const zone of notReady(work, id, arm.mode)) {
    if (zones.includes(zone.number)) continue;
    if (arm.force && behaviour(zone).bypassable) zones.push(zone.number);
    else blocking.push(zone.number);
  }
  return { zones, blocking };
}

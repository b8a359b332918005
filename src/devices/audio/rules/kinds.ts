import { alarmKinds, lifeSafetyKinds, type SiteEvent } from '#site/model/index.ts';
import type { AlarmMark } from '../engine/index.ts';
import type { RuleOptions } from './options.ts';

/** Alarms that a disarm does not end, and that cost no life. */
const technical: readonly string[] = ['water', 'technical'];

/** What the sound of an event belongs to. A burglary of no partition has none: no disarm could end its sound. */
export function alarmOf({
  class: of,
  kind,
  status,
  partition,
  zone,
  event_id,
  data,
}: SiteEvent): AlarmMark | undefined {
  if (of !== 'alarm' || status !== 'active' || technical.includes(kind)) return undefined;
  const id = data.incident_id ?? event_id;
  if (isLifeSafety(kind)) return { cause: kind === 'fire' ? 'fire' : 'life_safety', id, of: zone ?? event_id };
  return partition === undefined ? undefined : { cause: 'burglary', id, partition };
}

/**
 * What the sound of an event belongs to that is no such alarm, and is played as one all the same, such as the siren of an entry delay: to its
 * partition, whose disarm ends it (safety 9).
 */
export function ofPartition({ kind, partition, event_id, data }: SiteEvent): AlarmMark | undefined {
  if (partition === undefined || technical.includes(kind) || isLifeSafety(kind)) return undefined;
  return { cause: 'burglary', id: data.incident_id ?? event_id, partition };
}

/** An alarm of a person or a detector, also one without a partition. */
export const isBurglary = ({ class: of, kind, status }: SiteEvent): boolean =>
  of === 'alarm' && status === 'active' && !technical.includes(kind) && !isLifeSafety(kind);

/** Whether what a rule plays may be raised to an alarm, whatever its message is. */
export function mayAlarm({ on, play }: RuleOptions): boolean {
  if (play.category === 'alarm') return true;
  if (on?.status !== 'active') return false;
  if (on.class !== undefined) return on.class === 'alarm';
  const kinds = on.kinds ?? (on.kind === undefined ? [] : [on.kind]);
  return kinds.some((kind) => (alarmKinds as readonly string[]).includes(kind) && !technical.includes(kind));
}

const isLifeSafety = (kind: string): boolean => (lifeSafetyKinds as readonly string[]).includes(kind);

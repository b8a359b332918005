import type { ZonePlan } from '#site/model/index.ts';
import { localEvent, place } from './events.ts';
import { own, type Work } from './work.ts';

/** A zone opens while a partition of it is disarmed: a sound in the house, and never an event to the cloud. */
export function chime(work: Work, zone: ZonePlan, source: string): void {
  if (zone.chime !== true) return;
  const partition = zone.partitions.find((id) => own(work.state.partitions, id)?.state === 'disarmed');
  if (partition === undefined) return;
  localEvent(work, { class: 'system', kind: 'chime', ...place(work, { partition, zone }), source });
}

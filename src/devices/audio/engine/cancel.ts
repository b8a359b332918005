import type { PartitionId } from '#site/model/index.ts';
import { endAll } from './lane.ts';
import { isAlarm } from './rank.ts';
import type { CancelTarget, Playback } from './types.ts';
import type { Work } from './work.ts';

/** Somebody wants it to end. What has ended stays as it was. */
export function cancel(work: Work, target: CancelTarget, alarms: boolean): readonly string[] {
  const ended = endAll(work, meantBy(target, alarms), { status: 'cancelled', reason: 'user' });
  const isKnown = typeof target === 'object' && 'playback' in target && work.playbacks.has(target.playback);
  return isKnown ? [target.playback] : ended;
}

function meantBy(target: CancelTarget, alarms: boolean): Parameters<typeof endAll>[1] {
  if (typeof target === 'object' && 'playback' in target) return ({ id }) => id === target.playback;
  // Whoever wants quiet does not mean the siren, nor fire (safety 1).
  const may = (playback: Playback) => alarms || !isAlarm(playback);
  if (target === 'all') return may;
  if ('speaker' in target) return (playback, { speaker }) => speaker === target.speaker && may(playback);
  return (playback) => playback.category === target.category && may(playback);
}

/** Safety 9: the sound of a burglary ends with its disarm, within 300 ms. Life safety goes on (safety 1). */
export function hush(work: Work, partition: PartitionId | 'all'): void {
  const isMeant = ({ alarm }: Playback) =>
    alarm?.cause === 'burglary' && (partition === 'all' || alarm.partition === partition);
  endAll(work, isMeant, { status: 'cancelled', reason: 'disarmed' }, work.plan.limits.silenceMs);
}

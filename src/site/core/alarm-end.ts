import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { isWaiting } from './abort.ts';
import { coded, emit, place, signalToStation } from './events.ts';
import { isCapped, sourceKey } from './runaway.ts';
import type { PeriodState } from './types.ts';
import { own, partitionOf, type Work } from './work.ts';
import { behaviour } from './zones.ts';

/** The alarm that ends, as it was raised. */
interface Ending {
  readonly kind: string;
  readonly partition?: PartitionId | undefined;
  readonly zone?: ZonePlan | undefined;
  readonly source: string;
  readonly actor?: string | undefined;
  readonly silent?: boolean;
  readonly detail?: string;
}

/** The end of what caused an alarm. */
export function restore(work: Work, alarm: Omit<Ending, 'actor'>): void {
  ended(work, alarm, 'restored');
}

/** A person took an alarm back by disarming (Contact ID 406). */
export function cancel(
  work: Work,
  id: PartitionId,
  source: string,
  actor: string | undefined,
  number = partitionOf(work, id).alarm?.zone,
): void {
  const { alarm } = partitionOf(work, id);
  const zone = work.plan.zones.find((plan) => plan.number === number);
  const kind = zone === undefined || number === alarm?.zone ? (alarm?.kind ?? 'burglary') : behaviour(zone).alarm;
  ended(work, { kind, partition: id, zone, source, actor }, 'cancelled');
}

/** The same of a burglary beside which a fire or a call for help goes on, as it was told. */
export function cancelBurglary(
  work: Work,
  partition: PartitionId,
  told: PeriodState['burglary'],
  by: Pick<Ending, 'source' | 'actor'>,
): void {
  if (told === undefined) return;
  const zone = work.plan.zones.find(({ number }) => number === told.zone);
  ended(work, { kind: told.kind, partition, zone, ...by }, 'cancelled');
}

function ended(work: Work, alarm: Ending, status: 'restored' | 'cancelled'): void {
  const { kind, partition, zone, source, actor, detail } = alarm;
  const incident = partition === undefined ? undefined : own(work.state.partitions, partition)?.incident;
  // A restore of what the station has not been told of yet.
  const unheard = partition !== undefined && zone !== undefined && isWaiting(work, partition, zone.number);
  const mute = partition !== undefined && zone !== undefined && isCapped(work, partition, sourceKey(kind, zone.number));
  emit(work, {
    class: 'alarm',
    kind,
    status,
    lane: mute && status === 'restored' ? 'activity' : 'alarm',
    ...place(work, { partition, zone }),
    ...(zone?.source.kind === 'camera' ? { camera: zone.source.id } : {}),
    ...(status === 'cancelled' ? { contactId: '406', sia: 'OC' } : coded('alarm', kind, status)),
    source,
    ...(actor === undefined ? {} : { actor }),
    signalToStation: signalToStation({
      class: 'alarm',
      status,
      capped: status === 'restored' && unheard,
      signalRestores: work.plan.signalRestores,
    }),
    toCloud: true,
    ...(alarm.silent === true ? { silent: true } : {}),
    media: [],
    ...(incident === undefined || alarm.silent === true ? {} : { incident }),
    ...(detail === undefined ? {} : { detail }),
  });
}

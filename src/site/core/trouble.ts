import {
  bridgeItself,
  type DeviceRef,
  isoTime,
  type Signal,
  type TroubleKind,
  type ZoneNumber,
} from '#site/model/index.ts';
import { coded, deviceName, emit, troubleEvent } from './events.ts';
import { own, type Work, without, zonePlan } from './work.ts';

export const troubleKey = (kind: TroubleKind, source: DeviceRef, zone?: ZoneNumber): string =>
  `${kind}|${deviceName(source)}|${zone ?? ''}`;

/** Sets or ends a trouble. It is a pair: repeats of either change nothing (I1). */
export function setTrouble(
  work: Work,
  trouble: {
    readonly kind: TroubleKind;
    readonly source: DeviceRef;
    readonly zone?: ZoneNumber | undefined;
    readonly active: boolean;
    readonly detail?: string | undefined;
  },
): void {
  const { kind, source, zone, active, detail } = trouble;
  const key = troubleKey(kind, source, zone);
  if ((own(work.state.troubles, key) !== undefined) === active) return;
  const entry = { trouble: kind, source, since: work.at.wall, ...(zone === undefined ? {} : { zone }) };
  const troubles = active ? { ...work.state.troubles, [key]: entry } : without(work.state.troubles, key);
  work.state = { ...work.state, troubles };
  const plan = zone === undefined ? undefined : zonePlan(work.plan, zone);
  troubleEvent(work, {
    kind,
    active,
    source: deviceName(source),
    detail,
    zone: plan,
    partition: plan?.partitions[0],
    camera: source.kind === 'camera' ? source.id : undefined,
  });
}

/** The bridge's own disk. While the trouble lasts, each change of its condition is told once more. */
export function storageSignal(work: Work, signal: Extract<Signal, { kind: 'storage' }>): void {
  const { source, condition } = signal;
  const key = troubleKey('storage', source);
  const before = own(work.state.troubles, key);
  if (condition === (before?.condition ?? 'ok')) return;
  const detail = signal.detail === undefined ? condition : `${condition}: ${signal.detail}`;
  if (condition === 'ok' || before === undefined) {
    setTrouble(work, { kind: 'storage', source, active: condition !== 'ok', detail });
  } else troubleEvent(work, { kind: 'storage', active: true, source: deviceName(source), detail });
  const entry = own(work.state.troubles, key);
  if (entry === undefined) return;
  work.state = { ...work.state, troubles: { ...work.state.troubles, [key]: { ...entry, condition } } };
}

/** Tells the cloud that it will not get some events, and which: nothing is ever missing unsaid. */
export function eventsLost(work: Work, { source, losses }: Extract<Signal, { kind: 'loss' }>): void {
  if (losses.length === 0) return;
  const count = losses.reduce((sum, loss) => sum + loss.count, 0);
  emit(work, {
    class: 'trouble',
    kind: 'events_lost',
    status: 'active',
    lane: 'trouble',
    ...coded('trouble', 'events_lost', 'active'),
    source: deviceName(source),
    evidence: losses.map(({ record, lane, count, seqFrom, seqTo, why, at }) => ({
      record,
      lane,
      count,
      seq_from: seqFrom,
      seq_to: seqTo,
      why,
      at: isoTime(at),
    })),
    detail: `${count} events could not be kept until they were delivered`,
    signalToStation: false,
    toCloud: true,
    media: [],
  });
}

/** The trouble "store lost" ends when every partition's arming is known again. */
export function settleStoreLoss(work: Work): void {
  const unknown = Object.values(work.state.partitions).some(({ state }) => state === 'unknown');
  if (!unknown) setTrouble(work, { kind: 'system', source: bridgeItself, active: false, detail: 'store_lost' });
}

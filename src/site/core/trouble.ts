import {
  bridgeItself,
  type DeviceRef,
  isoTime,
  type ReportedCode,
  type Stamp,
  type StorageCondition,
  type TroubleKind,
  type ZoneNumber,
} from '#site/model/index.ts';
import { coded, deviceName, emit, isContactId, troubleEvent } from './events.ts';
import type { BridgeNews, Evidence, TroubleState } from './types.ts';
import { change, own, type Work, without, zonePlan } from './work.ts';

export const troubleKey = (kind: TroubleKind, source: DeviceRef, zone?: ZoneNumber): string =>
  `${kind}|${deviceName(source)}|${zone ?? ''}`;

/** One of several of a kind has its code and number in its key. */
export function keyOf({ kind, source, zone, reported, apart }: Omit<Trouble, 'active'>): string {
  const key = troubleKey(kind, source, zone);
  return apart === undefined || reported === undefined ? key : `${key}|${reported.code}.${reported.number ?? ''}`;
}

/** Of all troubles of a kind that a panel tells by their numbers, which are no trouble by this key. */
export const togetherKey = ({ kind, source }: Omit<Trouble, 'active'>): string => `${troubleKey(kind, source)}|*`;

/** Whether a number that a panel has told is in a key, or stands for all of them. */
export const isApartKey = (key: string): boolean => key.split('|').length > 3;

/** A trouble as it is kept, to be told once more or ended. */
export const keptTrouble = ({ trouble, source, zone, reported, apart }: TroubleState): Omit<Trouble, 'active'> => ({
  ...{ kind: trouble, source, zone, reported, apart },
});

export interface Trouble {
  readonly kind: TroubleKind;
  readonly source: DeviceRef;
  readonly zone?: ZoneNumber | undefined;
  /** What its panel has reported when it began; `apart`: it is one of several of its kind, by that. */
  readonly reported?: ReportedCode | undefined;
  readonly apart?: true | undefined;
  /** What its panel has reported at its end. */
  readonly ended?: ReportedCode | undefined;
  readonly active: boolean;
  readonly detail?: string | undefined;
}

/** What the event of a trouble says beside it; `at`: it happened before the decision. */
interface Telling {
  readonly at?: Stamp;
  readonly detail?: string | undefined;
  readonly evidence?: readonly Evidence[];
}

/**
 * Sets or ends a trouble and tells it at once. It is a pair: repeats of either change nothing (I1). Conditions that
 * may come and go by themselves take the way of `conditionChanged`.
 */
export function setTrouble(work: Work, trouble: Trouble, telling: Telling = {}): void {
  const key = keyOf(trouble);
  if ((own(work.state.troubles, key) !== undefined) === trouble.active) return;
  showTrouble(work, trouble);
  tellTrouble(work, trouble, { detail: trouble.detail, ...telling });
}

/** Puts a trouble among those shown on the site, or takes it away; nothing is recorded. */
export function showTrouble(work: Work, trouble: Trouble, more: { unstable?: true } = {}): void {
  const { kind, source, zone, reported, apart, active } = trouble;
  const key = keyOf(trouble);
  const since = own(work.state.troubles, key)?.since ?? work.at.wall;
  const from = change<Partial<TroubleState>>({}, { zone, reported, apart });
  const entry = { trouble: kind, source, since, ...from, ...more };
  const troubles = active ? { ...work.state.troubles, [key]: entry } : without(work.state.troubles, key);
  work.state = { ...work.state, troubles };
}

export function tellTrouble(work: Work, trouble: Trouble, telling: Telling): void {
  const { kind, source, zone, reported, ended, active } = trouble;
  // In SIA the end of something has a code of its own.
  const begun = reported !== undefined && (active || isContactId(reported.code)) ? reported : undefined;
  const plan = zone === undefined ? undefined : zonePlan(work.plan, zone);
  troubleEvent(work, {
    kind,
    active,
    source: deviceName(source),
    zone: plan,
    partition: plan?.partitions[0],
    camera: source.kind === 'camera' ? source.id : undefined,
    reported: active ? begun : (ended ?? begun),
    ...telling,
  });
}

/** The bridge's own disk. While the trouble lasts, each change of its condition is told once more. */
export function storageChanged(work: Work, condition: StorageCondition): void {
  const key = troubleKey('storage', bridgeItself);
  const before = own(work.state.troubles, key);
  if (condition === (before?.condition ?? 'ok')) return;
  if (condition === 'ok' || before === undefined) {
    setTrouble(work, { kind: 'storage', source: bridgeItself, active: condition !== 'ok', detail: condition });
  } else troubleEvent(work, { kind: 'storage', active: true, source: deviceName(bridgeItself), detail: condition });
  const entry = own(work.state.troubles, key);
  if (entry === undefined) return;
  work.state = { ...work.state, troubles: { ...work.state.troubles, [key]: { ...entry, condition } } };
}

/** Tells the cloud that it will not get some events, and which: nothing is ever missing unsaid. */
export function eventsLost(work: Work, { losses, silent }: Extract<BridgeNews, { kind: 'loss' }>): void {
  if (losses.length === 0) return;
  const count = losses.reduce((sum, loss) => sum + loss.count, 0);
  emit(work, {
    class: 'trouble',
    kind: 'events_lost',
    status: 'active',
    lane: 'trouble',
    ...coded('trouble', 'events_lost', 'active'),
    source: deviceName(bridgeItself),
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
    ...(silent === true && { silent }),
  });
}

/** The trouble "store lost" ends when every partition's arming is known again. */
export function settleStoreLoss(work: Work): void {
  const unknown = Object.values(work.state.partitions).some(({ state }) => state === 'unknown');
  if (!unknown) setTrouble(work, { kind: 'system', source: bridgeItself, active: false, detail: 'store_lost' });
}

import {
  type AudioCategory,
  armedAs,
  type DeviceId,
  daysOf,
  minuteOf,
  type PartitionState,
  type SiteEvent,
  type Stamp,
  weekdays,
} from '#site/model/index.ts';
import { type AlarmMark, isWithin, type MessageRef, raised, waitsMs } from '../engine/index.ts';
import { alarmOf, isBurglary, ofPartition } from './kinds.ts';
import { coolDownDefaultMs, type RuleOptions } from './options.ts';

/** An event as it was decided. */
export interface Occasion {
  readonly event: SiteEvent;
  /** Its partition as it is after the decision. */
  readonly partition: Pick<PartitionState, 'state' | 'mode' | 'stale'> | undefined;
  readonly at: Stamp;
}

export interface Surroundings {
  readonly timezone: string;
  readonly speakers: readonly {
    readonly id: DeviceId;
    readonly partitions?: readonly string[] | undefined;
    readonly zone?: string | undefined;
  }[];
  readonly message: (key: string) => (MessageRef & { readonly category: AudioCategory }) | undefined;
  /** When a rule last played, by `coolKey`; monotonic milliseconds. */
  readonly played: { get(key: string): number | undefined };
}

/** What a rule comes to. */
export type Verdict =
  | { readonly rule: string; readonly outcome: 'play'; readonly coolKey: string; readonly play: RulePlay }
  | { readonly rule: string; readonly outcome: 'cooling' | 'unknown_message' | 'no_speaker' };

export interface RulePlay {
  readonly message: MessageRef;
  readonly category: AudioCategory;
  readonly alarm?: AlarmMark;
  readonly volume: number;
  readonly repeat: number;
  /** Left out: all. */
  readonly speakers?: readonly DeviceId[];
}

/** What the rules make of an event, in their order; nothing of those it does not concern. Pure. */
export const evaluate = (rules: readonly RuleOptions[], occasion: Occasion, around: Surroundings): Verdict[] =>
  rules.filter((rule) => concerns(rule, occasion, around)).flatMap((rule) => judge(rule, occasion, around) ?? []);

function concerns({ on, between }: RuleOptions, { event, partition, at }: Occasion, around: Surroundings): boolean {
  if (on === undefined || event.late === true || event.status !== on.status) return false;
  const kinds = on.kind === undefined ? on.kinds : [on.kind];
  if (kinds?.includes(event.kind) === false) return false;
  if (on.class !== undefined && on.class !== event.class) return false;
  if (on.zones !== undefined && !on.zones.includes(event.zone ?? '')) return false;
  if (on.partitions !== undefined && !on.partitions.includes(event.partition ?? '')) return false;
  if (on.armed !== undefined && !isArmedSo(on.armed, event, partition)) return false;
  return between === undefined || isNow(between, event, at, around.timezone);
}

/** What nobody knows counts as armed (safety 2), and life safety asks for no arming (safety 1). */
function isArmedSo(armed: readonly string[], event: SiteEvent, partition: Occasion['partition']): boolean {
  if (isLifeSafety(alarmOf(event))) return true;
  if (partition === undefined) return false;
  const is = armedAs(partition);
  return is === 'unknown' ? armed.some((one) => one !== 'disarmed' && one !== 'arming') : armed.includes(is);
}

/** By a clock that cannot be trusted nobody knows the hour: an alarm sounds, the rest does not. */
function isNow(
  { days = ['daily'], from, to }: NonNullable<RuleOptions['between']>,
  event: SiteEvent,
  { wall, clock }: Stamp,
  timezone: string,
): boolean {
  if (clock === 'doubtful') return isBurglary(event) || isLifeSafety(alarmOf(event));
  const begins = daysOf(days).map((day) => (weekdays.indexOf(day) + 1) % 7);
  return isWithin({ days: begins, from: minuteOf(from), to: minuteOf(to) }, wall, timezone);
}

function judge(rule: RuleOptions, occasion: Occasion, around: Surroundings): Verdict | undefined {
  const { id, play, cool_down = coolDownDefaultMs } = rule;
  const { event, at } = occasion;
  const alarm = alarmOf(event);
  // Another sound than was asked for is better than a silent fire (safety 1).
  const found = around.message(play.message) ?? (isLifeSafety(alarm) ? around.message(siren) : undefined);
  if (found === undefined) return { rule: id, outcome: 'unknown_message' };
  const { category: usual, ...message } = found;
  const category = raised(raised(usual, play.category), isBurglary(event) || alarm !== undefined ? 'alarm' : undefined);
  if (isOld(event, at, waitsMs({ category }))) return undefined;
  const coolKey = coolKeyOf(rule, event);
  const last = around.played.get(coolKey);
  if (!isLifeSafety(alarm) && last !== undefined && at.mono - last < cool_down) return { rule: id, outcome: 'cooling' };
  const speakers = speakersOf(rule, event, around);
  if (speakers.length === 0) return { rule: id, outcome: 'no_speaker' };
  const { volume, repeat } = play;
  const mark = alarm ?? (category === 'alarm' ? ofPartition(event) : undefined);
  const asked = { message, category, volume, repeat, speakers, ...(mark !== undefined && { alarm: mark }) };
  return { rule: id, outcome: 'play', coolKey, play: asked };
}

/**
 * A message at the wrong time is worse than none. A trouble has the time it began at, and is told once it has lasted for a
 * while: it is never old.
 */
function isOld(event: SiteEvent, { wall }: Stamp, ms: number): boolean {
  return event.class !== 'trouble' && wall - Date.parse(event.at) > ms;
}

/**
 * A rule cools down for each partition by itself, and for each incident of a burglary: another intrusion is always heard. Life
 * safety never cools down: how long a fire sounds is bounded by its longest time, and what says the same on the same speakers
 * is joined.
 */
function coolKeyOf({ id }: RuleOptions, event: SiteEvent): string {
  const { partition = '', data } = event;
  return `${id} ${partition} ${isBurglary(event) ? (data.incident_id ?? '') : ''}`;
}

/** Whether it is of a burglary in this partition. */
export function isOfBurglary(coolKey: string, partition: string): boolean {
  const [, of, incident = ''] = coolKey.split(' ');
  return of === partition && incident !== '';
}

const isLifeSafety = (alarm: AlarmMark | undefined): boolean => alarm !== undefined && alarm.cause !== 'burglary';

/** Those it names, as far as they are used; without names those heard where the event is; else, and where life safety has none of those it names, all. */
function speakersOf({ play }: RuleOptions, event: SiteEvent, { speakers }: Surroundings): readonly DeviceId[] {
  const all = speakers.map(({ id }) => id);
  const { speakers: named } = play;
  const used = all.filter((id) => named?.includes(id) !== false);
  if (isLifeSafety(alarmOf(event))) return used.length === 0 ? all : used;
  if (named !== undefined) return used;
  const { partition, zone } = event;
  const near = speakers.filter(
    (one) =>
      (zone === undefined || one.zone === undefined || one.zone === zone) &&
      (partition === undefined || one.partitions === undefined || one.partitions.includes(partition)),
  );
  return near.length === 0 ? all : near.map(({ id }) => id);
}

/** Made in code: it is always there. */
const siren = 'alarm.siren';

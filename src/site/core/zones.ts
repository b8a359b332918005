import {
  type ArmingWord,
  type ArmMode,
  lifeSafetyKinds,
  silentKinds,
  type ZonePlan,
  type ZoneType,
} from '#site/model/index.ts';

/**
 * How a zone behaves. `life`, `holdup`, `always` never depend on arming (safety 1); the others are burglary zones that
 * are watched in the modes of the partition. `none` and `key` never alarm.
 */
export type ZoneGroup = 'life' | 'holdup' | 'always' | 'entry' | 'instant' | 'follower' | 'day' | 'none' | 'key';

export interface ZoneBehaviour {
  readonly group: ZoneGroup;
  /** The kind of the alarm event it raises. */
  readonly alarm: string;
  /** Inside the building: not watched in the modes home and night. */
  readonly interior: boolean;
  /** May be left out by `force` or `bypass`; never life safety, hold-up, tamper and 24-hour zones. */
  readonly bypassable: boolean;
  /** A motion detector, which needs to settle after power came back (safety 3). */
  readonly motion: boolean;
  /** Changes nothing visible on the site (safety 4). */
  readonly silent: boolean;
}

const zone = (group: ZoneGroup, alarm: string, more: Partial<ZoneBehaviour> = {}): ZoneBehaviour => ({
  group,
  alarm,
  interior: false,
  bypassable: false,
  motion: false,
  silent: false,
  ...more,
});

const outer = { bypassable: true };
const inner = { bypassable: true, interior: true };

export const zoneTable: Readonly<Record<ZoneType, ZoneBehaviour>> = {
  entry_exit_1: zone('entry', 'burglary_entry_exit', outer),
  entry_exit_2: zone('entry', 'burglary_entry_exit', outer),
  perimeter: zone('instant', 'burglary_perimeter', outer),
  interior_follower: zone('follower', 'burglary_interior', { ...inner, motion: true }),
  interior_delay: zone('entry', 'burglary_interior', { ...inner, motion: true }),
  '24h_burglary': zone('always', 'burglary_24h'),
  tamper_24h: zone('always', 'tamper'),
  fire: zone('life', 'fire'),
  co: zone('life', 'co'),
  gas: zone('life', 'gas'),
  water: zone('life', 'water'),
  medical: zone('life', 'medical'),
  panic_audible: zone('holdup', 'panic'),
  panic_silent: zone('holdup', 'panic_silent', { silent: true }),
  day_trouble: zone('day', 'burglary_day_night', outer),
  no_alarm_response: zone('none', 'burglary', outer),
  final_exit: zone('entry', 'burglary_entry_exit', outer),
  key_switch_momentary: zone('key', 'burglary', outer),
  key_switch_maintained: zone('key', 'burglary', outer),
  video_person_perimeter: zone('instant', 'burglary_perimeter', outer),
  video_person_interior: zone('follower', 'burglary_interior', inner),
  video_line_cross: zone('instant', 'burglary_perimeter', outer),
};

export const behaviour = (plan: ZonePlan): ZoneBehaviour => zoneTable[plan.type];

/** Alarm kinds that are exempt from every cap (safety 1 and 8). */
export const exemptKinds: ReadonlySet<string> = new Set([...lifeSafetyKinds, ...silentKinds]);

/** Alarms of life safety zones: they show on a partition as long as their cause lasts, whatever its arming. */
export const lastingKinds: ReadonlySet<string> = new Set(
  Object.values(zoneTable)
    .filter(({ group }) => group === 'life')
    .map(({ alarm }) => alarm),
);

/** Alarms that no opening takes back: life safety ends with its cause, a call for help may be ended under force (safety 1). */
export const staysKind = (kind: string): boolean => lastingKinds.has(kind) || exemptKinds.has(kind);

/** Ends with its cause, or by whoever was called, and not with a disarm. */
export const forGood = (group: ZoneGroup): boolean => group === 'life' || group === 'holdup';

export const independent = (group: ZoneGroup): boolean => forGood(group) || group === 'always';

const partial: ReadonlySet<ArmMode> = new Set(['home', 'night']);

/** Whether a burglary zone is watched in a mode. */
export function watches(mode: ArmMode, { interior, group }: ZoneBehaviour): boolean {
  return group !== 'none' && group !== 'key' && !(interior && partial.has(mode));
}

/** Whether `to` protects no less than `from` (C10, I13). */
export const covers = (to: ArmMode, from: ArmMode): boolean => !partial.has(to) || partial.has(from);

export type Verdict = 'alarm' | 'entry' | 'entered' | 'flagged' | 'trouble' | 'none';

/**
 * What a burglary zone that trips means in a partition. `flagged`: the arming is not known, so the alarm goes up with
 * that remark (safety 2). `entered`: on the way in, reported when the entry delay ends without a disarm.
 */
export function judge(
  partition: { readonly state: ArmingWord; readonly mode: ArmMode | null; readonly stale: boolean },
  period: { readonly guard?: ArmMode },
  zone: ZoneBehaviour,
): Verdict {
  if (zone.group === 'none' || zone.group === 'key') return 'none';
  const { state, mode, stale } = partition;
  if (state === 'unknown' || (stale && (state === 'disarmed' || state === 'arming'))) return 'flagged';
  if (state === 'disarmed') return zone.group === 'day' ? 'trouble' : 'none';
  if (state === 'arming') return judgeExit(period, zone);
  // Triggered without a mode: a 24-hour alarm on a disarmed partition. Pending without one: a panel that was armed
  // before it was first heard.
  if (mode === null && state === 'triggered') return zone.group === 'day' ? 'trouble' : 'none';
  if (!watches(mode ?? 'away', zone)) return 'none';
  if (state === 'triggered') return 'alarm';
  if (state === 'pending') return zone.group === 'instant' || zone.group === 'day' ? 'alarm' : 'entered';
  return zone.group === 'entry' ? 'entry' : 'alarm';
}

function judgeExit({ guard }: { readonly guard?: ArmMode }, zone: ZoneBehaviour): Verdict {
  const isGuarded = zone.group === 'instant' || zone.group === 'day';
  if (guard !== undefined && isGuarded && watches(guard, zone)) return 'alarm';
  return zone.group === 'day' ? 'trouble' : 'none';
}

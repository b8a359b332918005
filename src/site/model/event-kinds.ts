import { armingWords, isArmed } from './arming.ts';
import type { SiteEvent } from './event.ts';
import { detectionClasses, troubleKinds } from './signal.ts';

/** Calls for help that nobody on the site may notice (safety 4). */
export const silentKinds = ['panic_silent', 'duress'] as const;

/** Contact ID 121 duress, 122 silent hold-up. */
const silentContactIds: readonly string[] = ['121', '122'];

/** Whether nobody on the site may see or hear of it (safety 4): a silent call, and all that a silent hold-up button tells. */
export const isSilent = ({ kind, data, contact_id }: SiteEvent): boolean =>
  (silentKinds as readonly string[]).includes(kind) ||
  data.zone_type === 'panic_silent' ||
  (contact_id !== undefined && silentContactIds.includes(contact_id));

/** Alarms that cost lives: no arming, test or limit holds them back (safety 1). */
export const lifeSafetyKinds = ['fire', 'co', 'gas', 'medical', 'panic'] as const;

/** Every alarm that everybody may know of. */
export const alarmKinds = [
  'burglary',
  'burglary_24h',
  'burglary_day_night',
  'burglary_entry_exit',
  'burglary_interior',
  'burglary_perimeter',
  'exit_error',
  'tamper',
  ...lifeSafetyKinds,
  'water',
  'technical',
  'alarm_aborted',
] as const;

const others = [
  // Troubles that no device reports.
  'arming_conflict',
  'day_trouble',
  'events_lost',
  'fail_to_arm',
  'runaway',
  'swinger_shutdown',
  // Arming, by the clock and by hand.
  'auto_arm_postponed',
  'auto_arm_warning',
  'schedule_not_run',
  'zone_bypassed',
  // What was seen of an alarm, or of none.
  'alarm_not_confirmed',
  'chime',
  'cross_zone_first',
  'entry_delay_started',
  'further_zone',
  'memory_cleared',
  'shut_zone_tripped',
  'silenced',
  'short_outage',
  // Tests.
  'manual_test',
  'periodic_test',
  'walk_test',
  'zone_walked',
  'announcement',
  'security_type',
] as const;

/** Of all words of a partition these alone are told by an event of their own. */
const armingKinds = armingWords.filter((word) => word === 'disarmed' || isArmed(word));

/** What `kind` of a public event may be that is told at its time; those of silent events stand in none of these lists. */
export const eventKinds: readonly string[] = [
  ...new Set<string>([...alarmKinds, ...armingKinds, ...troubleKinds, ...detectionClasses, ...others]),
];

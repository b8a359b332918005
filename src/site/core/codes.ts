import type { ArmingSource, ArmMode, EventClass, TroubleKind } from '#site/model/index.ts';

/** Contact ID event code and the SIA DC-03 codes of the event and of its restore. */
export interface EventCode {
  readonly contactId: string;
  readonly sia: string;
  readonly restored: string;
}

const code = (contactId: string, sia: string, restored: string): EventCode => ({ contactId, sia, restored });

const alarms: Readonly<Record<string, EventCode>> = {
  burglary: code('130', 'BA', 'BH'),
  burglary_24h: code('133', 'BA', 'BH'),
  burglary_day_night: code('135', 'BA', 'BH'),
  burglary_entry_exit: code('134', 'BA', 'BH'),
  burglary_interior: code('132', 'BA', 'BH'),
  burglary_perimeter: code('131', 'BA', 'BH'),
  co: code('162', 'GA', 'GH'),
  duress: code('121', 'HA', 'HH'),
  exit_error: code('374', 'EA', 'BH'),
  fire: code('110', 'FA', 'FH'),
  gas: code('151', 'GA', 'GH'),
  medical: code('100', 'MA', 'MH'),
  panic: code('120', 'PA', 'PH'),
  panic_silent: code('122', 'HA', 'HH'),
  tamper: code('144', 'TA', 'TR'),
  technical: code('150', 'UA', 'UH'),
  water: code('154', 'WA', 'WH'),
};

const troubles: Readonly<
  Record<TroubleKind | 'day_trouble' | 'events_lost' | 'fail_to_arm' | 'runaway' | 'swinger_shutdown', EventCode>
> = {
  ac_loss: code('301', 'AT', 'AR'),
  arming_sync: code('350', 'YC', 'YK'),
  auth_failed: code('380', 'YX', 'YZ'),
  battery_low: code('302', 'YT', 'YR'),
  broker_offline: code('330', 'ET', 'ER'),
  camera_tamper: code('383', 'TA', 'TR'),
  certificate_expires: code('300', 'YX', 'YZ'),
  clock: code('626', 'JD', 'JD'),
  comm_fail: code('350', 'YC', 'YK'),
  config_unknown: code('300', 'YX', 'YZ'),
  day_trouble: code('156', 'BT', 'BJ'),
  device_offline: code('380', 'YX', 'YZ'),
  events_lost: code('624', 'JO', 'JO'),
  fail_to_arm: code('454', 'CI', 'CI'),
  panel_offline: code('333', 'ET', 'ER'),
  rf_jam: code('344', 'XQ', 'XH'),
  runaway: code('377', 'BD', 'BE'),
  sensor_battery: code('384', 'XT', 'XR'),
  siren_fault: code('321', 'YA', 'YH'),
  site_gone: code('350', 'YC', 'YK'),
  site_inactive: code('300', 'YX', 'YZ'),
  storage: code('300', 'YX', 'YZ'),
  swinger_shutdown: code('377', 'BD', 'BE'),
  supervision: code('381', 'YC', 'YK'),
  system: code('300', 'YX', 'YZ'),
  tamper: code('383', 'TA', 'TR'),
  video_loss: code('380', 'YX', 'YZ'),
};

/** The code of an alarm or trouble kind; undefined for kinds the field has no code for. */
export function eventCode(eventClass: EventClass, kind: string): EventCode | undefined {
  const table: Readonly<Record<string, EventCode>> =
    eventClass === 'alarm' ? alarms : eventClass === 'trouble' ? troubles : {};
  return Object.hasOwn(table, kind) ? table[kind] : undefined;
}

/** How the person with the key of a switch stands in records, before the zone's number. */
export const keySwitchActor = 'key_switch:';

/** Who opened or closed: by a known user, by nobody known, from far, by the clock, by a key switch. */
const openClose: Readonly<
  Record<'user' | 'generic' | 'cloud' | 'schedule' | 'key', readonly [string, string, string]>
> = {
  user: ['401', 'CL', 'OP'],
  generic: ['400', 'CL', 'OP'],
  cloud: ['407', 'CQ', 'OQ'],
  schedule: ['403', 'CA', 'OA'],
  key: ['409', 'CS', 'OS'],
};

export function armingCode(
  source: ArmingSource,
  actor: string | undefined,
  mode: ArmMode | null,
): { readonly contactId: string; readonly sia: string } {
  if (mode === 'home' || mode === 'night') return { contactId: '441', sia: 'CG' };
  const isKey = source === 'panel' && actor?.startsWith(keySwitchActor) === true;
  const who = source === 'cloud' || source === 'schedule' ? source : actor === undefined ? 'generic' : 'user';
  const [contactId, close, open] = openClose[isKey ? 'key' : who];
  return { contactId, sia: mode === null ? open : close };
}

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
  water: code('154', 'WA', 'WH'),
};

const troubles: Readonly<Record<TroubleKind | 'day_trouble' | 'events_lost' | 'runaway', EventCode>> = {
  ac_loss: code('301', 'AT', 'AR'),
  auth_failed: code('380', 'YX', 'YZ'),
  battery_low: code('302', 'YT', 'YR'),
  camera_tamper: code('383', 'TA', 'TR'),
  clock: code('626', 'JD', 'JD'),
  comm_fail: code('350', 'YC', 'YK'),
  day_trouble: code('156', 'BT', 'BJ'),
  device_offline: code('380', 'YX', 'YZ'),
  events_lost: code('624', 'JO', 'JO'),
  panel_offline: code('333', 'ET', 'ER'),
  rf_jam: code('344', 'XQ', 'XH'),
  runaway: code('377', 'BD', 'BE'),
  sensor_battery: code('384', 'XT', 'XR'),
  siren_fault: code('321', 'YA', 'YH'),
  storage: code('300', 'YX', 'YZ'),
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

/** Who opened or closed: by a known user, by nobody known, from far, by the clock. */
const openClose: Readonly<Record<'user' | 'generic' | 'cloud' | 'schedule', readonly [string, string, string]>> = {
  user: ['401', 'CL', 'OP'],
  generic: ['400', 'CL', 'OP'],
  cloud: ['407', 'CQ', 'OQ'],
  schedule: ['403', 'CA', 'OA'],
};

export function armingCode(
  source: ArmingSource,
  actor: string | undefined,
  mode: ArmMode | null,
): { readonly contactId: string; readonly sia: string } {
  if (mode === 'home' || mode === 'night') return { contactId: '441', sia: 'CG' };
  const who = source === 'cloud' || source === 'schedule' ? source : actor === undefined ? 'generic' : 'user';
  const [contactId, close, open] = openClose[who];
  return { contactId, sia: mode === null ? open : close };
}

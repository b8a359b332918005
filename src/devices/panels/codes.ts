import { dangerTypes, type PanelAlarm, type TroubleKind, type ZoneType } from '#site/model/index.ts';

/**
 * What the codes panels report to a station mean here: Contact ID (SIA DC-05) and SIA (DC-03). Only what no state topic
 * tells: dangers to life, hold-up, tamper and troubles. Burglary comes as the state of the partition, or as a zone.
 */
export type CodeMeaning =
  | { readonly is: 'alarm'; readonly role: Role; readonly active: boolean }
  | { readonly is: 'burglary'; readonly active: boolean }
  | { readonly is: 'trouble'; readonly trouble: TroubleKind; readonly active: boolean };

/** The zone that stands for an alarm without a number of its own: its key in the configuration. */
export type Role = 'fire' | 'co' | 'gas' | 'water' | 'medical' | 'panic' | 'duress';

/** Contact ID events by their code; `1` before it is new, `3` its end, `6` that it is still there. */
const contactIds: Readonly<Record<string, Role | TroubleKind | 'burglary'>> = {
  ...each('medical', ['100', '101', '102']),
  ...each('fire', ['110', '111', '112', '113', '114', '115', '116', '117', '118']),
  ...each('panic', ['120', '123']),
  ...each('duress', ['121', '122', '124', '125', '129', '376']),
  ...each('burglary', ['130', '131', '132', '133', '134', '135', '136', '138', '139', '146']),
  ...each('tamper', ['137', '144', '145', '341', '383']),
  ...each('gas', ['151', '157']),
  ...each('water', ['154']),
  ...each('co', ['162']),
  ...each('ac_loss', ['301']),
  ...each('battery_low', ['302', '309', '311']),
  ...each('siren_fault', ['321']),
  ...each('rf_jam', ['344']),
  ...each('comm_fail', ['350', '351', '352', '353', '354']),
  ...each('supervision', ['381']),
  ...each('sensor_battery', ['384']),
};

/** SIA codes: what begins and what ends it. */
const sias: Readonly<Record<string, readonly [Role | TroubleKind | 'burglary', boolean]>> = {
  ...pair('fire', ['FA', 'FM', 'KA', 'SA'], ['FH', 'FR', 'KH', 'KR', 'SH', 'SR']),
  ...pair('gas', ['GA'], ['GH', 'GR']),
  ...pair('water', ['WA'], ['WH', 'WR']),
  ...pair('medical', ['MA', 'QA'], ['MH', 'MR', 'QH', 'QR']),
  ...pair('panic', ['PA'], ['PH', 'PR']),
  // A button that fails may be one that was torn off: it counts as pressed.
  ...pair('duress', ['HA', 'HT'], ['HH', 'HR', 'HJ']),
  ...pair('burglary', ['BA'], ['BH', 'BR']),
  ...pair('tamper', ['TA', 'TT'], ['TH', 'TR', 'TJ']),
  ...pair('ac_loss', ['AT'], ['AR']),
  ...pair('battery_low', ['YT', 'YM'], ['YR']),
  ...pair('sensor_battery', ['XT'], ['XR']),
  ...pair('rf_jam', ['XQ'], ['XH']),
  ...pair('comm_fail', ['YC', 'YS'], ['YK']),
};

/** The types of zones a danger can come from. Detectors for gas and carbon monoxide share a code in SIA. */
const fitting: Readonly<Record<Role, readonly ZoneType[]>> = {
  fire: ['fire'],
  co: ['co', 'gas'],
  gas: ['gas', 'co'],
  water: ['water'],
  medical: ['medical'],
  panic: ['panic_audible', 'panic_silent'],
  duress: ['panic_silent'],
};

/** Whether a zone can be the one a danger is reported of: its number may as well be that of a keypad or a user. */
export const fits = (role: Role, { type }: { readonly type: ZoneType }): boolean => fitting[role].includes(type);

const roleOfType: Partial<Readonly<Record<ZoneType, Role>>> = {
  ...{ fire: 'fire', co: 'co', gas: 'gas', water: 'water', medical: 'medical' },
  ...{ panic_audible: 'panic', panic_silent: 'duress' },
};

/** Types of no danger whose alarm is told whatever the arming, or that the site wants to say nothing. */
const settled: ReadonlySet<ZoneType> = new Set<ZoneType>([
  ...(['24h_burglary', 'tamper_24h', 'no_alarm_response', 'key_switch_momentary', 'key_switch_maintained'] as const),
]);

/**
 * The danger a detector tells by its type where the site has no zone for it, one for another danger, or one of burglary, which alone
 * would make no alarm of it while disarmed. A keypad is one device with buttons for several.
 */
export function dangerApart(
  zone: { readonly type: ZoneType } | undefined,
  type: ZoneType | undefined,
): Role | undefined {
  const role = type === undefined ? undefined : roleOfType[type];
  if (role === undefined || zone === undefined) return role;
  // Who makes a silent hold-up of a button for help has a reason: it may show to nobody (safety 4).
  const isHoldUp = zone.type === 'panic_silent' && role === 'medical';
  return settled.has(zone.type) || isHoldUp || (dangerTypes.has(zone.type) && fits(role, zone)) ? undefined : role;
}

/** Types of life safety whose opening is their alarm where nothing else tells it; a silent button's is by itself. */
export const openingTypes: readonly ZoneType[] = ['fire', 'co', 'gas', 'medical', 'panic_audible'];

export const alarmOf = (role: Role): PanelAlarm => (role === 'duress' ? 'panic_silent' : role);

const roles: ReadonlySet<string> = new Set<Role>(['fire', 'co', 'gas', 'water', 'medical', 'panic', 'duress']);
const isRole = (name: string): name is Role => roles.has(name);

/** The meaning of a reported code; undefined for those that say nothing here. */
export function codeMeaning(report: {
  contactId?: string | undefined;
  sia?: string | undefined;
}): CodeMeaning | undefined {
  const { contactId, sia } = report;
  if (sia !== undefined && Object.hasOwn(sias, sia)) {
    const [name, active] = sias[sia] ?? [];
    return name === undefined || active === undefined ? undefined : meaning(name, active);
  }
  const [, qualifier, code] = /^([136])?(\d{3})$/.exec(contactId ?? '') ?? [];
  if (code === undefined || qualifier === '6' || !Object.hasOwn(contactIds, code)) return undefined;
  const name = contactIds[code];
  return name === undefined ? undefined : meaning(name, qualifier !== '3');
}

function meaning(name: Role | TroubleKind | 'burglary', active: boolean): CodeMeaning {
  if (name === 'burglary') return { is: 'burglary', active };
  return isRole(name) ? { is: 'alarm', role: name, active } : { is: 'trouble', trouble: name, active };
}

function each<N extends string>(name: N, codes: readonly string[]): Record<string, N> {
  return Object.fromEntries(codes.map((code) => [code, name]));
}

function pair<N extends string>(
  name: N,
  begins: readonly string[],
  ends: readonly string[],
): Record<string, readonly [N, boolean]> {
  const entries = [...begins.map((code) => [code, true] as const), ...ends.map((code) => [code, false] as const)];
  return Object.fromEntries(entries.map(([code, active]) => [code, [name, active] as const]));
}

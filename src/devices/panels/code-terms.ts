/** What codes of Contact ID (DC-05) and SIA (DC-03) say, in the field's terms: a detector, a part of the panel or a way to the station. */
const contactIds: Readonly<Record<string, string>> = {
  ...{ 100: 'medical', 101: 'personal_emergency', 102: 'no_report_in' },
  ...{ 110: 'fire', 111: 'smoke', 112: 'combustion', 113: 'water_flow', 114: 'heat', 115: 'pull_station', 116: 'duct' },
  ...{ 117: 'flame', 118: 'fire_near_alarm' },
  ...{ 120: 'panic', 121: 'duress', 122: 'silent_panic', 123: 'audible_panic', 124: 'duress', 125: 'duress' },
  ...{ 129: 'hold_up_suspicion' },
  ...{ 130: 'burglary', 131: 'perimeter', 132: 'interior', 133: '24_hour', 134: 'entry_exit', 135: 'day_night' },
  ...{ 136: 'outdoor', 137: 'tamper', 138: 'near_alarm', 139: 'burglary_verified', 140: 'general_alarm' },
  ...{ 141: 'polling_loop_open', 142: 'polling_loop_short', 143: 'expander_failure', 144: 'sensor_tamper' },
  ...{ 145: 'expander_tamper', 146: 'silent_burglary', 147: 'sensor_supervision' },
  ...{ 150: '24_hour_non_burglary', 151: 'gas', 152: 'refrigeration', 153: 'loss_of_heat', 154: 'water_leak' },
  ...{ 155: 'foil_break', 156: 'day_trouble', 157: 'low_bottled_gas', 158: 'high_temperature', 159: 'low_temperature' },
  ...{ 161: 'loss_of_air_flow', 162: 'carbon_monoxide' },
  ...{ 200: 'fire_supervisory', 201: 'low_water_pressure', 202: 'low_co2', 203: 'gate_valve', 204: 'low_water_level' },
  ...{ 205: 'pump_activated', 206: 'pump_failure' },
  ...{ 300: 'system_trouble', 301: 'ac_loss', 302: 'low_battery', 303: 'ram_checksum', 304: 'rom_checksum' },
  ...{ 307: 'self_test_failure', 308: 'panel_shutdown', 309: 'battery_test_failure', 310: 'ground_fault' },
  ...{ 311: 'battery_missing', 312: 'power_supply_overcurrent' },
  ...{ 320: 'sounder_relay', 321: 'bell_1', 322: 'bell_2', 323: 'alarm_relay', 324: 'trouble_relay' },
  ...{ 325: 'reversing_relay', 330: 'peripheral', 331: 'polling_loop_open', 332: 'polling_loop_short' },
  ...{ 333: 'expander_failure', 334: 'repeater_failure', 335: 'printer_paper_out', 336: 'printer_failure' },
  ...{ 337: 'expander_dc_loss', 338: 'expander_low_battery', 339: 'expander_reset', 341: 'expander_tamper' },
  ...{ 342: 'expander_ac_loss', 343: 'expander_self_test_failure', 344: 'rf_jam' },
  ...{ 350: 'communication', 351: 'phone_line_1', 352: 'phone_line_2', 353: 'radio_transmitter' },
  ...{ 354: 'event_not_communicated', 355: 'radio_supervision', 356: 'station_polling', 357: 'radio_vswr' },
  ...{ 358: 'communication', 359: 'communication', 360: 'communication' },
  ...{ 370: 'protection_loop', 371: 'loop_open', 372: 'loop_short', 373: 'fire_loop', 374: 'exit_error' },
  ...{ 375: 'panic_zone_trouble', 376: 'hold_up_zone_trouble', 377: 'swinger', 378: 'cross_zone_trouble' },
  ...{ 380: 'sensor_trouble', 381: 'rf_supervision', 382: 'bus_supervision', 383: 'sensor_tamper' },
  ...{ 384: 'sensor_low_battery', 385: 'smoke_too_sensitive', 386: 'smoke_not_sensitive' },
  ...{ 387: 'intrusion_too_sensitive', 388: 'intrusion_not_sensitive', 389: 'sensor_self_test_failure' },
  ...{ 390: 'sensor_trouble', 391: 'sensor_watch', 392: 'drift_compensation', 393: 'maintenance' },
  ...{ 400: 'open_close', 401: 'open_close_user', 402: 'open_close_group', 403: 'automatic', 407: 'remote' },
  ...{ 408: 'quick_arm', 409: 'key_switch', 414: 'system_shutdown', 423: 'door_forced', 441: 'armed_stay' },
  ...{ 442: 'key_switch_stay', 456: 'partial_arm', 461: 'wrong_code' },
  ...{ 520: 'sounder_disabled', 551: 'dialer_disabled', 601: 'manual_test', 602: 'periodic_test' },
  ...{ 608: 'periodic_test_with_trouble', 626: 'clock_inaccurate', 641: 'no_activity', 654: 'no_activity' },
};

const sias: Readonly<Record<string, string>> = {
  ...{ BV: 'burglary_verified', BM: 'cross_point', BD: 'swinger', BE: 'swinger', BZ: 'supervision_missing' },
  ...{ FM: 'fire_cross_point', EA: 'exit_error', DF: 'door_forced', UX: 'undefined' },
  ...{ OP: 'open', OA: 'automatic', OQ: 'remote', OS: 'key_switch', OR: 'after_alarm', OG: 'area' },
  ...{ CL: 'close', CA: 'automatic', CQ: 'remote', CP: 'automatic', CS: 'key_switch', CF: 'forced', CG: 'area' },
  ...{ NL: 'perimeter_armed', NF: 'forced' },
  ...{ AT: 'ac_loss', AR: 'ac_loss', YT: 'low_battery', YM: 'battery_missing', YR: 'low_battery' },
  ...{ XT: 'sensor_low_battery', XR: 'sensor_low_battery', XQ: 'rf_jam', XH: 'rf_jam' },
  ...{ YC: 'communication', YS: 'communication', YK: 'communication', LT: 'phone_line', LR: 'phone_line' },
  ...{ NT: 'network', NR: 'network', YA: 'bell', YH: 'bell', YX: 'service_required', YZ: 'service_required' },
  ...{ ET: 'expander_failure', ER: 'expander_failure', IA: 'equipment_failure', IR: 'equipment_failure' },
  ...{ VT: 'printer_failure', VR: 'printer_failure', YP: 'power_supply', YQ: 'power_supply' },
  ...{ JA: 'wrong_code', NA: 'no_activity', JD: 'clock_inaccurate' },
  ...{ RP: 'periodic_test', RX: 'manual_test', TX: 'periodic_test_with_trouble' },
};

/** The first letter of the codes of detectors, and what the second says of it. */
const abouts: Readonly<Record<string, string>> = {
  ...{ B: 'burglary', F: 'fire', G: 'gas', H: 'hold_up', K: 'heat', M: 'medical', P: 'panic', Q: 'personal_emergency' },
  ...{ S: 'sprinkler', T: 'tamper', U: 'untyped', W: 'water', Z: 'freeze' },
};
const says: Readonly<Record<string, string>> = {
  ...{
    A: '',
    H: '',
    R: '',
    B: '_bypass',
    U: '_bypass',
    T: '_trouble',
    J: '_trouble',
    S: '_supervisory',
    V: '_supervisory',
  },
};

/** The term of a code; undefined for one that is not known. */
export function termOf(code: string): string | undefined {
  for (const table of [contactIds, sias]) if (Object.hasOwn(table, code)) return table[code];
  const [about = '', say = ''] = code;
  const isDetector = code.length === 2 && Object.hasOwn(abouts, about) && Object.hasOwn(says, say);
  return isDetector ? `${abouts[about]}${says[say]}` : undefined;
}

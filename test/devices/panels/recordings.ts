import type { CompileOptions } from '#devices/panels/index.ts';
import { readSamples, type Sample } from './helpers.ts';

/** Recorded traffic and the preset that reads it. */
export interface Recording {
  readonly file: string;
  readonly id: string;
  readonly options?: CompileOptions;
  /** Rows of the file that belong to this profile. */
  readonly topics?: RegExp;
  /** Devices that tell of their own liveness: the bridge of the row is a zone there. */
  readonly perDevice?: boolean;
  /** How many recorded commands the profile sends. */
  readonly commands: number;
  /** Rows of the bridge that are compared, and rows about what siteward has no word for: of them nothing may be read. */
  readonly rows: readonly [compared: number, nothing: number];
}

export const recordings: readonly Recording[] = [
  { file: 'pai', id: 'pai', commands: 6, rows: [18, 0] },
  { file: 'dsc_keybus', id: 'dsc-keybus', commands: 5, rows: [21, 0] },
  { file: 'dsc_keybus_openhab', id: 'dsc-keybus-openhab', commands: 0, rows: [4, 0] },
  { file: 'dscalarm_mqtt', id: 'dscalarm-mqtt', commands: 2, rows: [12, 2] },
  { file: 'envisalink_open_zone', id: 'envisalink-open-zone', commands: 3, rows: [19, 1] },
  {
    file: 'alarmdecoder_ad2iot',
    id: 'ad2iot',
    options: { vars: { uuid: '41443245-4d42-4544-4410-XXXXXXXXXXXX' } },
    commands: 3,
    rows: [13, 0],
  },
  { file: 'alarmdecoder_admqtt', id: 'alarmdecoder-mqtt', commands: 2, rows: [8, 0] },
  { file: 'texecom2mqtt', id: 'texecom2mqtt', commands: 5, rows: [13, 2] },
  {
    file: 'qolsys_qolsysgw',
    id: 'qolsysgw',
    options: { aliases: new Map([['partition1', '0']]) },
    commands: 3,
    rows: [13, 1],
  },
  { file: 'alarmo', id: 'alarmo', commands: 1, rows: [15, 1] },
  { file: 'ha_mqtt_alarm_panel', id: 'ha-alarm-panel', commands: 7, rows: [9, 2] },
  {
    file: 'esphome_konnected',
    id: 'esphome-alarm',
    options: { vars: { node: 'alarm-panel-pro' } },
    commands: 1,
    rows: [4, 1],
  },
  { file: 'jablotron2mqtt', id: 'jablotron2mqtt', commands: 1, rows: [9, 2] },
  { file: 'ring_mqtt', id: 'ring-mqtt', options: { vars: { loc: 'LOC', dev: 'DEV' } }, commands: 1, rows: [8, 0] },
  { file: 'ajax_sia2mqtt', id: 'ajax-sia2mqtt', commands: 0, rows: [6, 1] },
  { file: 'zigbee2mqtt', id: 'zigbee2mqtt', commands: 0, rows: [8, 1] },
  { file: 'tasmota', id: 'tasmota-switch', perDevice: true, commands: 0, rows: [6, 0] },
  { file: 'shelly', id: 'shelly-gen1', topics: /^shellies\//, perDevice: true, commands: 0, rows: [2, 1] },
  {
    file: 'shelly',
    id: 'shelly-gen2',
    options: { vars: { b: 'shellyplusi4-a8032af8ec86' } },
    topics: /^shellyplus/,
    commands: 0,
    rows: [3, 0],
  },
  {
    file: 'envisalink_to_mqtt',
    id: 'generic-contact',
    options: { vars: { b: 'envisalink' } },
    commands: 0,
    rows: [2, 0],
  },
];

/** The rows of a recording; none where the recordings are not at hand. */
export const rowsOf = ({ file, topics }: Recording): readonly Sample[] =>
  readSamples(file).filter((row) => topics?.test(row.topic) ?? true);

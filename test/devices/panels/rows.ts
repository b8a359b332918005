import { expect } from 'vitest';
import type { Reading } from '#devices/panels/index.ts';

/** The meaning of a recorded or invented message, in the words of the sample files. */
export type Means = Readonly<Record<string, unknown>>;

const troubleNames: Readonly<Record<string, string>> = { low_battery: 'battery_low', panel: 'system' };
const faultNames: Readonly<Record<string, string>> = { bad_key: 'other' };
/** What siteward has no word for, or uses nowhere. Such a row must be read without a complaint, or not be listened to. */
const without = [
  'snapshot',
  'inventory',
  'raw',
  'led',
  'power',
  'response',
  'event',
  'delay',
  'armed',
  'exit_left_s',
  'battery',
];

/** The readings a row must give, each as a part of one. */
export function readingsOf(means: Means): object[] {
  const wanted: object[] = [];
  const partition = pick(means, ['state', 'target', 'ready', 'memory', 'fire']);
  if (partition.state === 'unknown' || partition.state === 'disarming') delete partition.state;
  if (typeof means.fault === 'string') partition.fault = faultNames[means.fault] ?? means.fault;
  if (means.changed_by !== undefined) partition.user = means.changed_by;
  if (means.event === 'user_code') partition.user = means.user;
  if (means.kind === 'fire') partition.fire = true;
  const key = means.partition === undefined ? {} : { key: means.partition };
  for (const [name, value] of Object.entries(partition)) wanted.push({ kind: 'partition', ...key, [name]: value });
  // The zone of a refusal is told to people only.
  const unused = means.fault !== undefined || means.battery !== undefined;
  if (typeof means.zone === 'string' && !unused) wanted.push(zoneOf(means, means.zone));
  if (means.event === 'panic') wanted.push({ kind: 'zone', key: 'panic', alarm: true });
  for (const name of means.zone === undefined ? [means.trouble ?? []].flat() : []) {
    wanted.push({ kind: 'trouble', trouble: troubleNames[String(name)] ?? name, active: true });
  }
  if (means.ac === true) wanted.push({ kind: 'trouble', trouble: 'ac_loss', active: false });
  if (typeof means.bridge === 'string') wanted.push({ kind: 'link', status: means.bridge });
  if (means.panel_link === 'down') wanted.push({ kind: 'link', layer: 'device', up: false });
  if (typeof means.keypad === 'string') wanted.push({ kind: 'keypad', action: means.keypad });
  if (typeof means.output === 'boolean') wanted.push({ kind: 'output', on: means.output });
  else if (means.output !== undefined) wanted.push({ kind: 'output', key: means.output, on: means.on });
  if (means.sia !== undefined) wanted.push({ kind: 'report', sia: means.sia });
  if (means.contact_id !== undefined) wanted.push({ kind: 'report', contactId: means.contact_id });
  return wanted;
}

function zoneOf(means: Means, key: string): object {
  const { low_battery: lowBattery, zone_type: zoneType } = means;
  return {
    kind: 'zone',
    key: /^Switch\d$/.test(key) ? expect.stringContaining(key) : key,
    ...pick(means, ['open', 'alarm', 'tamper', 'bypassed', 'online']),
    ...(lowBattery === undefined ? {} : { lowBattery }),
    ...(zoneType === undefined ? {} : { zoneType: expect.stringContaining(String(zoneType)) }),
    ...(means.trouble === true ? { online: false } : {}),
  };
}

/** Rows that say nothing siteward has a word for. */
export const sayNothing = (means: Means): boolean =>
  readingsOf(means).length === 0 &&
  means.state === undefined &&
  Object.keys(means).some((key) => without.includes(key));

export const statesOf = (readings: readonly Reading[]): unknown[] =>
  readings.flatMap((reading) => (reading.kind === 'partition' && reading.state !== undefined ? [reading.state] : []));

/** That the readings are those of the row, and that they tell of no state the row does not tell of. */
export function expectReadings(readings: readonly Reading[], means: Means, about: string): void {
  expect(readings, about).toEqual(expect.arrayContaining(readingsOf(means).map((one) => expect.objectContaining(one))));
  const silent = means.state === undefined || means.state === 'unknown' || means.state === 'disarming';
  expect(statesOf(readings), about).toEqual(silent ? [] : [means.state]);
}

const pick = (means: Means, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (means[name] === undefined ? [] : [[name, means[name]]])));

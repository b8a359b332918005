import type { StatusDocument } from '#lan/http/index.ts';
import { formatSpan, printable, table } from './table.ts';

type Partition = StatusDocument['partitions'][number];
type Names = StatusDocument['zone_names'];

/** The partitions of `siteward status`, and below them what a person must know of each, worst first. */
export function partitionLines({ partitions, zone_names: names }: StatusDocument): string[] {
  const notes = partitions.flatMap((partition) =>
    notesOf(partition, names).map((note) => [partition.id, partition.name, note]),
  );
  return ['partitions', table(partitions.map(row), '  '), ...(notes.length === 0 ? [] : ['', table(notes, '  ')])];
}

function row(partition: Partition): string[] {
  const delay =
    partition.exit_left_s !== undefined
      ? `exit delay ${Math.ceil(partition.exit_left_s)} s`
      : partition.entry_left_s !== undefined
        ? `entry delay ${Math.ceil(partition.entry_left_s)} s`
        : '';
  const state = `${partition.state}${partition.stale ? ' (stale)' : ''}`;
  return [partition.id, partition.name, state, `since ${partition.since}`, delay];
}

function notesOf(partition: Partition, names: Names): string[] {
  const { memory, abort_left_s: abortS, not_armed: unarmed, arm_wait: wait, test, shut_zones: shut } = partition;
  const listed = (numbers: readonly string[]) => zoneList(numbers, names);
  return [
    ...alarmLines(partition, names),
    ...(abortS === undefined ? [] : [`the station is told in ${abortS} s unless it is disarmed`]),
    ...(unarmed === undefined ? [] : [notArmed(unarmed, names)]),
    ...(wait === undefined
      ? []
      : [`schedule ${wait.schedule} waits until nothing is in the way of its arming, ${wait.left_s} s at most`]),
    ...(memory.length === 0 ? [] : [`in alarm since the last arming: ${listed(memory)}`]),
    ...(test === undefined
      ? []
      : [
          `walk test, ${formatSpan(test.left_s)} left; walked: ${listed(test.walked)}; missing: ${listed(test.missing)}`,
        ]),
    ...(shut === undefined ? [] : [`shut after too many alarms: ${listed(shut)}`]),
  ];
}

/** A line for each alarm that runs: the state names one of them. */
function alarmLines({ alarm, alarms, state }: Partition, names: Names): string[] {
  const entry = alarm === null || state !== 'pending' ? [] : [`entry: ${alarmWords(alarm, names)}`];
  const running = alarms ?? (alarm === null || state === 'pending' ? [] : [alarm]);
  return [...running.map((one) => `IN ALARM: ${alarmWords(one, names)}${sinceWords(one)}`), ...entry];
}

const sinceWords = ({ since }: { readonly since?: string }): string => (since === undefined ? '' : `, since ${since}`);

/** "fire, zone 4 Kitchen". */
export function alarmWords({ kind, zone, camera }: NonNullable<Partition['alarm']>, names: Names): string {
  const where = [
    ...(zone === undefined ? [] : [`zone ${zoneList([zone], names)}`]),
    ...(camera === undefined ? [] : [`camera ${camera}`]),
  ];
  return [kind.replaceAll('_', ' '), ...where].join(', ');
}

/** "1 Front door, 3 Safe", or "none". */
export const zoneList = (numbers: readonly string[], names: Names = {}): string =>
  numbers.length === 0
    ? 'none'
    : numbers.map((number) => printable([number, names[number] ?? ''].join(' '))).join(', ');

const reasons: Readonly<Record<string, string>> = {
  NOT_READY: 'not ready',
  PANEL_OFFLINE: 'its panel cannot be heard',
  UNCONFIRMED: 'its panel did not show it in time',
  late: 'its time was missed',
};

function notArmed({ schedule, at, reason, zones }: NonNullable<Partition['not_armed']>, names: Names): string {
  const what = zones === undefined ? '' : `: zones ${zoneList(zones, names)}`;
  return `NOT ARMED by schedule ${schedule} at ${at}, ${reasons[reason] ?? reason}${what}; arm it, or disarm it to end this`;
}

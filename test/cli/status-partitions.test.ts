import { expect, test } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { fakeStatus } from '#lan/http/port.fake.ts';
import { armingSyncLines } from '../../src/cli/status.ts';
import { partitionLines } from '../../src/cli/status-partitions.ts';

type Partition = StatusDocument['partitions'][number];

const names = { '1': 'Front door', '2': 'Window', '4': 'Kitchen\u202e' };
function lines(more: Partial<Partition>): string {
  const [quiet] = fakeStatus.partitions;
  if (quiet === undefined) throw new Error('no partition');
  const { exit_left_s: _, ...partition } = quiet;
  return partitionLines({ ...fakeStatus, partitions: [{ ...partition, ...more }], zone_names: names }).join('\n');
}
const since = '2026-11-27T22:00:00.000Z';

test('a quiet partition is one line', () => {
  expect(lines({})).toBe(`partitions\n  p1  Offices  armed_away  since ${since}`);
});

test('a site that nobody has activated in the cloud says so, with what to do', () => {
  const sync = {
    mode: 'two-way',
    cloud: 'disarmed',
    site: 'disarmed',
    agreed: true,
    reasons: [],
    security_type: 3,
  } as const;
  const said = armingSyncLines({ ...sync, reasons: [], activated: false }).join('\n');
  expect(said).toContain('NOT ACTIVATED IN THE CLOUD; it is protected');
  expect(said).toContain('siteward site activate\n');
  expect(said).toContain('It is seen here within two minutes.');
  expect(armingSyncLines({ ...sync, reasons: [], activated: true })).toHaveLength(1);
});

test.each<[string, Partial<Partition>, string]>([
  [
    'a fire',
    { state: 'triggered', alarm: { kind: 'fire', zone: '4', since } },
    `IN ALARM: fire, zone 4 Kitchen, since ${since}\n`,
  ],
  [
    'each alarm that runs',
    {
      state: 'triggered',
      alarm: { kind: 'fire', zone: '4' },
      alarms: [
        { kind: 'fire', zone: '4', since },
        { kind: 'burglary', zone: '1', since },
      ],
    },
    `IN ALARM: fire, zone 4 Kitchen, since ${since}\n  p1  Offices  IN ALARM: burglary, zone 1 Front door, since ${since}\n`,
  ],
  [
    'an entry beside a fire',
    {
      state: 'pending',
      alarm: { kind: 'burglary_entry_exit', zone: '1' },
      alarms: [{ kind: 'fire', zone: '4', since }],
    },
    `IN ALARM: fire, zone 4 Kitchen, since ${since}\n  p1  Offices  entry: burglary entry exit, zone 1 Front door\n`,
  ],
  [
    'a camera',
    { state: 'triggered', alarm: { kind: 'burglary', camera: 'yard' } },
    'IN ALARM: burglary, camera yard\n',
  ],
  [
    'an entry',
    { state: 'pending', alarm: { kind: 'burglary_entry_exit', zone: '1' } },
    'entry: burglary entry exit, zone 1 Front door\n',
  ],
  ['an abort window', { abort_left_s: 12 }, 'the station is told in 12 s unless it is disarmed\n'],
  ['the alarm memory', { memory: ['4', '1', '77'] }, 'in alarm since the last arming: 4 Kitchen, 1 Front door, 77\n'],
  [
    'a walk test',
    { test: { left_s: 754, walked: [], missing: ['1', '2'] } },
    'walk test, 12 min 34 s left; walked: none; missing: 1 Front door, 2 Window\n',
  ],
  ['shut zones', { shut_zones: ['2'] }, 'shut after too many alarms: 2 Window\n'],
  [
    'a failed arming',
    { not_armed: { schedule: 'night', at: since, reason: 'NOT_READY', zones: ['2'] } },
    `NOT ARMED by schedule night at ${since}, not ready: zones 2 Window; arm it, or disarm it to end this\n`,
  ],
  [
    'a failed arming of a panel',
    { not_armed: { schedule: 'night', at: since, reason: 'PANEL_OFFLINE' } },
    `NOT ARMED by schedule night at ${since}, its panel cannot be heard; arm it, or disarm it to end this\n`,
  ],
  [
    'an arming that waits',
    { arm_wait: { schedule: 'night', left_s: 40 } },
    'schedule night waits until nothing is in the way of its arming, 40 s at most\n',
  ],
])('%s is named below the partitions', (_what, more, said) => {
  expect(`${lines(more)}\n`).toContain(`\n\n  p1  Offices  ${said}`);
});

import { expect, test } from 'vitest';
import { sitePlan } from '#config/index.ts';
import { minimal, settings } from './fixture.ts';

const two = minimal.replace(
  'partitions: [ { id: p1, name: Offices } ]',
  'partitions: [ { id: p1, name: Offices, exit_delay: 45s }, { id: p2, name: Store, entry_delay: 0s } ]',
);
const panel = `panels:
  - id: main
    profile: pai
    partitions: { p1: Area_1 }
    zones:
      "1": { type: entry_exit_1, name: Front door, partition: p1, cameras: [yard] }
      "2": { type: fire, partitions: [p1, p2] }
cameras:
  - { id: yard, url: "http://192.0.2.1/", zone: "21", partition: p2, pictures: armed, detections: [person] }
  - { id: hall, url: "http://192.0.2.2/", name: Hall }
`;

const rules = { abortDelayMs: 0, cancelWindowMs: 300_000, exitRestart: true, autoStay: false };

test("a partition mapped by a panel is the panel's, the others are the engine's", () => {
  expect(sitePlan(settings(`${two}${panel}`)).partitions).toEqual([
    {
      ...{ id: 'p1', name: 'Offices', authority: 'panel', panel: 'main', exitDelayMs: 45_000, entryDelayMs: 30_000 },
      ...rules,
    },
    { id: 'p2', name: 'Store', authority: 'engine', exitDelayMs: 60_000, entryDelayMs: 0, ...rules },
  ]);
});

test('the rules of alarms are off or as the field has them until somebody chooses', () => {
  expect(sitePlan(settings(minimal))).toMatchObject({ swingerTrips: 2, crossZones: [] });
  const chosen = minimal.replace(
    'name: Offices',
    'name: Offices, abort_delay: 30s, cancel_window: 10m, confirmation: { window: 45m }, auto_stay: true',
  );
  const rest = `${panel}cross_zones: [ { zones: ["3", "21"] } ]\narming: { swinger_trips: 1 }\n`
    .replace('    partitions: { p1: Area_1 }\n', '')
    .replace('partition: p1, ', '')
    .replace(', p2]', ']')
    .replace('partition: p2, ', 'chime: true, ')
    .replace('"2": {', '"3": { type: perimeter, confirms: false }\n      "2": {');
  const plan = sitePlan(settings(`${chosen}${rest}`));
  expect(plan.partitions).toMatchObject([
    { abortDelayMs: 30_000, cancelWindowMs: 600_000, confirmationMs: 2_700_000, exitRestart: true, autoStay: true },
  ]);
  expect(plan).toMatchObject({ swingerTrips: 1, crossZones: [{ zones: ['3', '21'], windowMs: 60_000 }] });
  expect(plan.zones.map(({ number, chime, confirms }) => [number, chime, confirms])).toEqual([
    ['1', undefined, undefined],
    ['2', undefined, undefined],
    ['3', undefined, false],
    ['21', true, undefined],
  ]);
});

test('the security type is 1 beside a panel and 3 without one', () => {
  expect(sitePlan(settings(`${two}${panel}`)).securityType).toBe(1);
  expect(sitePlan(settings(minimal)).securityType).toBe(3);
});

test('with security type 4 every partition is only watched', () => {
  const watched = sitePlan(
    settings(`${two}${panel}`.replace('UTC', 'UTC').replace('timezone:', 'security_type: 4, timezone:')),
  );
  expect(watched.securityType).toBe(4);
  expect(watched.partitions.map(({ authority }) => authority)).toEqual(['external', 'external']);
});

test('zones of panels and cameras carry number, name, type, partitions, source, cameras and detections', () => {
  expect(sitePlan(settings(`${two}${panel}`)).zones).toEqual([
    {
      number: '1',
      name: 'Front door',
      type: 'entry_exit_1',
      partitions: ['p1'],
      source: { kind: 'panel', id: 'main' },
      cameras: ['yard'],
      detections: [],
    },
    {
      number: '2',
      name: 'Zone 2',
      type: 'fire',
      partitions: ['p1', 'p2'],
      source: { kind: 'panel', id: 'main' },
      cameras: [],
      detections: [],
    },
    {
      number: '21',
      name: 'yard',
      type: 'video_person_perimeter',
      partitions: ['p2'],
      source: { kind: 'camera', id: 'yard' },
      cameras: ['yard'],
      detections: ['person'],
    },
  ]);
});

test('a camera without a zone belongs to every partition', () => {
  expect(sitePlan(settings(`${two}${panel}`)).cameras).toEqual([
    { id: 'yard', name: 'yard', zone: '21', partitions: ['p2'], pictures: 'armed' },
    { id: 'hall', name: 'Hall', partitions: ['p1', 'p2'], pictures: 'alarm' },
  ]);
});

test('clips and the time a ring keeps are told of cameras that have them', () => {
  const text = `${two}${panel}`.replace('- { id: hall, ', '- { id: hall, clips: [event], pre_roll: 5s, ');
  expect(sitePlan(settings(text)).cameras[1]).toMatchObject({ id: 'hall', clips: ['event'], preRollMs: 5000 });
});

test('a zone without a partition belongs to the only one', () => {
  const plan = sitePlan(settings(`${minimal}panels: [ { id: m, profile: pai, zones: { "1": { type: fire } } } ]`));
  expect(plan.zones[0]?.partitions).toEqual(['p1']);
});

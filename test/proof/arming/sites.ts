import fc from 'fast-check';
import {
  type PartitionPlan,
  postponeDefault,
  type SchedulePlan,
  type SchedulesPlan,
  type SitePlan,
  weekdays,
} from '#site/model/index.ts';
import { house, partition, zone } from '../../site/core/world.ts';

/** Every group of zones, two partitions, a zone that both share, and a key switch of each kind. */
const full = house({
  partitions: [partition('p1'), partition('p2', { entryDelayMs: 0, exitDelayMs: 20_000 })],
  zones: [
    ...house().zones,
    zone('5', 'perimeter', { partitions: ['p1', 'p2'] }),
    zone('6', 'interior_delay', { partitions: ['p2'] }),
    zone('7', 'final_exit'),
    zone('14', 'medical', { partitions: ['p1', 'p2'] }),
    zone('16', 'water', { partitions: ['p2'] }),
    zone('40', 'key_switch_momentary'),
    zone('41', 'key_switch_maintained', { partitions: ['p2'] }),
  ],
});

const authority = (of: Partial<PartitionPlan>) => (plan: PartitionPlan) => ({ ...plan, ...of });
const panel = authority({ authority: 'panel', panel: 'main' });

/** Type 3: siteward's own engine decides. */
export const engine = full;
/** Type 1: a panel decides; some of its zones are siteward's own. */
export const mirror: SitePlan = { ...full, securityType: 1, partitions: full.partitions.map(panel) };
/** Type 2 on a bridge with a partition of each kind. */
export const mixed: SitePlan = {
  ...full,
  securityType: 2,
  partitions: [
    partition('p1'),
    panel(partition('p2')),
    partition('p3', { authority: 'external', exitDelayMs: 0, entryDelayMs: 0 }),
  ],
};
/** Type 4: nothing here is siteward's to control. */
export const foreign: SitePlan = {
  ...full,
  securityType: 4,
  partitions: full.partitions.map(authority({ authority: 'external' })),
};

const schedule = (id: string, at: string, action: SchedulePlan['action']): SchedulePlan => ({
  ...{ id, name: id, days: weekdays, at, holidays: 'ignore', action },
});
const armedBy = (partitions: readonly string[], notReady: 'fail' | 'bypass') =>
  ({ kind: 'arm', partitions, mode: 'away', notReady, waitMs: 60_000, postpone: postponeDefault }) as const;

/** Around the hour that Berlin does not have on the day of the stories. */
const schedules: SchedulesPlan = {
  timezone: 'Europe/Berlin',
  holidays: [],
  schedules: [
    schedule('night', '01:05', armedBy(['p1'], 'bypass')),
    schedule('gap', '02:30', armedBy(['p1', 'p2'], 'fail')),
    schedule('morning', '03:10', { kind: 'disarm', schedule: 'night' }),
    schedule('test', '01:20', { kind: 'testReport' }),
  ],
};

/** Any choice of the options of partitions, zones and site. */
const rules = fc.record({
  partition: fc.record({
    abortDelayMs: fc.constantFrom(0, 15_000, 45_000),
    cancelWindowMs: fc.constantFrom(300_000, 3_600_000),
    confirmationMs: fc.constantFrom(0, 1_800_000),
    exitRestart: fc.boolean(),
    autoStay: fc.boolean(),
  }),
  zone: fc.record({ chime: fc.boolean(), confirms: fc.boolean() }),
  site: fc.record({
    swingerTrips: fc.constantFrom(0, 1, 2, 6),
    crossZones: fc.array(
      fc.record({
        zones: fc.constantFrom(['2', '5'] as const, ['3', '5'] as const, ['2', '21'] as const),
        windowMs: fc.constantFrom(30_000, 300_000),
      }),
      { maxLength: 2 },
    ),
    disarmNeedsCode: fc.boolean(),
    ...{ schedules: fc.constantFrom(undefined, schedules, schedules) },
  }),
});

/** A plan without options, or with any of them. */
export const ruled = (plan: SitePlan): fc.Arbitrary<SitePlan> =>
  fc.oneof(
    fc.constant(plan),
    rules.map(({ site: { schedules: clocked, ...site }, ...of }) => ({
      ...plan,
      ...site,
      ...(clocked !== undefined && { schedules: clocked }),
      partitions: plan.partitions.map((one) => ({ ...one, ...of.partition })),
      zones: plan.zones.map((one) => ({ ...one, ...of.zone })),
    })),
  );

/** What a technician may make of a plan while it runs; the last one takes it back. */
export const edits: readonly ((plan: SitePlan) => SitePlan)[] = [
  ({ schedules: _, ...plan }) => ({
    ...plan,
    partitions: plan.partitions.slice(0, 1),
    zones: plan.zones
      .filter(({ partitions }) => partitions.includes('p1'))
      .map((one) => ({ ...one, partitions: ['p1'] })),
  }),
  (plan) => ({ ...plan, zones: plan.zones.filter(({ number }) => number !== '1' && number !== '5') }),
  (plan) => ({ ...plan, partitions: plan.partitions.map(panel), securityType: 1 }),
  (plan) => ({
    ...plan,
    partitions: plan.partitions.map(({ panel: _, ...one }) => ({ ...one, authority: 'engine' as const })),
  }),
  (plan) => ({ ...plan, partitions: plan.partitions.map((one) => ({ ...one, exitDelayMs: 90_000 })) }),
  (plan) => plan,
];

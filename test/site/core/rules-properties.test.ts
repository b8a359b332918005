import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zoneTable } from '#site/core/index.ts';
import type { EventDraft, PartitionPlan, SitePlan } from '#site/model/index.ts';
import { anyStep, calmHouse, play, type Seen, type Step, story } from './stories.ts';
import { house, partition, zone } from './world.ts';

const runs = 2000;

/** One zone of every group, two partitions, one zone that both share, and a key switch of each kind. */
const plain = house({
  partitions: [partition('p1'), partition('p2', { entryDelayMs: 0 })],
  zones: [
    ...house().zones,
    zone('5', 'perimeter', { partitions: ['p1', 'p2'] }),
    zone('6', 'interior_delay', { partitions: ['p2'] }),
    zone('7', 'final_exit'),
    zone('14', 'medical', { partitions: ['p1', 'p2'] }),
    zone('15', 'co'),
    zone('16', 'water', { partitions: ['p2'] }),
    zone('17', 'gas'),
    zone('40', 'key_switch_momentary'),
    zone('41', 'key_switch_maintained', { partitions: ['p2'] }),
  ],
});
const numbers = plain.zones.map(({ number }) => number);

type Rules = Partial<PartitionPlan> & Pick<SitePlan, 'swingerTrips' | 'crossZones'>;

/** Any choice of every option; pairs also of zones the configuration refuses, such as a fire detector. */
const rules: fc.Arbitrary<Rules & { chime: boolean; confirms: boolean }> = fc.record({
  abortDelayMs: fc.constantFrom(0, 15_000, 45_000),
  cancelWindowMs: fc.constantFrom(300_000, 3_600_000),
  confirmationMs: fc.constantFrom(0, 1_800_000),
  exitRestart: fc.boolean(),
  autoStay: fc.boolean(),
  swingerTrips: fc.constantFrom(0, 1, 2, 6),
  crossZones: fc.array(
    fc.record({
      zones: fc.tuple(fc.constantFrom(...numbers), fc.constantFrom(...numbers)),
      windowMs: fc.constantFrom(30_000, 300_000),
    }),
    { maxLength: 6 },
  ),
  chime: fc.boolean(),
  confirms: fc.boolean(),
});

function under({ swingerTrips, crossZones, chime, confirms, ...more }: Rules & { chime: boolean; confirms: boolean }) {
  return {
    ...plain,
    partitions: plain.partitions.map((plan) => ({ ...plan, ...more })),
    zones: plain.zones.map((plan) => ({ ...plan, chime, confirms })),
    swingerTrips: swingerTrips ?? 0,
    crossZones: crossZones ?? [],
  } satisfies SitePlan;
}

const eventsOf = ({ effects }: Seen): readonly EventDraft[] =>
  effects.flatMap((effect) => (effect.kind === 'event' ? [effect.event] : []));

const lifeZones = new Set(
  plain.zones.filter(({ type }) => ['life', 'holdup'].includes(zoneTable[type].group)).map(({ number }) => number),
);

/** What the station and the site learn of life safety and hold-up, input by input. */
const lifeOf = (seen: readonly Seen[]) =>
  seen.map((entry) =>
    eventsOf(entry)
      .filter(
        ({ class: eventClass, kind, zone: number }) =>
          eventClass === 'alarm' &&
          (number === undefined ? kind === 'duress' : lifeZones.has(number) && kind !== 'tamper'),
      )
      .map(({ kind, status, zone: number, lane, signalToStation, toCloud, silent, media, late }) => ({
        ...{ kind, status, zone: number, lane, signalToStation, toCloud, silent, media, late },
      })),
  );

/** Every input of the story without what the timers of one plan add: those differ with the plan. */
const withoutTimers = (seen: readonly Seen[]) => seen.filter(({ input }) => input.kind !== 'timer.fired');

const panel = { kind: 'panel', id: 'main' } as const;
const command = (id: string, verb: 'arm' | 'disarm'): Step => ({
  do: 'command',
  command: {
    ...{ id, verb, partition: 'all', source: 'lan', client: 'keypad', actor: 'anna', code: 'ok', bodyHash: id },
    ...(verb === 'arm' && { mode: 'away', skipExitDelay: true, force: true }),
  },
  ageMs: 0,
});
const moves: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom('1', '2', '3', '5', '6', '10', '11', '12', '14', '40', '41'), fc.boolean())
  .map(([number, open]) => ({
    do: 'signal',
    signal: { kind: 'zone', source: panel, zone: number, open, replay: false },
  }));

/** Stories that begin armed, in which zones move, and people arm and disarm. */
const lively: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: moves },
      { weight: 4, arbitrary: anyStep(plain) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.nat(100_000), fc.constantFrom('arm' as const, 'disarm' as const))
          .map(([id, verb]) => command(`m-${id}`, verb)),
      },
    ),
    { minLength: 5, maxLength: 20, size: 'max' },
  )
  .map((steps) => [...calmHouse(plain), command('first', 'arm'), ...steps]);

const check = (property: (plan: SitePlan, steps: readonly Step[]) => void, numRuns = runs) =>
  fc.assert(
    fc.property(rules.map(under), fc.oneof(story(plain), lively), (plan, steps) => property(plan, steps)),
    { numRuns },
  );

describe('any choice of rules', () => {
  it('safety 1: what is told of life safety, hold-up and duress is the same with and without them', () => {
    let told = 0;
    check((plan, steps) => {
      const raised = (seen: readonly Seen[]) =>
        lifeOf(withoutTimers(seen)).map((events) => events.filter(({ status }) => status !== 'cancelled'));
      const [plainly, ruled] = [play(plain, steps).seen, play(plan, steps).seen];
      expect(raised(ruled)).toEqual(raised(plainly));
      expect(lifeOf(ruled.filter(({ input }) => input.kind === 'timer.fired')).flat()).toEqual([]);
      const events = lifeOf(ruled).flat();
      expect(events.every(({ status, signalToStation }) => status !== 'active' || signalToStation)).toBe(true);
      told += events.length;
    });
    expect(told).toBeGreaterThan(runs / 4);
  });

  it('no alarm is lost in an abort window: each is signalled once, or a disarm took it back', () => {
    const ends = { signalled: 0, aborted: 0 };
    check((plan, steps) => {
      const waiting: Record<string, string[]> = { p1: [], p2: [] };
      // Exit error, entry delay, window: each may begin with the end of the one before.
      const story = [...steps, ...Array<Step>(4).fill({ do: 'pass', ms: 60_000 })];
      for (const entry of play(plan, story).seen) {
        for (const { kind, partition: id = 'p1', zone: number = '', evidence = [], signalToStation } of eventsOf(
          entry,
        )) {
          const line = waiting[id] ?? [];
          if (evidence.some(({ type }) => type === 'abort_window')) {
            expect(signalToStation).toBe(false);
            line.push(number);
          }
          if (evidence.some(({ type }) => type === 'abort_window_ended')) {
            expect([line.shift(), signalToStation]).toEqual([number, true]);
            ends.signalled += 1;
          }
          if (kind === 'alarm_aborted') {
            expect(line.length).toBeGreaterThan(0);
            expect(entry.after.partitions[id]?.state).toBe('disarmed');
            waiting[id] = [];
            ends.aborted += 1;
          }
        }
      }
      expect(waiting).toEqual({ p1: [], p2: [] });
    });
    expect(Math.min(ends.signalled, ends.aborted)).toBeGreaterThan(20);
  });
});

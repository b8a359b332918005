import fc from 'fast-check';
import {
  adoptPlan,
  decide,
  type Effect,
  type Input,
  initialState,
  readState,
  type SiteState,
  writeState,
} from '#site/core/index.ts';
import { type Command, type PanicCall, panicKinds, type Signal, type SitePlan, type Stamp } from '#site/model/index.ts';
import { stamp } from './world.ts';

/** Random stories of a site, and how they are played: what the property tests of the core share. */

export type Step =
  | { readonly do: 'signal'; readonly signal: Signal }
  | { readonly do: 'command'; readonly command: Omit<Command, 'issuedAt' | 'expiresAt'>; readonly ageMs: number }
  | { readonly do: 'panic'; readonly call: Omit<PanicCall, 'issuedAt'>; readonly ageMs: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart'; readonly sameBoot: boolean; readonly clock: Stamp['clock'] };

const words = ['disarmed', 'arming', 'armed_home', 'armed_away', 'pending', 'triggered', 'unknown'] as const;
export const source = { kind: 'panel', id: 'main' } as const;
const id = fc.integer({ min: 1, max: 30 }).map((n) => `c-${n}`);

export const zoneSignal = (plan: SitePlan, replay: fc.Arbitrary<boolean>): fc.Arbitrary<Signal> =>
  fc.record(
    {
      kind: fc.constant('zone' as const),
      source: fc.constant(source),
      zone: fc.constantFrom(...plan.zones.map(({ number }) => number), '99'),
      replay,
      open: fc.boolean(),
      alarm: fc.boolean(),
      tamper: fc.boolean(),
      lowBattery: fc.boolean(),
    },
    { requiredKeys: ['kind', 'source', 'zone', 'replay'] },
  );

export const anySignal = (plan: SitePlan): fc.Arbitrary<Signal> =>
  fc.oneof(
    { weight: 5, arbitrary: zoneSignal(plan, fc.boolean()) },
    fc.record({
      kind: fc.constant('partition' as const),
      source: fc.constant(source),
      partition: fc.constantFrom('p1', 'p2', 'p9'),
      state: fc.constantFrom(...words),
      replay: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('detection' as const),
      source: fc.constantFrom({ kind: 'camera', id: 'hall' } as const, { kind: 'camera', id: 'yard' } as const),
      detection: fc.constantFrom('person', 'motion', 'tamper', 'video_loss'),
      active: fc.boolean(),
      pulse: fc.boolean(),
      replay: fc.boolean(),
      topic: fc.constantFrom('a', 'b'),
    }),
    fc.record({
      kind: fc.constant('link' as const),
      source: fc.constantFrom(source, { kind: 'camera', id: 'hall' } as const),
      layer: fc.constantFrom('bridge' as const, 'device' as const),
      up: fc.boolean(),
    }),
    fc.constant({ kind: 'refusal', source, reason: 'not_ready' } as const),
    fc.record({
      kind: fc.constant('trouble' as const),
      source: fc.constant(source),
      trouble: fc.constantFrom('ac_loss', 'battery_low'),
      active: fc.boolean(),
      replay: fc.boolean(),
    }),
  );

export const anyCommand = (of: Partial<Record<keyof Command, fc.Arbitrary<unknown>>> = {}) =>
  fc
    .record(
      {
        id,
        verb: fc.constantFrom('arm' as const, 'arm' as const, 'disarm' as const),
        partition: fc.constantFrom('p1', 'p2', 'all' as const),
        mode: fc.constantFrom('away', 'home', 'night'),
        force: fc.boolean(),
        skipExitDelay: fc.boolean(),
        source: fc.constantFrom('lan', 'cli', 'cloud', 'schedule'),
        client: fc.constantFrom('a', 'b'),
        actor: fc.constantFrom('anna', 'night'),
        code: fc.constantFrom('ok', 'none', 'bad', 'duress'),
        ...of,
      },
      { requiredKeys: ['id', 'verb', 'partition', 'source', 'client', 'code'] },
    )
    .map((command) => ({ ...command, bodyHash: JSON.stringify(command) }) as Omit<Command, 'issuedAt'>);

export const anyCall: fc.Arbitrary<Step> = fc
  .tuple(
    fc.record(
      {
        id: fc.integer({ min: 1, max: 6 }).map((n) => `c-${n}`),
        kind: fc.constantFrom(...panicKinds),
        partition: fc.constantFrom('p1', 'p2', 'p9', 'all' as const),
        retained: fc.boolean(),
        source: fc.constant('lan' as const),
        client: fc.constantFrom('a', 'b'),
      },
      { requiredKeys: ['id', 'kind', 'source', 'client'] },
    ),
    fc.constantFrom(0, 70_000, 700_000, -40_000),
  )
  .map(([call, ageMs]): Step => ({ do: 'panic', call, ageMs }));

export const anyStep = (plan: SitePlan): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 6, arbitrary: anySignal(plan).map((signal): Step => ({ do: 'signal', signal })) },
    {
      weight: 5,
      arbitrary: fc
        .tuple(anyCommand(), fc.constantFrom(0, 0, 0, 5_000, 70_000, 700_000, -40_000))
        .map(([command, ageMs]): Step => ({ do: 'command', command, ageMs })),
    },
    { weight: 4, arbitrary: fc.constantFrom(1_000, 29_000, 60_000, 200_000).map((ms): Step => ({ do: 'pass', ms })) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('restart' as const),
        sameBoot: fc.boolean(),
        clock: fc.constantFrom('synced' as const, 'doubtful' as const),
      }),
    },
  );

export interface Seen {
  readonly before: SiteState;
  readonly after: SiteState;
  readonly input: Input;
  readonly effects: readonly Effect[];
}

/** Runs steps as a controller would, with every state written to disk and read back. */
export function play(plan: SitePlan, steps: readonly Step[], from?: SiteState): { state: SiteState; seen: Seen[] } {
  let state = from ?? initialState(plan, stamp(0), { storeLost: false });
  let ms = 0;
  let boots = 1;
  let clock: Stamp['clock'] = 'synced';
  const seen: Seen[] = [];
  const at = () => stamp(ms, { boot: `boot-${boots}`, clock });
  const send = (input: Omit<Input, 'at'> & { kind: Input['kind'] }) => {
    const whole = { at: at(), ...input } as Input;
    const decision = decide(plan, state, whole);
    seen.push({ before: state, after: decision.state, input: whole, effects: decision.effects });
    state = decision.state;
  };
  for (const step of steps) {
    if (step.do === 'signal') send({ kind: 'signal', signal: step.signal } as never);
    if (step.do === 'command') {
      send({ kind: 'command', command: { ...step.command, issuedAt: at().wall - step.ageMs } } as never);
    }
    if (step.do === 'panic') send({ kind: 'panic', call: { ...step.call, issuedAt: at().wall - step.ageMs } } as never);
    if (step.do === 'restart') {
      const stored = readState(writeState(state));
      if (stored === undefined) throw new Error('a state the core made was not readable');
      state = adoptPlan(plan, stored, at());
      if (!step.sameBoot) boots += 1;
      clock = step.clock;
      send({ kind: 'started', sameBoot: step.sameBoot, storeLost: false } as never);
    }
    if (step.do === 'pass') {
      ms += step.ms;
      for (const timer of Object.values(state.timers)) send({ kind: 'timer.fired', timer: timer.id } as never);
    }
  }
  return { state, seen };
}

/** Half of the stories begin with every device there and every zone closed, so that arming succeeds. */
export const story = (plan: SitePlan): fc.Arbitrary<readonly Step[]> =>
  fc
    .tuple(fc.boolean(), fc.array(anyStep(plan), { minLength: 5, maxLength: 20, size: 'max' }))
    .map(([calm, steps]) => [...(calm ? calmHouse(plan) : []), ...steps]);

export const calmHouse = (plan: SitePlan): Step[] => [
  { do: 'signal', signal: { kind: 'link', source, layer: 'bridge', up: true } },
  { do: 'signal', signal: { kind: 'link', source: { kind: 'camera', id: 'hall' }, layer: 'device', up: true } },
  ...plan.zones
    .filter((entry) => entry.source.kind === 'panel')
    .map(
      ({ number }): Step => ({
        do: 'signal',
        signal: { kind: 'zone', source, zone: number, open: false, replay: false },
      }),
    ),
];

export const transitions = ({ effects }: Seen) =>
  effects.flatMap((effect) => (effect.kind === 'transition' ? [effect.record] : []));
export const replies = ({ effects }: Seen) =>
  effects.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : []));

export type Level = Extract<Step, { do: 'signal' }>;

/** A signal that tells a lasting level live: telling it again, or as a retained copy, is nothing new. */
export function isLevel(step: Step): step is Level {
  if (step.do !== 'signal') return false;
  const { signal } = step;
  if (signal.kind === 'zone') return !signal.replay;
  return signal.kind === 'detection' ? !signal.pulse && !signal.replay : signal.kind !== 'refusal';
}

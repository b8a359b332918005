import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
import type { ArmingWord, Command, Signal, SitePlan, Stamp } from '#site/model/index.ts';
import { house, panelHouse, partition, stamp, zone } from './world.ts';

const runs = 2000;

/** Two partitions, a zone that both share, an interior camera. */
const engine = house({
  partitions: [partition('p1'), partition('p2', { entryDelayMs: 0 })],
  zones: [
    ...house().zones.filter(({ number }) => number !== '4'),
    zone('5', 'perimeter', { partitions: ['p1', 'p2'] }),
    zone('6', 'interior_delay', { partitions: ['p2'] }),
  ],
});
const mirror = panelHouse({
  partitions: [
    partition('p1', { authority: 'panel', panel: 'main' }),
    partition('p2', { authority: 'panel', panel: 'main' }),
  ],
});

type Step =
  | { readonly do: 'signal'; readonly signal: Signal }
  | { readonly do: 'command'; readonly command: Omit<Command, 'issuedAt' | 'expiresAt'>; readonly ageMs: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart'; readonly sameBoot: boolean; readonly clock: Stamp['clock'] };

const words = ['disarmed', 'arming', 'armed_home', 'armed_away', 'pending', 'triggered', 'unknown'] as const;
const source = { kind: 'panel', id: 'main' } as const;
const id = fc.integer({ min: 1, max: 30 }).map((n) => `c-${n}`);

const zoneSignal = (plan: SitePlan, replay: fc.Arbitrary<boolean>): fc.Arbitrary<Signal> =>
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

const anySignal = (plan: SitePlan): fc.Arbitrary<Signal> =>
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

const anyCommand = (of: Partial<Record<keyof Command, fc.Arbitrary<unknown>>> = {}) =>
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

const anyStep = (plan: SitePlan): fc.Arbitrary<Step> =>
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

interface Seen {
  readonly before: SiteState;
  readonly after: SiteState;
  readonly input: Input;
  readonly effects: readonly Effect[];
}

/** Runs steps as a controller would, with every state written to disk and read back. */
function play(plan: SitePlan, steps: readonly Step[], from?: SiteState): { state: SiteState; seen: Seen[] } {
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
const story = (plan: SitePlan): fc.Arbitrary<readonly Step[]> =>
  fc
    .tuple(fc.boolean(), fc.array(anyStep(plan), { minLength: 5, maxLength: 20, size: 'max' }))
    .map(([calm, steps]) => [...(calm ? calmHouse(plan) : []), ...steps]);

const calmHouse = (plan: SitePlan): Step[] => [
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

const check = (plan: SitePlan, property: (steps: readonly Step[]) => void, numRuns = runs) =>
  fc.assert(fc.property(story(plan), property), { numRuns });

const transitions = ({ effects }: Seen) =>
  effects.flatMap((effect) => (effect.kind === 'transition' ? [effect.record] : []));
const replies = ({ effects }: Seen) => effects.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : []));

describe.each([
  ['engine', engine],
  ['panel', mirror],
] as const)('any interleaving of inputs, authority %s', (name, plan) => {
  it('I2: each transition adds exactly one to the sequence, and each armed or disarmed word is one arming event', () => {
    const words: ArmingWord[] = [];
    check(plan, (steps) => {
      const seqs: Record<string, number> = {};
      for (const entry of play(plan, steps).seen) {
        const made = transitions(entry);
        for (const record of made) {
          expect(record.seq).toBe((seqs[record.partition] ?? 0) + 1);
          seqs[record.partition] = record.seq;
          words.push(record.state);
        }
        const events = entry.effects.flatMap((effect) =>
          effect.kind === 'event' && effect.event.class === 'arming' ? [effect.event] : [],
        );
        const final = made.filter(({ state }) => state === 'disarmed' || state.startsWith('armed_'));
        expect(events.map(({ partition, arming }) => [partition, arming?.seq])).toEqual(
          final.map((r) => [r.partition, r.seq]),
        );
        for (const { id, seq } of Object.values(entry.after.partitions)) expect(seq).toBe(seqs[id] ?? 0);
      }
    });
    // The runs did reach what the property is about.
    for (const word of ['disarmed', 'armed_away', 'pending', 'triggered'] as const) expect(words).toContain(word);
  });

  it('I3 and I4: a partition becomes disarmed only by its panel or by a fresh command with the right to it', () => {
    let disarmed = 0;
    check(plan, (steps) => {
      const executed = new Set<string>();
      for (const entry of play(plan, steps).seen) {
        for (const record of transitions(entry)) {
          if (record.state !== 'disarmed') continue;
          disarmed += 1;
          if (name === 'panel') {
            expect(entry.input.kind).toBe('signal');
            continue;
          }
          expect(entry.input.kind).toBe('command');
          if (entry.input.kind !== 'command') continue;
          const { command, at } = entry.input;
          expect(command.verb).toBe('disarm');
          expect(command.code).not.toBe('bad');
          expect(record.commandId).toBe(command.id);
          if (command.source === 'lan' || command.source === 'cli') expect(command.code).not.toBe('none');
          if (at.clock !== 'doubtful') expect(at.wall - command.issuedAt).toBeLessThanOrEqual(60_000);
          const key = `${command.id} ${record.partition}`;
          expect(executed.has(key)).toBe(false);
          executed.add(key);
        }
      }
    });
    expect(disarmed).toBeGreaterThan(20);
  });

  it('I7: a refused command leaves partitions, zones, timers and bypasses as they were', () => {
    let refused = 0;
    check(plan, (steps) => {
      for (const entry of play(plan, steps).seen) {
        if (entry.input.kind !== 'command') continue;
        const { id: commandId, code } = entry.input.command;
        const reply = replies(entry).find((result) => result.commandId === commandId);
        expect(reply).toBeDefined();
        if (reply === undefined || !['refused', 'expired', 'superseded'].includes(reply.outcome)) continue;
        refused += 1;
        expect(entry.after.partitions).toBe(entry.before.partitions);
        expect(entry.after.zones).toBe(entry.before.zones);
        expect(entry.after.timers).toBe(entry.before.timers);
        const bypassed = (state: SiteState) => Object.values(state.periods).map((period) => period.bypassed);
        expect(bypassed(entry.after)).toEqual(bypassed(entry.before));
        const loud = entry.effects.filter(({ kind }) => kind !== 'reply');
        if (code !== 'duress') expect(loud).toEqual([]);
      }
    });
    expect(refused).toBeGreaterThan(100);
  });

  it('every reachable state comes back equal from its JSON', () => {
    check(plan, (steps) => {
      const { state } = play(plan, steps);
      expect(readState(writeState(state))).toEqual(state);
    });
  });

  it('safety 1: a fire that begins is always one signalled alarm', () => {
    let fires = 0;
    check(plan, (steps) => {
      const { state } = play(plan, steps);
      const calm: Step[] = [
        { do: 'signal', signal: { kind: 'link', source, layer: 'bridge', up: true } },
        { do: 'signal', signal: { kind: 'link', source, layer: 'device', up: true } },
        { do: 'signal', signal: { kind: 'zone', source, zone: '10', open: false, alarm: false, replay: false } },
      ];
      const quiet = play(plan, calm, state).state;
      const fire: Step = {
        do: 'signal',
        signal: { kind: 'zone', source, zone: '10', open: true, alarm: true, replay: false },
      };
      const effects = play(plan, [fire], quiet).seen.flatMap((entry) => entry.effects);
      const events = effects.flatMap((effect) => (effect.kind === 'event' ? [effect.event] : []));
      fires += 1;
      expect(events.filter(({ kind, signalToStation }) => kind === 'fire' && signalToStation)).toHaveLength(1);
    });
    expect(fires).toBeGreaterThan(runs / 2);
  });
});

describe('any interleaving of inputs', () => {
  it('I1: expired, repeated and retained inputs that tell nothing new do not change what happens', () => {
    const noise = fc.oneof(
      anyCommand({ id: fc.integer({ min: 100, max: 130 }).map((n) => `x-${n}`) }).map(
        // A duress code is never noise: it calls for help however old its command is (safety 1).
        (command): Step => ({
          do: 'command',
          command: { ...command, code: command.code === 'duress' ? 'ok' : command.code },
          ageMs: 700_001,
        }),
      ),
      fc.constant('repeat' as const),
      fc.constant('retained' as const),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyStep(engine), fc.array(noise, { maxLength: 2 })), { maxLength: 30 }),
        (pairs) => {
          const usable = pairs.filter(([step]) => step.do !== 'restart' || step.clock === 'synced');
          const plain = [...calmHouse(engine), ...usable.map(([step]) => step)];
          const noisy = calmHouse(engine).concat(
            usable.flatMap(([step, extra]) => {
              const repeats = step.do === 'command' && step.ageMs >= 0 && step.command.code !== 'bad';
              return [
                step,
                ...extra.flatMap((entry): Step[] => {
                  if (entry === 'repeat') return repeats || isLevel(step) ? [step] : [];
                  if (entry === 'retained')
                    return isLevel(step) ? [{ ...step, signal: { ...step.signal, replay: true } } as Step] : [];
                  return [entry];
                }),
              ];
            }),
          );
          const [a, b] = [play(engine, plain), play(engine, noisy)];
          expect(outcome(b.state)).toEqual(outcome(a.state));
          expect(b.seen.flatMap(transitions)).toEqual(a.seen.flatMap(transitions));
        },
      ),
      { numRuns: runs },
    );
  });

  it('I6: the mirrored state is the last observation that was accepted from the panel', () => {
    let observed = 0;
    check(mirror, (steps) => {
      const up = { bridge: null as boolean | null, device: null as boolean | null };
      const last: Record<string, ArmingWord> = { p1: 'unknown', p2: 'unknown' };
      const held: Record<string, ArmingWord> = {};
      const { seen } = play(mirror, steps);
      for (const { input, after } of seen) {
        if (input.kind === 'started') {
          Object.assign(up, { bridge: null, device: null });
          for (const key of Object.keys(held)) delete held[key];
        }
        if (input.kind === 'signal' && input.signal.kind === 'link' && input.signal.source.kind === 'panel') {
          up[input.signal.layer] = input.signal.up;
        }
        const alive = up.bridge !== false && up.device !== false && (up.bridge ?? up.device) !== null;
        if (input.kind === 'signal' && input.signal.kind === 'partition' && input.signal.partition !== 'p9') {
          const { partition: of, state, replay } = input.signal;
          if (!replay || alive) last[of] = state;
          else held[of] = state;
          observed += 1;
        }
        if (alive) {
          Object.assign(last, held);
          for (const key of Object.keys(held)) delete held[key];
        }
        expect({ p1: after.partitions.p1?.state, p2: after.partitions.p2?.state }).toEqual(last);
      }
    });
    expect(observed).toBeGreaterThan(200);
  });

  it('I13: a change to a mode that protects less never happens without the rights of a disarm', () => {
    let reduced = 0;
    check(engine, (steps) => {
      for (const entry of play(engine, steps).seen) {
        for (const record of transitions(entry)) {
          const was = entry.before.partitions[record.partition];
          const armed = was?.state === 'armed_away' || (was?.state === 'arming' && was.mode === 'away');
          if (!armed || (record.mode !== 'home' && record.mode !== 'night') || entry.input.kind !== 'command') continue;
          reduced += 1;
          const { code, source: by } = entry.input.command;
          expect(by).not.toBe('schedule');
          if (by !== 'cloud') expect(['ok', 'duress']).toContain(code);
        }
      }
    });
    expect(reduced).toBeGreaterThan(3);
  });

  it('I14: in every reachable state of the engine a fresh disarm with a good code works', () => {
    check(engine, (steps) => {
      const { state } = play(engine, steps);
      const command = {
        id: 'last',
        verb: 'disarm',
        partition: 'p1',
        source: 'lan',
        client: 'new',
        code: 'ok',
        bodyHash: 'z',
      } as const;
      const { seen } = play(engine, [{ do: 'command', command, ageMs: 0 }], state);
      expect(['done', 'already']).toContain(seen.flatMap(replies)[0]?.outcome);
      expect(seen[0]?.after.partitions.p1?.state).toBe('disarmed');
    });
  });

  it('the same inputs give the same states', () => {
    check(
      engine,
      (steps) => {
        expect(play(engine, steps)).toEqual(play(engine, steps));
      },
      200,
    );
  });
});

type Level = Extract<Step, { do: 'signal' }>;

/** A signal that tells a lasting level live: telling it again, or as a retained copy, is nothing new. */
function isLevel(step: Step): step is Level {
  if (step.do !== 'signal') return false;
  const { signal } = step;
  if (signal.kind === 'zone') return !signal.replay;
  return signal.kind === 'detection' ? !signal.pulse && !signal.replay : signal.kind !== 'refusal';
}

/** What a site is afterwards: everything but the memory of commands and of what was held back. */
function outcome({ partitions, zones, troubles, timers, periods, silent, incidents }: SiteState) {
  return { partitions, zones, troubles, timers, periods, silent, incidents };
}

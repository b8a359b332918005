import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Decision,
  decide,
  type Input,
  markOf,
  type SiteState,
  visibleDecision,
  visibleInput,
  visibleState,
} from '#site/core/index.ts';
import type { DetectionClass, SitePlan, ZonePlan } from '#site/model/index.ts';
import { anyCall, anyCommand, anyStep, play, type Step, source, story } from './stories.ts';
import { house, panelHouse, partition, stamp, world, zone } from './world.ts';

const engine = house({
  partitions: [partition('p1', { abortDelayMs: 30_000, confirmationMs: 60_000 }), partition('p2')],
  zones: [
    ...house().zones.map((plan) => ({ ...plan, chime: true })),
    zone('5', 'perimeter', { partitions: ['p1', 'p2'] }),
  ],
  swingerTrips: 2,
});

const mirror = panelHouse({
  partitions: ['p1', 'p2'].map((id) => partition(id, { authority: 'panel', panel: 'main' })),
});

const shown = (plan: SitePlan, state: SiteState) => JSON.parse(JSON.stringify(visibleState(plan, state))) as object;

/** Effects without silent events and what only an auditor sees. */
const loud = ({ effects }: Decision): readonly object[] =>
  effects.flatMap<object>((effect) => {
    if (effect.kind === 'audit') return effect.entry.visibility === undefined ? [effect] : [];
    if (effect.kind === 'capture') return [];
    // Only who has called hears it.
    if (effect.kind === 'reply' && effect.call?.startsWith('silent ') === true) return [];
    if (effect.kind !== 'event') return [effect];
    const { event } = effect;
    return event.silent === true ? [] : [{ kind: 'event', event }];
  });

/** Every verb, also on the silent zone. */
const anyVerb = anyCommand({
  verb: fc.constantFrom('bypass', 'unbypass', 'test', 'end_test', 'clear_memory', 'arm', 'disarm'),
  zone: fc.constantFrom('2', '12'),
  minutes: fc.constant(5),
}).map((command): Step => ({ do: 'command', command, ageMs: 0 }));

const longStory = (plan: SitePlan) =>
  fc
    .tuple(
      story(plan),
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: anyStep(plan) },
          { weight: 1, arbitrary: anyVerb },
          { weight: 1, arbitrary: anyCall },
        ),
      ),
    )
    .map(([first, more]) => [...first, ...more]);

describe.each([
  ['engine', engine],
  ['panel', mirror],
] as const)('safety 4: what everybody may know, authority %s', (_, plan) => {
  it('is decided without anything silent, by any story', () => {
    let [hidden, forced] = [0, 0];
    const check = (steps: readonly Step[]) => {
      for (const { input, before, effects, after } of play(plan, steps).seen) {
        const decision = decide(plan, before, input);
        expect(decision.effects).toEqual(effects);
        const seen = visibleDecision(plan, before, { input, decision });
        if (seen === undefined) {
          hidden += 1;
          expect(loud(decision)).toEqual([]);
          expect(shown(plan, after)).toEqual(shown(plan, before));
          continue;
        }
        if (seen.input !== input) forced += 1;
        // From the visible state alone the same comes about.
        const again = decide(plan, visibleState(plan, before), seen.input);
        expect(shown(plan, again.state)).toEqual(shown(plan, after));
        expect(loud(again)).toEqual(loud(decision));
        expect(markOf(visibleState(plan, before), again)).toEqual(markOf(before, seen.decision));
      }
    };
    fc.assert(fc.property(longStory(plan), check), { numRuns: 400 });
    expect(hidden).toBeGreaterThan(50);
    expect(forced).toBeGreaterThan(50);
  });

  it('has no word of a hold-up in it', () => {
    const steps: readonly Step[] = [
      { do: 'signal', signal: { kind: 'link', source, layer: 'bridge', up: true } },
      { do: 'signal', signal: { kind: 'zone', source, zone: '12', open: true, replay: false } },
      { do: 'signal', signal: { kind: 'zone', source, zone: '12', open: true, lowBattery: true, replay: false } },
    ];
    const inputs = play(plan, steps).seen.map(({ input, before }) => {
      const seen = visibleDecision(plan, before, { input, decision: decide(plan, before, input) });
      return seen?.input.kind === 'signal' ? seen.input.signal : seen?.input;
    });
    expect(inputs).toEqual([
      steps[0]?.do === 'signal' ? steps[0].signal : undefined,
      undefined,
      { kind: 'zone', source, zone: '12', lowBattery: true, replay: false },
    ]);
  });
});

it('safety 4: of a camera with a silent button wired to it, what it sees is visible, and nothing that may be the button', () => {
  const hall = { kind: 'camera', id: 'hall' } as const;
  const wired = zone('42', 'panic_silent', { source: hall, input: 'In_1' });
  const shows = (zones: readonly ZonePlan[], detection: DetectionClass) => {
    const site = world(house({ zones: [...house().zones, ...zones] }));
    const about = { source: hall, detection, active: true, pulse: false, replay: false, topic: 'x' } as const;
    const input: Input = { kind: 'signal', at: stamp(0), signal: { kind: 'detection', ...about } };
    const decision = decide(site.plan, site.state, input);
    return visibleDecision(site.plan, site.state, { input, decision }) !== undefined;
  };
  const classes = ['person', 'motion', 'tamper', 'input', 'relay', 'other'] as const;
  expect(classes.map((one) => shows([wired], one))).toEqual([true, true, true, false, false, false]);
  const seen = zone('43', 'panic_silent', { source: hall });
  expect(classes.map((one) => shows([seen], one))).toEqual(classes.map(() => false));
});

it('safety 4: that a silent button of a panel which tells only openings has told its level with its sabotage is seen by nobody', () => {
  const about = { kind: 'zone', source, zone: '12', tamper: true, replay: false } as const;
  const seen = [about, { ...about, open: true, opensOnly: true } as const].map((signal) =>
    visibleInput(mirror, { kind: 'signal', at: stamp(0), signal }),
  );
  expect(seen[1]).toEqual(seen[0]);
});

it('safety 4: each report of a sabotage of a silent button is seen as it is, and one that is told again by nobody', () => {
  const site = world(mirror);
  const code = { code: 'TA', number: '12' };
  const told = ['f1.0', 'f2.0', 'f2.0'].map((report) => {
    const about = { kind: 'zone', source, zone: '12', replay: false } as const;
    const input: Input = {
      kind: 'signal',
      at: stamp(0),
      signal: { ...about, tamper: true, report, ageMs: 6000, code },
    };
    const decision = decide(site.plan, site.state, input);
    const seen = visibleDecision(site.plan, site.state, { input, decision });
    expect(loud(seen?.decision ?? decision)).toEqual(loud(decision));
    expect(shown(site.plan, seen?.decision.state ?? site.state)).toEqual(shown(site.plan, decision.state));
    site.state = decision.state;
    return site
      .events(seen?.decision.effects)
      .flatMap(({ kind, status, sia }) => (kind === 'tamper' ? [`${status} ${sia}`] : []));
  });
  // An end that only makes room is told by no code of the beginning.
  expect(told).toEqual([['active TA', 'active TA'], ['restored TR', 'active TA', 'active TA'], []]);
});

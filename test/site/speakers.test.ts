import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { ruleOptions } from '#devices/audio/rules/options.ts';
import { type Decision, decide, type Input, initialState, visibleDecision } from '#site/core/index.ts';
import { numberEvents } from '#site/events.ts';
import { eventClasses, type SiteEvent, type SitePlan, silentKinds } from '#site/model/index.ts';
import { evaluate } from '../../src/devices/audio/rules/evaluate.ts';
import { tellSpeakers } from '../../src/site/speakers.ts';
import { anyCall, anyCommand, anyStep, play, type Step, story } from './core/stories.ts';
import { house, panelHouse, partition, stamp, zone } from './core/world.ts';
import { type Rig, startRig } from './rig.ts';

let rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs) await rig.remove();
  rigs = [];
});

async function armed(): Promise<Rig> {
  const rig = await startRig();
  rigs.push(rig);
  await rig.open('1', false);
  await rig.command({ verb: 'arm', code: 'ok' });
  return rig;
}
const told = (rig: Rig) =>
  rig.decided.map(({ event, partition: of, commits }) => ({ kind: event.kind, mode: of?.mode, commits }));

describe('the speakers are told', () => {
  it('of an alarm at the decision, with the mode it began in, whatever the disk does', async () => {
    const rig = await armed();
    const before = { count: rig.decided.length, commits: rig.commits.length };
    rig.refuse = true;
    void rig.open('1', true);
    // In the same turn: nothing is written by then.
    expect(told(rig).slice(before.count)).toEqual([
      { kind: 'burglary_perimeter', mode: 'away', commits: before.commits },
    ]);
    rig.refuse = false;
  });

  it('of a disarm after its silence', async () => {
    const rig = await armed();
    await rig.open('1', true);
    const before = rig.sound.length;
    await rig.command({ verb: 'disarm', code: 'ok' });
    expect(rig.sound.slice(before, before + 1)).toEqual(['hush p1']);
    expect(rig.sound.slice(before + 1)).toContain('disarmed active');
  });

  it('of nothing that is silent, and with a duress code of no more than without (safety 4)', async () => {
    const [forced, free] = [await armed(), await armed()];
    await forced.open('9', true);
    await new Promise<void>((resolve) =>
      forced.controller.panic({ id: 'c1', kind: 'silent', source: 'lan', client: 'keypad' }, () => resolve()),
    );
    await forced.command({ verb: 'disarm', code: 'duress' });
    await free.command({ verb: 'disarm', code: 'ok' });
    expect(forced.sound).toEqual(free.sound);
  });

  it('at a start of nothing that was before', async () => {
    const rig = await armed();
    await rig.stop();
    const next = await startRig({ dir: rig.dir });
    rigs.push(next);
    expect(next.state()).toBe('armed_away');
    expect(next.sound).toEqual([]);
  });
});

const engine = house({
  partitions: [partition('p1', { abortDelayMs: 30_000, confirmationMs: 60_000 }), partition('p2')],
  zones: [
    ...house().zones.map((one) => ({ ...one, chime: true })),
    zone('5', 'perimeter', { partitions: ['p1', 'p2'] }),
  ],
});
const mirror = panelHouse({
  partitions: ['p1', 'p2'].map((id) => partition(id, { authority: 'panel', panel: 'main' })),
});
const log = pino({ level: 'silent' });

/** A rule for each class of event, that never cools down. */
const rules = eventClasses.map((of) =>
  ruleOptions.parse({ id: of, on: { class: of }, cool_down: '0s', play: { message: 'm' } }),
);

interface Call {
  readonly hush?: string;
  readonly event?: SiteEvent;
  readonly state?: string | undefined;
  readonly plays?: readonly unknown[];
}

/** Every call to the speakers that a decision brings about, and what rules make of it. */
function calls(input: Input, decision: Decision, numbers: { seq: number; hidden: number }): readonly Call[] {
  const made: Call[] = [];
  const numbered = numberEvents({
    ...{ effects: decision.effects, at: input.at, epoch: 1, idSpace: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11' },
    ...{ firstSeq: numbers.seq, hidden: numbers.hidden, encode: () => '', log },
  });
  numbers.seq += numbered.length;
  numbers.hidden += numbered.filter(({ silent }) => silent).length;
  tellSpeakers(
    {
      hush: (of) => void made.push({ hush: of }),
      decided(event, of) {
        const message = () => ({ id: 'm', key: 'm', name: 'm', sha256: 'x', category: 'custom' as const });
        const around = { timezone: 'UTC', speakers: [{ id: 'gate' }], message, played: new Map<string, number>() };
        made.push({ event, state: of?.state, plays: evaluate(rules, { event, partition: of, at: input.at }, around) });
      },
    },
    { input, decision, numbered },
  );
  return made;
}

const anyVerb = anyCommand({
  verb: fc.constantFrom('bypass', 'unbypass', 'test', 'end_test', 'arm', 'disarm', 'silence'),
  zone: fc.constantFrom('2', '12'),
  minutes: fc.constant(5),
}).map((command): Step => ({ do: 'command', command, ageMs: 0 }));

const longStory = (plan: SitePlan) =>
  fc
    .tuple(story(plan), fc.array(fc.oneof({ weight: 3, arbitrary: anyStep(plan) }, anyVerb, anyCall)))
    .map(([first, more]) => [...first, ...more]);

it('what a start finds is told to nobody who plays, though it is an event', () => {
  const input: Input = { kind: 'started', sameBoot: true, storeLost: true, at: stamp(0) };
  const decision = decide(engine, initialState(engine, stamp(0), { storeLost: true }), input);
  expect(decision.effects.filter(({ kind }) => kind === 'event')).toHaveLength(1);
  expect(calls(input, decision, { seq: 1, hidden: 0 })).toEqual([]);
});

describe.each([
  ['engine', engine],
  ['panel', mirror],
] as const)('safety 4: what the speakers are told and rules play, authority %s', (_, plan) => {
  it('is the same as without anything silent, by any story', () => {
    let [hidden, sounds] = [0, 0];
    const check = (steps: readonly Step[]) => {
      const [all, seen] = [
        { seq: 1, hidden: 0 },
        { seq: 1, hidden: 0 },
      ];
      for (const { input, before } of play(plan, steps).seen) {
        const decision = decide(plan, before, input);
        const made = calls(input, decision, all);
        const visible = visibleDecision(plan, before, { input, decision });
        if (visible === undefined) hidden += 1;
        else sounds += made.length;
        expect(made).toEqual(visible === undefined ? [] : loudCalls(visible.input, visible.decision, seen));
        const about = made.flatMap(({ event }) => (event === undefined ? [] : [event]));
        // The button is zone 12.
        expect(about.filter(({ zone }) => zone === '12')).toEqual([]);
        expect(about.filter(({ kind }) => silentKinds.some((one) => one === kind))).toEqual([]);
      }
    };
    fc.assert(fc.property(longStory(plan), check), { numRuns: 300 });
    expect(hidden).toBeGreaterThan(50);
    expect(sounds).toBeGreaterThan(200);
  });
});

/** The same without the silent events a decision may hold, by numbers that know of none. */
function loudCalls(input: Input, decision: Decision, numbers: { seq: number; hidden: number }): readonly Call[] {
  const effects = decision.effects.filter((effect) => effect.kind !== 'event' || effect.event.silent !== true);
  return calls(input, { ...decision, effects }, numbers);
}

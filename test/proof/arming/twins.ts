import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { pino } from 'pino';
import { type SiteState, siteView } from '#site/core/index.ts';
import { numberEvents } from '#site/events.ts';
import type { ArmingWord, SitePlan } from '#site/model/index.ts';
import { anyCommand, source } from '../../site/core/stories.ts';
import { type Core, core, type Decided, type History, Machine, play } from './machine.ts';
import { decisions, effectsOf, events, partitionIn, replies, shown, transitions } from './read.ts';
import { arms, type Crash, calmHouse, commands, crash, passes, type Step, signals, storyOf } from './steps.ts';

/** Invariants that compare two runs, or what comes after a run. */

/** What a site is afterwards: all but the memory of commands, of links and of what was held back. */
const outcome = ({ partitions, zones, troubles, timers, periods, silent, incidents }: SiteState) => ({
  ...{ partitions, zones, troubles, timers, periods, silent, incidents },
});
const last = (history: History): SiteState => {
  const entry = history.at(-1);
  if (entry === undefined) throw new Error('nothing happened');
  return entry.after;
};

/* I1 */

export interface Noisy {
  readonly plan: SitePlan;
  readonly steps: readonly { readonly step: Step; readonly noise: readonly Noise[] }[];
}
type Noise = 'repeat' | 'retained' | { readonly step: Step };

/** A duress code is never noise: it calls for help however old its command is (safety 1). */
const from = (client: string) =>
  anyCommand({
    id: fc.integer({ min: 100, max: 130 }).map((n) => `x-${n}`),
    code: fc.constantFrom('ok', 'none'),
    client: fc.constant(client),
  });
const noise: fc.Arbitrary<Noise> = fc.oneof(
  {
    weight: 1,
    arbitrary: from('late').map((command) => ({ step: { do: 'command' as const, command, ageMs: 700_001 } })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(from('far'), fc.constantFrom('cloud' as const, 'schedule' as const), fc.constantFrom('arm', 'disarm'))
      .map(([command, by, verb]) => ({ step: { do: 'older' as const, command: { ...command, source: by, verb } } })),
  },
  { weight: 2, arbitrary: fc.constantFrom('repeat' as const, 'retained' as const) },
  // What was undone since is what a repeat would do again.
  { weight: 3, arbitrary: fc.nat(5).map((nth) => ({ step: { do: 'repeat' as const, nth } })) },
);
/** What is sent again is noise by itself. A clock in doubt ages no command, so nothing is expired then; a lost store forgets which were answered. */
const isCertain = (step: Step): boolean =>
  step.do !== 'again' &&
  step.do !== 'repeat' &&
  !('clock' in step && step.clock === 'doubtful') &&
  !(step.do === 'crash' && step.storeLost === true);

export const noisy = (plan: SitePlan): fc.Arbitrary<Noisy> =>
  fc.tuple(storyOf(plan), fc.infiniteStream(fc.array(noise, { maxLength: 2 }))).map(([steps, noises]) => ({
    plan,
    steps: steps.filter(isCertain).map((step) => ({
      step: step.do === 'crash' ? { ...step, lost: 0, unanswered: 0 } : step,
      noise: noises.next().value ?? [],
    })),
  }));

/** Signals that tell a lasting level live: told again, or as a retained copy, they are nothing new. */
function isLevel(step: Step): step is Extract<Step, { do: 'signal' }> {
  if (step.do !== 'signal') return false;
  const { signal } = step;
  if (signal.kind === 'zone') return !signal.replay;
  return signal.kind === 'detection' ? !signal.pulse && !signal.replay : signal.kind !== 'refusal';
}

/** Of a camera edges are told: what begins again has ended unheard, and is another. */
const begins = (step: Step): boolean => step.do === 'signal' && step.signal.kind === 'detection' && step.signal.active;

function noiseAfter(step: Step, one: Noise): readonly Step[] {
  if (typeof one === 'object') return [one.step];
  const repeats = step.do === 'command' && step.ageMs >= 0 && step.command.code !== 'bad';
  if (one === 'repeat') return repeats || (isLevel(step) && !begins(step)) || step.do === 'tick' ? [step] : [];
  return isLevel(step) ? [{ ...step, signal: { ...step.signal, replay: true } as typeof step.signal }] : [];
}

/** I1: what is expired, repeated, retained, replayed or out of order changes nothing. */
export function noiseIsNothing({ plan, steps }: Noisy, under: Core = core): readonly string[] {
  const plain = play(
    plan,
    steps.map(({ step }) => step),
    under,
  );
  const loud = play(
    plan,
    steps.flatMap(({ step, noise: more }) => [step, ...more.flatMap((one) => noiseAfter(step, one))]),
    under,
  );
  const made = (history: History) => decisions(history).flatMap(transitions);
  return [
    ...(isDeepStrictEqual(outcome(last(loud)), outcome(last(plain))) ? [] : ['noise changed the site']),
    ...(isDeepStrictEqual(made(loud), made(plain)) ? [] : ['noise changed what happened']),
  ];
}

/* I5 */

export interface Cut {
  readonly plan: SitePlan;
  readonly steps: readonly Step[];
  readonly at: number;
  readonly crash: Crash;
}

/** From most to least safe; what is not known is treated as armed (safety 2). */
const safety: readonly (readonly ArmingWord[])[] = [
  ['triggered'],
  ['pending'],
  ['armed_away', 'armed_vacation', 'armed_custom_bypass', 'unknown'],
  ['armed_home', 'armed_night'],
  ['arming'],
  ['disarmed'],
];
export const rank = (word: ArmingWord | undefined): number =>
  safety.findIndex((words) => words.includes(word ?? 'disarmed'));

/**
 * Equal inputs: what a camera said in one moment, and the turn of a key, are told once and to nobody who has just
 * started; all else is told again, or still stands. Zone 21 is a camera's.
 */
const untold = ['21', '40', '41'];
const lasting = (plan: SitePlan) =>
  signals(plan).filter((step) => {
    if (step.do !== 'signal') return true;
    const { signal } = step;
    if (signal.kind === 'zone') return !signal.replay && !untold.includes(signal.zone);
    if (signal.kind === 'link') return signal.up;
    return signal.kind === 'detection' ? !signal.pulse && !signal.replay : signal.kind !== 'refusal';
  });

export const cut = (plan: SitePlan): fc.Arbitrary<Cut> =>
  fc.record({
    plan: fc.constant(plan),
    steps: fc
      .array(
        fc.oneof(
          { weight: 6, arbitrary: lasting(plan) },
          { weight: 5, arbitrary: commands },
          { weight: 3, arbitrary: passes },
        ),
        { minLength: 3, maxLength: 25, size: 'max' },
      )
      .map((steps): readonly Step[] => [...calmHouse(plan), arms, ...steps]),
    /** Steps from the end. */
    at: fc.nat(24),
    crash: crash({
      downMs: fc.constant(0),
      reboot: fc.constant(false),
      clock: fc.constant('synced'),
      resync: fc.constant(true),
    }),
  });

/** I5: a run that is cut at any write point ends where the uncut one does, or safer. */
export function endsNoLessSafe({ plan, steps, at, crash: end }: Cut, under: Core = core): readonly string[] {
  const quiet: Step[] = Array.from({ length: 4 }, () => ({ do: 'pass', ms: 120_000 }));
  const whole = last(play(plan, [...steps, ...quiet], under));
  const index = Math.max(calmHouse(plan).length, steps.length - at);
  const broken = play(plan, [...steps.slice(0, index), end, ...steps.slice(index), ...quiet], under);
  return plan.partitions.flatMap(({ id }) => {
    const [is, would] = [last(broken).partitions[id]?.state, whole.partitions[id]?.state];
    return rank(is) <= rank(would) ? [] : [`${id} is ${is} after the crash, and ${would} without`];
  });
}

/* I11 */

/** I11: whoever disarms under duress sees, and shows, what an ordinary code does, down to numbers and ids. */
export function duressIsInvisible(
  story: { plan: SitePlan; steps: readonly Step[] },
  under: Core = core,
): readonly string[] {
  const forced = story.steps.map(
    (step): Step =>
      step.do === 'command' && step.command.code === 'ok'
        ? { ...step, command: { ...step.command, code: 'duress' } }
        : step,
  );
  const [plain, duress] = [play(story.plan, story.steps, under), play(story.plan, forced, under)].map(decisions);
  if (plain === undefined || duress === undefined || plain.length !== duress.length) return ['one of them did more'];
  const [shownPlain, shownDuress] = [openAll(plain), openAll(duress)];
  return plain.flatMap((entry, index) =>
    isDeepStrictEqual(shownDuress[index], shownPlain[index]) ? [] : [`it shows: ${shown(entry)}`],
  );
}

/** What anybody but the auditor may see of decisions, with the numbers and ids that the controller gives events. */
function openAll(entries: readonly Decided[]) {
  let [row, hidden] = [1, 0];
  return entries.map((entry) => {
    const { plan, after, input, rules, effects } = entry;
    const numbered = numberEvents({
      ...{ effects, at: input.at, epoch: 1, idSpace, firstSeq: row, hidden, log },
      encode: () => '',
    });
    row += numbered.length;
    hidden += numbered.filter(({ silent }) => silent).length;
    const shownEffects = effects.flatMap((effect): object[] => {
      if (effect.kind === 'event') return effect.event.silent === true ? [] : [effect.event];
      if (effect.kind === 'audit') return effect.entry.visibility === 'auditor' ? [] : [effect.entry];
      return effect.kind === 'capture' ? [] : [effect];
    });
    return {
      ...siteView(plan, after, input.at, { epoch: 1, seq: row - 1 - hidden }),
      ...{ effects: shownEffects, events: numbered.filter(({ silent }) => !silent).map(({ event }) => event), rules },
    };
  });
}

const idSpace = '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11';
const log = pino({ level: 'silent' });

/* I14 */

/** I14: afterwards, whatever happened, somebody on the site with a good code disarms what the engine decides. */
export function codeDisarms(story: { plan: SitePlan; steps: readonly Step[] }, under: Core = core): readonly string[] {
  const machine = new Machine(story.plan, under);
  for (const step of story.steps) machine.step(step);
  const { plan } = machine;
  if (plan.securityType === 4) return [];
  return plan.partitions.flatMap(({ id }) => {
    // The disarm before may have been what another security type waited for.
    if (partitionIn(machine.plan, id)?.authority !== 'engine') return [];
    const first = given(machine, id, 'first');
    if (first.reply?.outcome !== 'superseded') return first.wrong;
    // It met the arming of another person (safety 5), and is given again within two seconds.
    machine.step({ do: 'pass', ms: 2_000 });
    return given(machine, id, 'again').wrong;
  });
}

function given(machine: Machine, id: string, nth: string) {
  const command = { verb: 'disarm', source: 'lan', client: 'hall', actor: 'anna', code: 'ok' } as const;
  machine.step({ do: 'command', command: { ...command, id: `${nth}-${id}`, partition: id, bodyHash: nth }, ageMs: 0 });
  const entry = machine.history.at(-1);
  const reply = entry?.what === 'decided' ? replies(entry).at(-1) : undefined;
  const state = entry?.after.partitions[id]?.state;
  const isElsewhere = partitionIn(machine.plan, id)?.authority !== 'engine';
  const done = (reply?.outcome === 'done' || reply?.outcome === 'already') && (state === 'disarmed' || isElsewhere);
  return { reply, wrong: done ? [] : [`${id} is ${state}: ${reply?.outcome} ${reply?.error?.code ?? ''}`] };
}

/* I9 */

export interface Bridges {
  readonly plan: SitePlan;
  readonly steps: readonly Step[];
}

/** I9: of two bridges that each own one partition of a panel, none ever writes the other's. */
export function eachWritesItsOwn({ plan, steps }: Bridges, under: Core = core): readonly string[] {
  return plan.partitions.flatMap(({ id }) => {
    const { schedules: _, ...rest } = plan;
    const own: SitePlan = {
      ...rest,
      partitions: plan.partitions.filter((one) => one.id === id),
      zones: plan.zones
        .filter(({ partitions }) => partitions.includes(id))
        .map((one) => ({ ...one, partitions: [id] })),
    };
    return decisions(play(own, steps, under)).flatMap((entry) => {
      const written = [
        ...transitions(entry).map(({ partition }) => partition),
        ...effectsOf(entry, 'panel').map(({ partition }) => partition),
        ...Object.keys(entry.after.partitions),
      ];
      return written.every((one) => one === id) ? [] : [`the bridge of ${id} writes ${written}: ${shown(entry)}`];
    });
  });
}

/* safety 1 */

/** Safety 1: afterwards, whatever happened, a fire that begins is one signalled alarm. */
export function fireIsAlarm(story: { plan: SitePlan; steps: readonly Step[] }, under: Core = core): readonly string[] {
  const machine = new Machine(story.plan, under);
  for (const step of story.steps) machine.step(step);
  const zone = (open: boolean) => ({ kind: 'zone', source, zone: '10', open, alarm: open, replay: false }) as const;
  for (const layer of ['bridge', 'device'] as const)
    machine.step({ do: 'signal', signal: { kind: 'link', source, layer, up: true } });
  machine.step({ do: 'signal', signal: zone(false) });
  machine.step({ do: 'signal', signal: zone(true) });
  const entry = machine.history.at(-1);
  const alarms =
    entry?.what === 'decided' ? events(entry).filter((one) => one.kind === 'fire' && one.signalToStation) : [];
  return alarms.length === 1 ? [] : [`the fire is ${alarms.length} alarms`];
}

/** The same inputs give the same states: what `siteward replay` stands on. */
export function sameAgain({ plan, steps }: { plan: SitePlan; steps: readonly Step[] }): readonly string[] {
  return isDeepStrictEqual(play(plan, steps), play(plan, steps)) ? [] : ['another history'];
}

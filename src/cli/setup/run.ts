import { describe, isCode, SitewardError } from '#errors.ts';
import { printable } from '../table.ts';
import { whatToDo } from './advice.ts';
import type { Noted } from './progress.ts';
import { ended, type Question } from './talk.ts';
import type { Context, Step } from './types.ts';
import { LeftOut, withWords, wordsText } from './words.ts';

/** How a step stands after it was looked at. */
export interface Outcome {
  readonly id: string;
  readonly title: string;
  /** `planned`: it would be done without --dry-run. `waiting`: another step comes first. `open`: something is missing. */
  readonly state: 'done' | 'skipped' | 'planned' | 'open' | 'waiting' | 'failed';
  /** What was found, done or is missing. */
  readonly words: string;
  /** Something was done in this run. */
  readonly did: boolean;
  /** A person wants to be asked again. */
  readonly isPutOff?: boolean;
  readonly later: string;
  readonly at: string;
}

export interface RunOptions {
  /** Only these steps. */
  readonly only?: readonly string[] | undefined;
  /** Steps that were skipped before are asked about again. */
  readonly again: boolean;
  readonly noted: (id: string) => Noted | undefined;
  /** Called after each step, before the next one begins. */
  readonly keep: (outcome: Outcome) => Promise<void>;
}

/** One step after the other. Throws `stopped` where the person ends it; every step before is kept by then. */
export async function runSteps(steps: readonly Step[], context: Context, options: RunOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const isReady = (id: string) =>
    outcomes.some((one) => one.id === id && ['done', 'skipped', 'planned'].includes(one.state));
  for (const step of steps) {
    const missing = step.needs.filter((id) => !isReady(id));
    // A dry run cannot look at what rests on more than lines of the configuration.
    const planned = outcomes.filter((one) => step.needs.includes(one.id) && isOnlyPlanned(one)).map(({ id }) => id);
    context.talk.say(`\n${step.title}`);
    const said =
      missing.length > 0
        ? { state: 'waiting' as const, words: `first: ${missing.join(', ')}`, did: false }
        : planned.length > 0
          ? { state: 'planned' as const, words: `looked at when this is done: ${planned.join(', ')}`, did: false }
          : await runStep(step, context, options);
    const { id, title, later } = step;
    const outcome: Outcome = { id, title, ...said, later, at: new Date().toISOString() };
    outcomes.push(outcome);
    context.talk.say(`  ${marks[outcome.state]}: ${printable(outcome.words)}${'hint' in said ? said.hint : ''}`);
    if (!['done', 'planned'].includes(outcome.state)) context.talk.say(`  later: ${later}`);
    await options.keep(outcome);
  }
  return outcomes;
}

const ofConfiguration: readonly string[] = ['site', 'panels', 'cameras', 'recorders', 'zones'];
const isOnlyPlanned = ({ id, state }: Outcome): boolean => state === 'planned' && !ofConfiguration.includes(id);

const marks: Readonly<Record<Outcome['state'], string>> = {
  done: 'done',
  skipped: 'left out',
  planned: 'would be done',
  open: 'open',
  waiting: 'waits',
  failed: 'FAILED',
};

/** Said where a step was left out before; it is no part of what is kept of it. */
const askedAgain = ' (--again asks once more)';

const doItNow: Question = {
  text: '  do it now? yes, skip (not wanted) or later (it is asked again the next time)',
  initial: 'yes',
  check: (typed) =>
    /^(y|yes)$/i.test(typed)
      ? undefined
      : 'yes does it; skip: not wanted, asked again with --again alone; later: nothing is done now, and it stays open',
};

type Said = Pick<Outcome, 'state' | 'words' | 'did' | 'isPutOff'>;

const putOff: Said = { state: 'open', words: 'put off', did: false, isPutOff: true };

async function runStep(
  step: Step,
  context: Context,
  { only, again, noted }: RunOptions,
): Promise<Said & { readonly hint?: string }> {
  const { talk } = context;
  try {
    const found = await step.isDone(context);
    if (found.isDone) return { state: 'done', words: found.words, did: false };
    const before = noted(step.id);
    if (only !== undefined && !only.includes(step.id))
      return { state: before?.state === 'skipped' ? 'skipped' : 'open', words: found.words, did: false };
    // Whoever gives answers may have new ones; a person is not asked twice.
    if (talk.isThere && before?.state === 'skipped' && !again)
      return { state: 'skipped', words: before.words.replaceAll(askedAgain, ''), did: false, hint: askedAgain };
    talk.say(`  found: ${printable(found.words)}`);
    const said = await asked(step, context);
    // Nobody was asked here: that there is no answer is no word of the person who has put it off.
    return !talk.isThere && said.state === 'skipped' && before?.state === 'later' ? putOff : said;
  } catch (error) {
    if (isCode(error, 'stopped')) throw ended();
    if (!(error instanceof SitewardError)) throw error;
    return { state: 'failed', words: reasonOf(error), did: false };
  }
}

const helpOf = ({ title, later }: Step): readonly string[] => [
  `This is the step "${title}". Without setup it is done so: ${later}`,
  'Enter takes what stands in brackets, or nothing. A password or code that is one of these words cannot be typed here.',
  wordsText,
];

/** A person who is there is asked again after what was refused, as often as he likes. */
async function asked(step: Step, given: Context): Promise<Said> {
  const talk = withWords(given.talk, helpOf(step));
  // Whatever the step asks, it asks so.
  const context: Context = Object.create(given, { talk: { value: talk } });
  const { dryRun } = context;
  for (;;) {
    try {
      const plan = await step.ask(context);
      if ('kind' in plan) return { state: plan.kind, words: plan.words, did: false };
      if (dryRun) return { state: 'planned', words: plan.would, did: false };
      talk.say(`  would: ${printable(plan.would)}`);
      for (const line of plan.values ?? []) talk.say(`    ${printable(line)}`);
      await talk.ask(doItNow);
      return { state: 'done', words: await plan.run(), did: true };
    } catch (error) {
      const left = error instanceof LeftOut ? error : await afterRefusal(error, talk);
      // The reason stays with the step.
      if (left?.how === 'later' && error instanceof SitewardError)
        return { ...putOff, state: 'failed', words: reasonOf(error) };
      const outcome = left === undefined ? undefined : leftOut(step, context, left);
      if (outcome !== undefined) return outcome;
    }
  }
}

/** Says what was refused. Undefined: once more. Throws what is no refusal. */
async function afterRefusal(error: unknown, talk: Context['talk']): Promise<LeftOut | undefined> {
  if (!(error instanceof SitewardError) || isCode(error, 'stopped') || !talk.isThere) throw error;
  talk.say(`  refused: ${printable(reasonOf(error))}`);
  try {
    await talk.ask(onceMore);
    return undefined;
  } catch (left) {
    if (!(left instanceof LeftOut)) throw left;
    return left;
  }
}

/** Undefined where the step cannot be left out: it is asked again. */
function leftOut({ keeps }: Step, context: Context, { how }: LeftOut): Said | undefined {
  if (how === 'later') return putOff;
  const why = keeps?.(context);
  if (why === undefined) return { state: 'skipped', words: 'not wanted', did: false };
  context.talk.say(`  this step cannot be left out: ${why}; later puts it off`);
  return undefined;
}

const reasonOf = (error: SitewardError): string => `${describe(error)} (${error.code})${whatToDo(error)}`;

const onceMore: Question = {
  text: '  ask this step once more? yes, skip or later',
  initial: 'yes',
  check: (typed) => (/^(y|yes)$/i.test(typed) ? undefined : 'yes, skip or later'),
};

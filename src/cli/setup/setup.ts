import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { applyChanges, type Change, freeSecretFile, secretFiles, secretFolder, writeSecrets } from '#config/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { openAccess } from '../cloud/access.ts';
import { putInForce } from '../config-in-force.ts';
import { socketOf } from '../config-socket.ts';
import { openControl } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { inTime } from '../in-time.ts';
import { fileFailure, refuseTaken, unusable, withFile } from '../named-file.ts';
import { openSiteFile, type SiteFile, secretOwner, siteFileOf, writeSiteFile } from '../site-file.ts';
import { printable } from '../table.ts';
import { openToOthers, readAnswers } from './answers.ts';
import { apiKeyStep } from './api-keys.ts';
import { cloudSiteStep } from './cloud-site.ts';
import { activationStep, monitoringStep } from './cloud-steps.ts';
import { cameraStep, zoneStep } from './devices.ts';
import { isOfFirstDay } from './first-day.ts';
import { keyStep, tokenStep } from './key.ts';
import { networkStep } from './network.ts';
import { panelStep } from './panels.ts';
import { daemonStep, userStep } from './people.ts';
import { keepProgress, type Noted, type Progress, readProgress } from './progress.ts';
import { recorderStep } from './recorders.ts';
import { registerStep } from './register.ts';
import { type Outcome, runSteps } from './run.ts';
import { siteStep } from './site.ts';
import { speakerStep } from './speakers.ts';
import { type Talk, talkOn } from './talk.ts';
import { testStep } from './test-event.ts';
import type { Context, Step } from './types.ts';
import { LeftOut, withWords, wordsText } from './words.ts';

export interface SetupOptions {
  readonly config: string;
  readonly socket: string;
  /** Else it is that of the configuration, as soon as there is one. */
  readonly isSocketNamed: boolean;
  readonly answers?: string;
  readonly set: readonly string[];
  readonly nonInteractive: boolean;
  readonly only: readonly string[];
  readonly again: boolean;
  readonly dryRun: boolean;
  readonly report?: string;
  readonly force: boolean;
  readonly json: boolean;
}

/** In the order in which a technician does them. */
export const steps: readonly Step[] = [
  siteStep,
  keyStep,
  networkStep,
  tokenStep,
  cloudSiteStep,
  panelStep,
  cameraStep,
  recorderStep,
  zoneStep,
  speakerStep,
  daemonStep,
  userStep,
  apiKeyStep,
  registerStep,
  monitoringStep,
  activationStep,
  testStep,
];

/**
 * `siteward setup`: looks at each step, does what is to be done, and ends with a list of what is open. Every write is whole and every
 * step looks for itself, so that it may be ended at any moment and be run again. 1 while something is open.
 */
export async function setup(options: SetupOptions): Promise<ExitCode> {
  const config = resolve(options.config);
  const unknown = options.only.find((id) => !steps.some((step) => step.id === id));
  if (unknown !== undefined)
    throw new SitewardError(
      'request_invalid',
      `there is no step ${unknown}; there is ${steps.map(({ id }) => id).join(', ')}`,
    );
  // Before anybody is asked for an hour.
  if (!existsSync(config)) await mustHaveFolder(config, options.dryRun);
  if (options.report !== undefined && !options.dryRun) await refuseTaken(resolve(options.report), options.force);
  const answers = await readAnswers(options.answers, options.set);
  const talk = talkOn({ interactive: !options.nonInteractive, json: options.json });
  for (const warning of await openToOthers(answers)) talk.say(`warning: ${printable(warning)}`);
  if (talk.isThere) talk.say(wordsText);
  let progress: Progress = { version: 1, steps: {} };
  const load = async () => {
    if (existsSync(config)) progress = await readProgress(openSiteFile(config).settings.store.dir);
  };
  await load();
  const context = contextOf(
    { ...options, config },
    { answers, talk, wasDone: (id) => (options.again && options.only.includes(id) ? undefined : doneIn(progress, id)) },
  );
  const outcomes = await runSteps(steps, context, {
    only: options.only.length === 0 ? undefined : options.only,
    again: options.again,
    noted: (id) => progress.steps[id],
    async keep(outcome) {
      if (options.json) console.log(JSON.stringify(shownOutcome(outcome)));
      if (options.dryRun || !context.hasFile()) return;
      progress = noted(progress, outcome);
      const site = context.site();
      await keepProgress(site.settings.store.dir, progress, await secretOwner(site));
    },
  });
  summary(outcomes, context);
  const none = options.dryRun
    ? 'a dry run writes none'
    : context.hasFile()
      ? undefined
      : `there is no site to tell of before ${config} is begun (step site)`;
  if (none !== undefined && options.report !== undefined)
    talk.say(`no report is written to ${printable(options.report)}: ${none}`);
  const out = none === undefined ? (options.report ?? (await askReport(talk, options.force))) : undefined;
  if (out !== undefined && out !== '') {
    const { writeReport } = await import('./report.ts');
    await writeReport(context, outcomes, { out: resolve(out), force: options.force });
  }
  const wanted = outcomes.filter(({ id }) => options.only.length === 0 || options.only.includes(id));
  return wanted.every(isOver) ? exitCodes.ok : exitCodes.failure;
}

/** Where the first step begins the configuration. Throws `file_unusable`. */
async function mustHaveFolder(config: string, dryRun: boolean): Promise<void> {
  const folder = dirname(config);
  await access(folder, dryRun ? constants.F_OK : constants.W_OK).catch((error: unknown) => {
    const failure = fileFailure(folder, error);
    if (!(failure instanceof SitewardError)) throw failure;
    throw unusable(`${config} cannot be begun: ${failure.message}`, error);
  });
}

const reportHelp = [
  'The report is one file to be read or printed: what the site is, what each step came to, what is missing, pictures of cameras.',
  'Without setup it is written by "siteward setup --report FILE". Nothing, skip or later: no report now.',
];

async function askReport(plain: Talk, force: boolean): Promise<string | undefined> {
  const talk = withWords(plain, reportHelp);
  for (;;) {
    const out = await talk
      .ask({ text: '\nfile for the commissioning report (HTML); nothing for none' })
      .catch((error: unknown) => {
        if (!(error instanceof LeftOut)) throw error;
        return undefined;
      });
    if (out === undefined || out === '') return undefined;
    try {
      await refuseTaken(resolve(out), force);
      return out;
    } catch (error) {
      if (!isCode(error, 'file_unusable')) throw error;
      talk.say(`  ${printable(describe(error))}`);
    }
  }
}

const isOver = ({ state }: Outcome): boolean => ['done', 'skipped', 'planned'].includes(state);

const doneIn = (progress: Progress, id: string): string | undefined => {
  const known = progress.steps[id];
  return known?.state === 'done' ? known.words : undefined;
};

/** What stands open is looked at anew each time; that it was put off is known until it is done or left out. */
function noted(progress: Progress, { id, state, words, at, did, isPutOff = false }: Outcome): Progress {
  const { [id]: before, ...others } = progress.steps;
  const keep = (one: Noted): Progress => ({ ...progress, steps: { ...others, [id]: one } });
  if (isPutOff) return keep({ state: 'later', at, words: words.slice(0, 2000) });
  if (state !== 'done' && state !== 'skipped')
    return before?.state === 'later' ? progress : { ...progress, steps: others };
  // When it was done counts, not when it was last found so.
  const when = state === 'done' && before?.state === 'done' && !did ? before.at : at;
  return keep({ state, at: when, words: words.slice(0, 2000) });
}

const shownOutcome = ({ id, title, state, words, did, later }: Outcome) => ({
  step: id,
  title,
  state,
  words,
  did,
  later,
});

function summary(outcomes: readonly Outcome[], { talk, config }: Context): void {
  const left = outcomes.filter((one) => !isOver(one));
  const ids = left.map(({ id }) => id).join(', ');
  const written = existsSync(config) ? '' : '; nothing was written yet';
  talk.say(
    left.length === 0
      ? '\nNothing is open. Whether all of it works tells "siteward doctor".'
      : `\n${left.length} of ${outcomes.length} steps are open: ${ids}\nsiteward setup goes on there${written}`,
  );
}

function contextOf(
  { config, dryRun, ...asked }: Pick<SetupOptions, 'config' | 'socket' | 'isSocketNamed' | 'dryRun'>,
  given: Pick<Context, 'answers' | 'talk' | 'wasDone'>,
): Context {
  let pretended: SiteFile | undefined;
  const site = () => pretended ?? openSiteFile(config);
  const socket = () => (asked.isSocketNamed ? undefined : socketOf(config)) ?? asked.socket;
  return {
    pretend(text) {
      pretended = siteFileOf(config, text);
    },
    ...{ config, dryRun, site, ...given },
    get socket() {
      return socket();
    },
    hasFile: () => existsSync(config) && !isOfFirstDay(config),
    async change(changes: readonly Change[], { quiet = false } = {}) {
      const before = site();
      const text = applyChanges(before.text, changes);
      if (text !== before.text) await writeSiteFile(before, text, { backup: true });
      if (!quiet) await putInForce(site(), socket());
    },
    keepSecret: (name, text) => keepSecret(site(), name, text),
    async withCloud(work) {
      await using access = openAccess({ config });
      return await inTime(cloudMs, (signal) => work(access, signal));
    },
    async withDaemon(work) {
      await using control = openControl(socket());
      return await inTime(daemonMs, (signal) => work(control, signal));
    },
  };
}

const cloudMs = 60_000;
const daemonMs = 15_000;

async function keepSecret(site: SiteFile, name: string, text: string): Promise<{ readonly file: string }> {
  const folder = secretFolder(site.file, site.text);
  const path = await freeSecretFile(folder, name, secretFiles(site.text), text);
  const owner = await secretOwner(site);
  await withFile(path, () => writeSecrets([{ path, text }], owner));
  return { file: path };
}

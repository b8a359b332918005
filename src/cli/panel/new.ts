import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { profileFolders } from '#box/folders.ts';
import type { Settings } from '#config/index.ts';
import {
  type Compiled,
  catalogue,
  compileProfile,
  createObservations,
  createTraffic,
  type Draft,
  draftProfile,
  emptyMemory,
  interpret,
  type Observations,
  type Phase,
  type Profile,
  type Reading,
  suggestSite,
  type Traffic,
  verdictOf,
} from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { sleep } from '#lib/wait.ts';
import { hiddenTerminal } from '../ask-code.ts';
import { docPage } from '../doc-page.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable } from '../table.ts';
import { type BrokerOptions, brokerAccess } from './broker.ts';
import { overhear } from './learn.ts';
import { linesFor, siteSoFar } from './site.ts';
import { percent } from './text.ts';

export interface NewOptions extends BrokerOptions {
  readonly id: string;
  readonly seconds: number;
  readonly force: boolean;
}

/** What the bridge tells late still belongs to what was done (milliseconds). */
const settleMs = 2000;
/** How often a step is asked for again when nothing changed. */
const tries = 2;

const steps: readonly (readonly [phase: Phase, ask: string])[] = [
  ['opened', 'Open ONE door or window that the panel watches, leave it open, and press Enter'],
  ['closed', 'Close it again, and press Enter'],
  ['armed', 'Arm the panel away, wait until the exit delay is over, and press Enter'],
  ['disarmed', 'Disarm the panel, and press Enter'],
];

/**
 * `siteward panel new ID`: a first profile for a bridge that no preset knows. Throws `no_terminal` where nobody can be asked.
 * 1 when neither a door nor a partition was found; then nothing is written.
 */
export async function newProfile(options: NewOptions): Promise<ExitCode> {
  const { id, config } = options;
  const file = fileOf(options);
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw nobody();
  const { connect, settings } = brokerAccess(options);
  const entries = catalogue(profileFolders(config));
  const [traffic, observations] = [createTraffic(), createObservations()];
  const stop = new AbortController();
  const heard = overhear({
    ...{ connect, entries, traffic, signal: stop.signal },
    heard: (message) => observations.take(message),
  });
  try {
    // A broker that cannot be reached at all ends the questions; one that is lost in between is told and taken up again.
    await Promise.race([ask({ observations, options, url: connect.url, signal: stop.signal }), heard]);
  } finally {
    stop.abort(new SitewardError('stopped', 'done'));
    await heard.catch(() => {});
  }
  const draft = draftProfile({
    id,
    title: `${id}, written by siteward panel new`,
    watched: observations.list(),
  });
  return await keep({ draft, file, traffic, settings, options });
}

/** Where the profile goes. Throws when there is one already, also among the presets. */
function fileOf({ id, config, force }: NewOptions): string {
  const [own = '', shipped = ''] = profileFolders(config);
  if (existsSync(join(shipped, `${id}.json`)))
    throw new SitewardError('request_invalid', `${id} is the id of a preset; take another one`);
  const file = join(own, `${id}.json`);
  if (existsSync(file) && !force)
    throw new SitewardError('request_invalid', `${file} is there already; take another id, or replace it with --force`);
  return file;
}

async function ask(given: {
  readonly observations: Observations;
  readonly options: NewOptions;
  readonly url: string;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { observations, options, url, signal } = given;
  console.error(`listening on ${url} for ${options.seconds} s; leave doors and panel as they are`);
  await sleep(options.seconds * 1000, signal);
  for (const [phase, question] of steps) {
    observations.begin(phase);
    for (let turn = 1; ; turn += 1) {
      await enter(question);
      await sleep(settleMs, signal);
      if (observations.changed(phase) || turn === tries) break;
      console.error('Nothing changed on the broker. Is the bridge running? Do it once more.');
    }
  }
}

const nobody = () =>
  new SitewardError('no_terminal', 'this asks you to open a door and to arm the panel: run it on a terminal');

/** Waits for Enter. The terminal is taken for the question only, so that Ctrl-C ends the waiting in between as usual. */
async function enter(question: string): Promise<void> {
  using terminal = hiddenTerminal();
  if (terminal === undefined) throw nobody();
  await terminal.ask(question);
}

async function keep(given: {
  readonly draft: Draft;
  readonly file: string;
  readonly traffic: Traffic;
  readonly settings: Settings | undefined;
  readonly options: NewOptions;
}): Promise<ExitCode> {
  const { draft, file, traffic, settings, options } = given;
  for (const line of draft.found) console.log(printable(`found    ${line}`));
  for (const line of draft.missing) console.log(printable(`missing  ${line}`));
  const { profile } = draft;
  if (profile === undefined) {
    console.error(
      `siteward: no profile was written. Look at what the bridge says with another MQTT client, and see "A profile" in ${docPage('panels.md')}`,
    );
    return exitCodes.failure;
  }
  await write(file, `${JSON.stringify(profile, null, 2)}\n`, options.force);
  console.log(printable(`\nwritten  ${file}`));
  const { compiled, readings, line } = dryRun(profile, traffic);
  console.log(line);
  // Only what is new: numbers, partitions and panels of the configuration stay what they are.
  const bridge = { id: profile.id, vars: profile.vars, changed: {}, compiled, readings };
  for (const text of linesFor(suggestSite([bridge], siteSoFar(settings)), settings)) console.log(text);
  console.log(`Look at it live: siteward panel watch --profile ${profile.id}`);
  return exitCodes.ok;
}

/** Everything that was heard once more, through the profile as it is now. */
function dryRun(
  profile: Profile,
  traffic: Traffic,
): { compiled: Compiled; readings: readonly Reading[]; line: string } {
  const compiled = compileProfile(profile);
  const readings: Reading[] = [];
  let [understood, not, silent] = [0, 0, 0];
  for (const message of traffic.list()) {
    const result = interpret(compiled, emptyMemory(), message);
    const verdict = verdictOf(result);
    readings.push(...result.readings);
    if (verdict === 'understood') understood += 1;
    else if (verdict === 'silent') silent += 1;
    else if (verdict !== 'unmatched') not += 1;
  }
  const line = `tried    on what was heard: ${understood} different messages understood, ${not} not (${percent(understood, understood + not)}), ${silent} say nothing about the panel`;
  return { compiled, readings, line };
}

/** The daemon reads it under another user; there is no secret in it. A file that is there is replaced as a whole. */
async function write(file: string, text: string, force: boolean): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const path = force ? `${file}.${randomBytes(4).toString('hex')}.part` : file;
  const handle = await open(path, 'wx', 0o644);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  if (force) await rename(path, file);
}

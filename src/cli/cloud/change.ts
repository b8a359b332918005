import { isObject, type Management, rowsOf } from '#cloud/client/index.ts';
import type { Dialect } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import { typed } from '../consent.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { inTime } from '../in-time.ts';
import { jsonLine, printable, table } from '../table.ts';
import { openAccess } from './access.ts';
import { readable } from './api-output.ts';
import { type Noted, noting } from './note.ts';

/** What every verb takes that speaks to the cloud for the site of the configuration. */
export interface CloudOptions {
  readonly config: string;
  readonly timeout: number;
  readonly json: boolean;
}

export interface ChangeOptions extends CloudOptions {
  readonly dryRun: boolean;
  /** The typed name, for what cannot be undone. */
  readonly yes?: string;
  /** Of the daemon, which writes the audit log. */
  readonly socket: string;
}

export interface AtCloud {
  readonly manage: Management;
  readonly dialect: Dialect;
  readonly dealer: { readonly dealerId: string };
  readonly place: { readonly dealerId: string; readonly siteId: string };
  /** By which schedules run here. */
  readonly timezone: string;
  /** For what is read first; ends with the time of the verb. */
  readonly signal: AbortSignal;
}

/** Runs `work` with the credentials and the site of the configuration. Throws `config_*`, `secret_unreadable` and `cloud_*`. */
export async function atCloud(options: CloudOptions, work: (at: AtCloud) => Promise<ExitCode>): Promise<ExitCode> {
  await using access = openAccess(options);
  const { site, manage, dialect } = access;
  const dealerId = site?.dealer_id;
  if (site === undefined || dealerId === undefined)
    throw new SitewardError('config_invalid', 'site.dealer_id is missing: it says whose site this is in the cloud');
  const dealer = { dealerId };
  const at = { manage, dialect, dealer, place: { dealerId, siteId: site.id }, timezone: site.timezone };
  return await within(options, (signal) => work({ ...at, signal }));
}

const within = <T>({ timeout }: CloudOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  inTime(timeout * 1000, work, '; --timeout gives it longer');

/** Prints what was read. */
export function show(value: unknown, { json }: CloudOptions): ExitCode {
  console.log(json ? jsonLine(value) : readable(value));
  return exitCodes.ok;
}

/** What came of a change, with its ids as the service writes them: as a list of the same shows them. */
export function asListed({ value, raw }: { readonly value: object; readonly raw: unknown }): Members {
  const wrapped = isObject(raw) ? raw.data : undefined;
  const rows = [raw, wrapped, ...rowsOf(raw)].filter(isObject);
  const isId = ([name]: readonly [string, unknown]) => name.endsWith('_id');
  const ids = Object.entries(value).filter(isId);
  const told = rows.find((row) => ids.every(([name, id]) => String(row[name]) === String(id))) ?? {};
  return { ...value, ...Object.fromEntries(Object.entries(told).filter(isId)) };
}

export type Members = Readonly<Record<string, unknown>>;

interface NamedSite {
  readonly site_id: string;
  readonly name?: string | undefined;
}

export interface Change {
  /** What is done, as a sentence begins: "delete the site". */
  readonly what: string;
  /** What it is done to, with its name. */
  readonly target: string;
  /** Members with what they are now; undefined where nothing is known of it yet. */
  readonly from?: Members;
  readonly to?: Members;
  /** Only for what cannot be undone: what is lost, and the site, whose name is to be typed, or its id where it has none. */
  readonly permanent?: { readonly loses: string; readonly site: NamedSite };
  /** What the audit log of this box tells of it. */
  readonly noted: Noted;
  /** The id of what was made. */
  readonly madeId?: (shown: unknown) => string;
  /** Resolves with what to show. Its time begins when it does: a name may be typed before. */
  act(signal: AbortSignal): Promise<unknown>;
  /** What was done in words, instead of what `act` gave. */
  readonly said?: (shown: unknown) => string;
  /** Said after it was done. */
  readonly after?: (shown: unknown) => string | undefined;
  /** Why some of it was not done, said one by one. */
  readonly undone?: (shown: unknown) => readonly string[];
}

/** Shows the plan, asks for the name where it cannot be undone, does it, and shows what came of it. `--dry-run` ends with the plan. */
export async function carryOut(change: Change, options: ChangeOptions): Promise<ExitCode> {
  const members = differences(change);
  const plan = {
    plan: change.what,
    target: change.target,
    changes: Object.fromEntries(members.map(([name, from, to]) => [name, { from, to }])),
    ...(change.permanent !== undefined && { permanent: change.permanent.loses }),
  };
  const isSo = change.to !== undefined && members.length === 0;
  if (options.dryRun && options.json) console.log(JSON.stringify({ ...plan, dry_run: true }));
  else if (options.dryRun && isSo) console.log('it is so already; nothing would be sent');
  else if (options.dryRun) console.log(`${planText(change, members)}\nnothing was sent (--dry-run)`);
  if (options.dryRun) return exitCodes.ok;
  if (isSo) {
    if (options.json) console.log(JSON.stringify({ ...plan, done: false }));
    else console.log('it is so already; nothing was sent');
    return exitCodes.ok;
  }
  if (!options.json) console.error(planText(change, members));
  const { permanent } = change;
  if (permanent !== undefined && !(await isMeant(permanent.site, options.yes))) return exitCodes.usage;
  const done = await noted(change, options, members);
  if (done === undefined && options.json) console.log('{}');
  else if (done === undefined) console.log('done');
  else if (change.said !== undefined && !options.json) console.log(change.said(done));
  else show(done, options);
  const more = change.after?.(done);
  if (more !== undefined) console.error(`siteward: ${more}`);
  const undone = change.undone?.(done) ?? [];
  for (const why of undone) console.error(`siteward: ${printable(why)}`);
  return undone.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/** Does it, and has it in the audit log whatever came of it. */
async function noted(change: Change, options: ChangeOptions, members: readonly Difference[]): Promise<unknown> {
  const { madeId } = change;
  const names = members.map(([name]) => name);
  return await noting(
    options.socket,
    { ...change.noted, members: names, ...(madeId !== undefined && { madeId }) },
    () => within(options, (signal) => change.act(signal)),
  );
}

/** One word for the hint, for what is typed and for --yes; never none, which Enter alone would be. */
async function isMeant({ name = '', site_id: id }: NamedSite, yes: string | undefined): Promise<boolean> {
  const word = printable(name) || id;
  const answer = yes === undefined ? await typed('This cannot be undone.', word) : yes.trim() === word ? 'yes' : 'no';
  if (answer === 'nobody to ask') console.error(`siteward: this cannot be undone; say --yes "${word}" if it is meant`);
  if (answer === 'no') console.error(`siteward: that is not "${word}"; nothing was changed`);
  return answer === 'yes';
}

type Difference = readonly [name: string, from: unknown, to: unknown];

function differences({ from = {}, to = {} }: Pick<Change, 'from' | 'to'>): Difference[] {
  return Object.entries(to)
    .filter(([name, value]) => value !== undefined && !isSame(from[name], value))
    .map(([name, value]) => [name, from[name] ?? null, value]);
}

/** Ids are text in one place and a number in another. */
const isSame = (a: unknown, b: unknown): boolean => plain(a) === plain(b);
const plain = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');

const planText = ({ what, target, permanent }: Change, members: readonly Difference[]): string =>
  [
    `${what}: ${printable(target)}`,
    ...(members.length === 0
      ? []
      : [
          table(
            members.map(([name, from, to]) => [name, from === null ? '' : `${said(from)} ->`, said(to)]),
            '  ',
          ),
        ]),
    ...(permanent === undefined ? [] : [`  for good: ${permanent.loses}`]),
  ].join('\n');

const said = (value: unknown): string =>
  value === null || value === '' ? '(nothing)' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** Only what differs from what the cloud has: nothing else is sent. */
export const changedMembers = (from: Members, to: Members): Members =>
  Object.fromEntries(differences({ from, to }).map(([name, , value]) => [name, value]));

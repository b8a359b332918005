import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { kindOf, notTestable, numberIn } from '../test/conformance/numbers.ts';

const help = `npm run conformance -- [options]

Runs the conformance suite, by default against a sandbox that it starts itself.

where
  --base-url URL              base address of the service
  --auth-url URL              token server of event ingestion; the base address when absent
  --ext-url URL               base address of the audio messages; the base address when absent
  --audience TEXT             the aud of assertions; the token server when absent
  --no-control                use no control path, also when there is one
what
  --only LETTERS              sections of the checklist, such as L or C,D,E
  --allow-actions             arm, play, send a guard; without it only a service with a control path is asked for these
with, where there is no control path (secrets by the name of an environment variable)
  --partner-token-env NAME  --user-token-env NAME  --event-token-env NAME  --api-key-env NAME
  --client-id ID  --client-secret-env NAME          client credentials
  --event-client-id ID  --event-key-file FILE       signed assertions, PEM
  --dealer ID                 a connected dealer; sites are made in it, and deleted at the end
  --site ID  --account-reference REF  --device ID  --partition ID

Exit status: 0 when nothing failed, 1 when a rule failed or tests could not run, 2 for wrong options.`;

const root = join(import.meta.dirname, '..');
const folder = join('test', 'conformance');

const texts = [
  'base-url',
  'auth-url',
  'ext-url',
  'audience',
  'partner-token-env',
  'user-token-env',
  'event-token-env',
  'api-key-env',
  'client-id',
  'client-secret-env',
  'event-client-id',
  'event-key-file',
  'dealer',
  'site',
  'account-reference',
  'device',
  'partition',
  'only',
] as const;
const switches = ['no-control', 'allow-actions', 'help'] as const;

interface TestResult {
  readonly title: string;
  readonly status: string;
  readonly failureMessages?: readonly string[];
  readonly meta?: { readonly reason?: string };
}

interface FileResult {
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly TestResult[];
}

interface Report {
  readonly testResults: readonly FileResult[];
}

type Options = Readonly<Record<string, string | boolean | undefined>>;

function main(args: readonly string[]): number {
  const options = read(args);
  if (typeof options === 'string') {
    console.error(`${options}\n\n${help}`);
    return 2;
  }
  if (options.help === true) {
    console.log(help);
    return 0;
  }
  const files = filesOf(typeof options.only === 'string' ? options.only : 'A-L');
  if (files.length === 0) {
    console.error('--only takes letters of sections, A to L, such as L or C,D,E');
    return 2;
  }
  return summary(run(files, environment(options)));
}

function read(args: readonly string[]): Options | string {
  const all = [
    ...texts.map((name) => [name, { type: 'string' as const }] as const),
    ...switches.map((name) => [name, { type: 'boolean' as const }] as const),
  ];
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(all) }).values as Options;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The files of the sections. The rules of a section are in the files that begin with its letter. */
function filesOf(only: string): string[] {
  const letters = only === 'A-L' ? 'abcdefghijkl' : only.toLowerCase().replaceAll(/[ ,]/g, '');
  const known = readdirSync(join(root, folder)).filter((name) => /^[a-l]-.*\.test\.ts$/.test(name));
  if (/[^a-l]/.test(letters)) return [];
  return known.filter((name) => letters.includes(name.charAt(0))).map((name) => join(folder, name));
}

/** Options become variables of the suite; of secrets only the name goes along. */
function environment(options: Options): Record<string, string> {
  const set = Object.entries(options).filter(([name, value]) => value !== undefined && name !== 'only');
  return Object.fromEntries(
    set.map(([name, value]) => [
      `CONFORMANCE_${name.toUpperCase().replaceAll('-', '_')}`,
      value === true ? 'yes' : String(value),
    ]),
  );
}

/** Runs vitest; against an address that was given, one file after the other, since they move its clock. */
function run(files: readonly string[], env: Readonly<Record<string, string>>): Report {
  const temporary = mkdtempSync(join(tmpdir(), 'siteward-conformance-'));
  const out = join(temporary, 'report.json');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=json', `--outputFile.json=${out}`];
  const serial = env.CONFORMANCE_BASE_URL === undefined ? [] : ['--no-file-parallelism'];
  try {
    spawnSync(process.execPath, [vitest, 'run', ...reporters, ...serial, ...files], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...env },
    });
    return JSON.parse(readFileSync(out, 'utf8')) as Report;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

const outcomes = ['failed', 'skipped', 'passed'] as const;
type Outcome = (typeof outcomes)[number];

/** A number has failed when one of its tests has, and passed when all that ran did and at least one ran. */
function summary(report: Report): number {
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const byNumber = Map.groupBy(tests, (test) => numberIn(test.title) ?? test.title);
  const numbers = [...byNumber].toSorted(([a], [b]) => a.localeCompare(b));
  const by = (outcome: Outcome) =>
    numbers.filter(([, group]) => outcomeOf(group) === outcome).map(([number]) => number);
  for (const test of tests) {
    if (test.status === 'failed') console.log(`failed   ${test.title}\n         ${reasonOf(test)}`);
  }
  for (const test of tests) {
    if (test.status !== 'failed' && test.status !== 'passed') {
      console.log(`skipped  ${test.title}\n         ${test.meta?.reason ?? 'its file did not run'}`);
    }
  }
  for (const outcome of outcomes.toReversed()) console.log(`\n${outcome}:${listed(by(outcome))}`);
  console.log(`\nnot testable from outside:`);
  for (const [number, reason] of notTestable) console.log(`  ${number}  ${reason}`);
  const broken = report.testResults.filter(isBroken);
  for (const file of broken) console.log(`\nnot run: ${file.message}`);
  const count = (outcome: Outcome) => by(outcome).length;
  console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
  return count('failed') > 0 || broken.length > 0 || tests.length === 0 ? 1 : 0;
}

/** One that failed without a failed test: what comes before its tests went wrong, so that all of them were skipped. */
const isBroken = ({ status, assertionResults }: FileResult): boolean =>
  status === 'failed' && !assertionResults.some((test) => test.status === 'failed');

function outcomeOf(group: readonly TestResult[]): Outcome {
  if (group.some((test) => test.status === 'failed')) return 'failed';
  return group.some((test) => test.status === 'passed') ? 'passed' : 'skipped';
}

const reasonOf = (test: TestResult): string =>
  (test.failureMessages?.[0] ?? '').split('\n').slice(0, 2).join(' ').slice(0, 400);

/** Numbers by kind: a failed G is a service that chose otherwise, a failed T one that is not as it is specified. */
function listed(numbers: readonly string[]): string {
  if (numbers.length === 0) return ' none';
  const groups = Map.groupBy(numbers, (number) => kindOf.get(number) ?? '?');
  return [...groups].map(([kind, members]) => `\n  ${kind}  ${members.join(' ')}`).join('');
}

process.exitCode = main(process.argv.slice(2));

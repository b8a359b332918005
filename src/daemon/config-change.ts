import { otherProblems } from '#box/other-problems.ts';
import { readKey } from '#cloud/client/index.ts';
import {
  applyChanges,
  type Change,
  changedSections,
  checkForm,
  checkText,
  configOf,
  fixedChanges,
  formatPath,
  newOddNames,
  type OtherProblem,
  type PatchLine,
  type Problem,
  parseConfig,
  patchOf,
  problemText,
  type SecretFile,
  secretFiles,
  shownPath,
  unusedSecrets,
} from '#config/index.ts';
import { describe, type ErrorCode, type Issue, SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { type SecretSources, secretSources } from '#lib/secret-ref.ts';
import { guardProblems } from './config-guard.ts';
import { type GivenSecret, takeSecrets } from './given-secrets.ts';

/** What is to be made of the configuration, as the thread that judges it is told. */
export interface ChangeWish {
  readonly changes: readonly Change[];
  /** The file as it is. */
  readonly text: string;
  /** The text in force. */
  readonly inForce: string;
  readonly configPath: string;
}

/** A change that would be good. */
export interface ChangeJudged {
  readonly text: string;
  readonly sections: readonly string[];
  readonly patch: readonly PatchLine[];
  /** To be written before the text is. */
  readonly secrets: readonly SecretFile[];
  /** Of siteward's own, and of no use once the text is in force. */
  readonly unused: readonly string[];
}

/** Or what is wrong with it. */
export interface ChangeRefused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly issues: readonly Issue[];
}

/** Problems that are told; who mends those sees the others next. */
const shown = 100;

/** Reads what the text names and writes nothing. Never throws for what is wrong with the wish. */
export async function judgeChange(wish: ChangeWish): Promise<ChangeJudged | ChangeRefused> {
  try {
    return await judge(wish);
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return { code: error.code, message: error.message, issues: error.issues };
  }
}

async function judge({ changes, text, inForce, configPath }: ChangeWish): Promise<ChangeJudged> {
  const before = checkForm(text).config;
  if (before === undefined)
    throw new SitewardError(
      'config_invalid',
      `${configPath} has errors already, which are mended there first: "siteward check" lists them`,
    );
  const taken = await takeSecrets(changes, { file: configPath, text });
  const next = applyChanges(text, taken.changes);
  const { value: written } = parseConfig('', next);
  const wrong = (issues: readonly Issue[]) => refused(issues.map((one) => ({ ...one, field: fieldIn(written, one) })));
  const form = checkForm(next);
  if (form.config === undefined) throw wrong(form.problems.map(issueOf));
  const named = new Set(secretFiles(next));
  const secrets = taken.secrets.filter(({ path }) => named.has(path));
  // Before any file that the text names is opened: an answer must not tell of files that nobody named on the box.
  const guarded = [
    ...guardProblems(before, form.config, new Set(secrets.map(({ path }) => path))),
    ...newOddNames(before, form.config),
  ];
  if (guarded.length > 0) throw wrong(guarded.map(({ path, message }) => ({ field: formatPath(path), message })));
  // As a reload will do it, with the secrets in their places.
  const { problems } = checkText(configPath, next, {
    sources: withGiven(secretSources(), secrets),
    alsoCheck: (settings) => [...otherProblems(configPath)(settings), ...keyProblems(secrets)],
  });
  if (problems.length > 0) throw wrong(problems.map(issueOf));
  const fixed = fixedChanges(configOf(inForce), form.config);
  if (fixed.length > 0)
    throw wrong(fixed.map((field) => ({ field, message: 'cannot change while siteward runs, only on the box' })));
  return {
    text: next,
    sections: changedSections(before, form.config),
    patch: patchOf(text, next),
    secrets: secrets.map(({ path, text: secret }) => ({ path, text: secret })),
    unused: unusedSecrets(configPath, secretFiles(text), { before: text, after: next }),
  };
}

/** Keys that the token server would refuse; what is in place already is the affair of its part. */
function keyProblems(given: readonly GivenSecret[]): readonly OtherProblem[] {
  return given.flatMap(({ member, text }) => {
    if (member !== 'private_key' && member !== 'next_private_key') return [];
    try {
      readKey({ pem: new Secret(text) });
      return [];
    } catch (error) {
      return [{ path: ['cloud', 'events', member], message: describe(error) }];
    }
  });
}

/** As everybody sees the file (safety 4). */
const fieldIn = (written: unknown, { field }: Issue): string => shownPath(written, field) || 'configuration';

const refused = (issues: readonly Issue[]) =>
  new SitewardError('config_invalid', `nothing was written, since the configuration would be wrong: ${said(issues)}`, {
    issues: issues.slice(0, shown),
  });

function said([first, ...rest]: readonly Issue[]): string {
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : '';
  return `${first?.field}: ${first?.message}${more}`;
}

const issueOf = (problem: Problem): Issue => ({ field: problem.path, message: problemText(problem) });

/** Files that are not written yet read as if they were. */
const withGiven = (sources: SecretSources, given: readonly SecretFile[]): SecretSources => ({
  ...sources,
  readFile(path) {
    const found = given.find((one) => one.path === path);
    return found === undefined ? sources.readFile(path) : { text: `${found.text}\n`, mode: 0o600 };
  },
});

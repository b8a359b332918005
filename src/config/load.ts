import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Redactor, Secret } from '#lib/secret.ts';
import { type SecretSources, secretSources } from '#lib/secret-ref.ts';
import { audioWarnings } from './audio-warnings.ts';
import { crossChecks } from './cross-checks.ts';
import { unkeyed } from './dc09-checks.ts';
import { parseConfig } from './document.ts';
import { problemsOf } from './issues.ts';
import { nameWarnings } from './names.ts';
import { ConfigError, formatProblem, inFileOrder, type Problem } from './problem.ts';
import { sameDevice } from './same-device.ts';
import { configSchema, type Settings } from './schema.ts';
import { codeProblems, resolveSecrets } from './secrets.ts';
import { unreadable } from './unreadable.ts';

export interface ConfigEnvironment {
  /** Where secrets come from; the process's own environment unless given. */
  readonly sources?: SecretSources;
  /** Learns every secret that was read, before anything else can log. */
  readonly redactor?: Redactor;
  /**
   * `refuse` makes a secret that cannot be read an error of the file. `degrade` goes on with a warning: only the part
   * that needs it fails, so that one lost password does not take the protection of the site with it.
   */
  readonly unreadableSecrets?: 'refuse' | 'degrade';
  /** No secret is looked for; the form of its reference is all that is judged. */
  readonly secrets?: 'unread';
  /** What only other rooms can judge, such as whether a profile exists; asked when each part of the file is well formed. */
  readonly alsoCheck?: (settings: Settings) => readonly OtherProblem[];
}

export interface OtherProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export interface LoadedConfig {
  readonly file: string;
  /** The file as read, for the last good copy. */
  readonly text: string;
  readonly settings: Settings;
  readonly warnings: readonly string[];
  /** The copy of an earlier run, since the file itself is broken. */
  readonly lastGood: boolean;
}

export interface CheckedConfig {
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** Absent when there are problems. */
  readonly loaded?: LoadedConfig;
}

/**
 * Reads and checks the configuration. Throws `config_unreadable`, or `config_invalid` (a `ConfigError` with every
 * problem). Synchronous: a few small files, at the start, and at a reload after `referencedFiles` were seen to answer.
 */
export function loadConfig(file: string, environment: ConfigEnvironment = {}): LoadedConfig {
  const { loaded, problems } = checkConfig(file, environment);
  if (loaded === undefined) throw new ConfigError(file, problems);
  return loaded;
}

/** The files a configuration names, whatever else is wrong with it: secrets, certificate authorities. */
export function referencedFiles(text: string): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<object>();
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if ((key === 'file' || key === 'ca' || key === 'cert') && isAbsolute(value)) found.add(value);
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      for (const [name, member] of Object.entries(value)) walk(member, name);
    }
  };
  walk(parseConfig('', text).value, '');
  return [...found];
}

/** The same without throwing for what is wrong inside the file. */
export function checkConfig(file: string, environment: ConfigEnvironment = {}): CheckedConfig {
  return checkText(file, readConfigFile(file), environment);
}

export function checkText(file: string, text: string, environment: ConfigEnvironment = {}): CheckedConfig {
  const document = parseConfig(file, text);
  if (!document.usable) return { problems: [...document.problems].sort(inFileOrder), warnings: [] };
  if (document.value === null || document.value === undefined) {
    return {
      problems: [document.problem([], { message: 'the file is empty', expected: 'a configuration' })],
      warnings: [],
    };
  }
  const parsed = configSchema.safeParse(document.value);
  const issues = parsed.success ? [] : problemsOf(document, configSchema, parsed.error.issues);
  const problems = [...document.problems, ...issues, ...crossChecks(document)];
  if (!parsed.success) return { problems: problems.sort(inFileOrder), warnings: [] };

  const isUnread = environment.secrets === 'unread';
  const sources = isUnread ? noSources : (environment.sources ?? secretSources());
  const resolved = resolveSecrets(parsed.data, document, sources);
  for (const secret of resolved.secrets.filter(safeToRedact)) environment.redactor?.add(secret);
  const degrade = environment.unreadableSecrets === 'degrade';
  if (!degrade && !isUnread) problems.push(...resolved.unreadable);
  problems.push(...codeProblems(resolved.settings, resolved.unreadable, document));
  const warnings = [
    ...resolved.warnings,
    ...unkeyed(resolved.settings),
    ...sameDevice(resolved.settings),
    ...audioWarnings(resolved.settings),
    ...nameWarnings(parsed.data),
    ...(degrade ? resolved.unreadable.map(formatProblem) : []),
  ];
  const others = environment.alsoCheck?.(resolved.settings) ?? [];
  problems.push(...others.map(({ path, message }) => document.problem([...path], { message })));
  if (problems.length > 0) return { problems: problems.sort(inFileOrder), warnings };
  return { problems, warnings, loaded: { file, text, settings: resolved.settings, warnings, lastGood: false } };
}

/**
 * Blanking a keypad code by value would tell it: every port or year that happens to be equal would vanish from the log.
 * Codes are blanked by the name of the member that holds them.
 */
const safeToRedact = (secret: Secret): boolean => !/^\d{1,7}$/.test(secret.reveal());

/** Where no secret is found, whatever is named. */
const noSources: SecretSources = {
  variables: {},
  readFile() {
    throw new Error('it is not looked for');
  },
};

const fileCap = 1024 * 1024;

function readConfigFile(file: string): string {
  try {
    const found = statSync(file);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > fileCap) throw new Error(`it is larger than ${fileCap} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

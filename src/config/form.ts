import { parseConfig } from './document.ts';
import { isShown } from './hidden.ts';
import { type CheckedConfig, type ConfigEnvironment, checkText } from './load.ts';
import { type Config, configSchema } from './schema.ts';

/** Keys of the file, or a group of them. */
type Written = Readonly<Record<string, unknown>>;

export interface CheckedForm extends Pick<CheckedConfig, 'problems' | 'warnings'> {
  /** Absent when there are problems. */
  readonly config?: Config;
}

/**
 * What is wrong with a text that came over the network. Secrets are judged by the form of their references alone, and no file
 * that the text names is looked for: whoever may check a text must not learn what lies on this box.
 */
export function checkForm(text: string, alsoCheck?: NonNullable<ConfigEnvironment['alsoCheck']>): CheckedForm {
  const { problems, warnings, loaded } = checkText('configuration', text, {
    secrets: 'unread',
    ...(alsoCheck !== undefined && { alsoCheck }),
  });
  return { problems, warnings, ...(loaded !== undefined && { config: configOf(text) }) };
}

/** As checked, secrets still references. Throws for a text that has problems. */
export const configOf = (text: string): Config => configSchema.parse(parseConfig('', text).value);

/** Sections that say something else; what is left out and what is written as its default are the same. */
export function changedSections(from: Config, to: Config): string[] {
  const before: Written = from;
  const after: Written = to;
  return Object.keys(configSchema.shape).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

interface Fixed {
  readonly store: { readonly dir: string };
  readonly site: { readonly external_id: string };
  readonly bridge: { readonly external_id: string };
}

/** What a reload does not take (config_needs_restart). */
export const fixedChanges = (from: Fixed, to: Fixed): string[] =>
  [
    { key: 'store.dir', isSame: from.store.dir === to.store.dir },
    { key: 'site.external_id', isSame: from.site.external_id === to.site.external_id },
    { key: 'bridge.external_id', isSame: from.bridge.external_id === to.bridge.external_id },
  ].flatMap(({ key, isSame }) => (isSame ? [] : [key]));

/**
 * The file as written, for people and reports: without comments and zones of silent hold-up, secrets as the references they are, users by their ids alone
 * (safety 11), addresses without users, passwords and what their queries say, programs without their arguments: they may hold a token.
 */
export function shownConfig(text: string): Written {
  const shown = shownValue(parseConfig('', text).value, '');
  return typeof shown === 'object' && shown !== null ? (shown as Written) : {};
}

export const blanked = '[not shown]';

/** Programs of speakers with their arguments. */
export const programs: ReadonlySet<string> = new Set(['command', 'probe']);

function shownValue(value: unknown, key: string): unknown {
  if (key === 'users') return Array.isArray(value) ? value.map((user) => ({ id: (user as Written)?.id })) : [];
  if (programs.has(key) && Array.isArray(value)) return value.map((word, index) => (index === 0 ? word : blanked));
  if (typeof value === 'string') return withoutAccount(value);
  if (Array.isArray(value)) return value.filter(isShown).map((item) => shownValue(item, ''));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => isShown(member))
      .map(([name, member]) => [name, shownValue(member, name)]),
  );
}

export function withoutAccount(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return text;
  if (url.username === '' && url.password === '' && url.search === '') return text;
  url.username = '';
  url.password = '';
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, 'x');
  return url.href;
}

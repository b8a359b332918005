import { parse } from 'yaml';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { namesSecret } from '#lib/log.ts';

const refused = (message: string) => new SitewardError('request_invalid', message);

/** Of a list of answers; more is a mistake in writing. */
const indexPattern = /^\d{1,3}$/;
const namePattern = /^[\w-]+(\.[\w-]+)*$/;

const onCommandLine = 'does not stand on the command line, where every user of the box sees it';

/** What is read of `--set`: the schema of the answers, as JSON Schema has it. */
export interface AnswerForm {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, AnswerForm>>;
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly additionalProperties?: unknown;
  readonly items?: AnswerForm;
}

export const formOf = (schema: z.ZodType): AnswerForm =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as AnswerForm;

/** One answer of `--set NAME=VALUE` into the others. Throws `request_invalid`, which never repeats the value: it may be a secret. */
export function putAnswer(root: Record<string, unknown>, text: string, form: AnswerForm): void {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const keys = name.split('.');
  if (at < 1 || !namePattern.test(name) || keys.some((key) => key === '__proto__'))
    throw refused('--set takes NAME=VALUE, such as site.timezone=Europe/Berlin or cameras.0.zone=21');
  const value = text.slice(at + 1);
  refuseSecrets(value, keys, `--set ${name}: `, onCommandLine);
  const found = find(form, keys);
  if (found === undefined) throw refused(unknownName(keys, form));
  const read = found === 'free' ? readAs(value, name) : value;
  refuseSecrets(read, keys, `--set ${name}: `, onCommandLine);
  put(root, keys, read);
}

/** Texts are taken as they are; what the configuration or a list has is read as the file would be. */
function find(form: AnswerForm, keys: readonly string[]): 'text' | 'free' | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) return form.type === 'array' || form.type === 'object' ? 'free' : 'text';
  if (form.items !== undefined) return indexPattern.test(key) ? find(form.items, rest) : undefined;
  const known = form.properties !== undefined && Object.hasOwn(form.properties, key) ? form.properties[key] : undefined;
  if (known !== undefined) return find(known, rest);
  const isOpen = typeof form.additionalProperties === 'object' || form.additionalProperties === true;
  return isOpen && form.propertyNames?.enum?.includes(key) !== false ? 'free' : undefined;
}

function readAs(value: string, name: string): unknown {
  try {
    return value === '' ? '' : parse(value, { logLevel: 'silent', prettyErrors: false });
  } catch {
    throw refused(`--set ${name}: the value cannot be read as YAML; put a text with signs of its own in quotes`);
  }
}

function put(root: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let at = root;
  for (const [index, key] of keys.slice(0, -1).entries()) {
    if (typeof at[key] !== 'object' || at[key] === null) at[key] = indexPattern.test(keys[index + 1] ?? '') ? [] : {};
    at = at[key] as Record<string, unknown>;
  }
  at[keys.at(-1) ?? ''] = value;
}

/** What is no name, such as a list that was written without its blanks, is not repeated. */
export function unknownName(keys: readonly string[], form: AnswerForm): string {
  const shown = keys.map((key) => (namePattern.test(key) ? key : '?')).join('.');
  return `there is no answer ${shown}; there is ${namesOf(form, keys).join(', ')}`;
}

/** All answers there are; of the section alone, where that is known. N stands for the number of an entry from 0, `*` for any key of the configuration. */
function namesOf(form: AnswerForm, [section = '']: readonly string[]): readonly string[] {
  const { properties = {} } = form;
  const known = Object.hasOwn(properties, section) ? properties[section] : undefined;
  return known === undefined ? names(form, []) : names(known, [section]);
}

function names(form: AnswerForm, at: readonly string[]): readonly string[] {
  if (form.items !== undefined && Object.keys(form.items.properties ?? {}).length > 0)
    return names(form.items, [...at, 'N']);
  const known = Object.entries(form.properties ?? {}).flatMap(([key, one]) => names(one, [...at, key]));
  const isOpen = typeof form.additionalProperties === 'object' && form.type === 'object';
  const sections = form.propertyNames?.enum?.map((key) => `${key}.*`) ?? (isOpen ? ['*'] : []);
  const others = sections.map((key) => [...at, key].join('.'));
  return known.length + others.length === 0 ? [at.join('.')] : [...known, ...others];
}

const secretKeys: readonly string[] = [
  ...['code', 'duress_code', 'consent', 'password', 'secret', 'client_secret', 'partner_secret'],
  ...['private_key', 'api_key', 'token'],
];
/** Sections whose secrets stand in files that the answers name; all others are those of the configuration. */
const filed: readonly string[] = ['cloud', 'cameras', 'recorders', 'speakers', 'users', 'consent', 'account', 'test'];

const isSecret = (keys: readonly string[]): boolean => {
  const key = keys.at(-1) ?? '';
  // Named by whoever wrote the profile.
  if (keys.at(-2) === 'vars' && namesSecret(key)) return true;
  return secretKeys.includes(key) || (key === 'key' && !keys.includes('zones'));
};

/** Throws `request_invalid` where a secret itself was given, and says how to name its file. */
export function refuseSecrets(value: unknown, keys: readonly string[], where: string, why: string): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) refuseSecrets(member, [...keys, key], where, why);
    return;
  }
  if (value === undefined || value === null) return;
  if (isSecret(keys)) throw refused(`${where}a secret ${why}; ${inFile(keys)}`);
  if (typeof value === 'string' && /:\/\/[^/?#\s]*@/.test(value))
    throw refused(`${where}an address holds no user and no password; name the user, and the file of the password`);
}

function inFile(keys: readonly string[]): string {
  const [section = ''] = keys;
  const key = keys.at(-1);
  if (key === 'consent') return 'write it into a file of mode 0600, and name that one: consent.code_file';
  if (keys.at(-2) === 'vars')
    return 'a variable of a profile is shown as it is, and none holds a secret: leave it out, or give it another name';
  const before = keys.slice(0, -1).join('.');
  if (section === 'cloud' && (key === 'private_key' || key === 'key'))
    return 'the key for events is made on this box: siteward cloud registration';
  const name = section === 'cloud' && /secret$/.test(key ?? '') ? 'partner_secret' : key;
  const named = filed.includes(section) ? `${before}.${name}_file` : `${keys.join('.')}.file`;
  return `write it into a file of mode 0600, and name that one: ${named}`;
}

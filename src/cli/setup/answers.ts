import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { formatProblem, parseConfig, readConfigText, wordsOf } from '#config/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { scopes } from '#lan/access/index.ts';
import { userId, userName, userRoles, zoneNumber } from '#site/model/index.ts';
import { formOf, putAnswer, refuseSecrets, unknownName } from './set.ts';

/** Entries of the configuration; what may stand in them its own check knows. */
const entry = z.looseObject({ id: z.string() });
const text = z.string().min(1).max(255);
const path = z
  .string()
  .min(1)
  .transform((file) => resolve(file));

/** As `--set` gives it, too. */
const flag = z.stringbool().or(z.boolean());

const zone = z.strictObject({
  panel: z.string(),
  number: zoneNumber,
  type: z.string(),
  name: text.optional(),
  key: text.optional(),
  partition: text.optional(),
  cameras: z.array(z.string()).optional(),
});

const pictures = z.enum(['alarm', 'armed', 'always']).optional();

const camera = z.strictObject({
  address: text,
  id: text,
  name: text.optional(),
  zone: zoneNumber.optional(),
  zone_type: text.optional(),
  partition: text.optional(),
  user: text.optional(),
  password_file: path.optional(),
  pictures,
});

/** Those that are watched; all without it. */
const channel = z.strictObject({
  position: z.coerce.number().int().min(1).max(256),
  id: text.optional(),
  name: text.optional(),
  zone: zoneNumber.optional(),
  zone_type: text.optional(),
  partition: text.optional(),
  pictures,
});

const recorder = z.strictObject({
  address: text,
  id: text,
  name: text.optional(),
  user: text.optional(),
  password_file: path.optional(),
  channels: z.array(channel).min(1).optional(),
});

const user = z.strictObject({
  id: userId,
  name: userName,
  role: z.enum(userRoles).default('user'),
  code_file: path.optional(),
  duress_code_file: path.optional(),
  valid_until: text.optional(),
});

/** Of a program on the network. */
const apiKey = z.strictObject({
  name: userName,
  scopes: z.array(z.enum(scopes)).min(1),
  expires_at: text.optional(),
  /** Where the key is written. */
  file: path,
});

/** What a person is asked, given beforehand. Secrets stand in files; the answers name those. */
export const answersSchema = z.strictObject({
  site: z
    .strictObject({
      external_id: text.optional(),
      name: text.optional(),
      timezone: text.optional(),
      language: text.optional(),
      id: text.optional(),
      dealer_id: text.optional(),
      account_reference_id: text.optional(),
      security_type: z.coerce.number().optional(),
    })
    .default({}),
  bridge: z.strictObject({ external_id: text.optional(), role: text.optional() }).default({}),
  partitions: z.array(entry).optional(),
  /** Sections of the configuration as they are written into a new file. */
  settings: z.record(z.enum(['mqtt', 'http', 'store', 'arming', 'media', 'log']), z.unknown()).optional(),
  cloud: z
    .strictObject({
      base_url: text.optional(),
      auth_url: text.optional(),
      ext_base_url: text.optional(),
      audience: text.optional(),
      client_id: text.optional(),
      key_id: text.optional(),
      partner_client_id: text.optional(),
      partner_secret_file: path.optional(),
      api_key_file: path.optional(),
    })
    .default({}),
  panels: z.array(entry).default([]),
  cameras: z.array(camera).default([]),
  recorders: z.array(recorder).default([]),
  zones: z.array(zone).default([]),
  /** Entries of the configuration, and where a password is to be taken from. */
  speakers: z.array(entry.extend({ password_file: path.optional() })).default([]),
  users: z.array(user).default([]),
  /** The code of an owner who is there already, and lets further owners, installers and auditors in. */
  consent: z.strictObject({ code_file: path.optional() }).default({}),
  /** Who makes the keys; the first account of a bridge that nobody has claimed. */
  account: z
    .strictObject({
      id: userId.optional(),
      name: userName.optional(),
      role: z.enum(['owner', 'installer']).optional(),
      password_file: path.optional(),
    })
    .default({}),
  api_keys: z.array(apiKey).default([]),
  monitoring: z.strictObject({ station: text.optional(), account: text.optional() }).default({}),
  /** Whether the cloud is to activate the site. */
  activate: flag.optional(),
  test: z.strictObject({ code_file: path.optional() }).default({}),
});
export type Answers = z.output<typeof answersSchema>;

/**
 * Of `--answers FILE` and each `--set NAME=VALUE`, which goes before it. Throws `request_invalid` with what is wrong, and
 * `file_unusable`; neither repeats a value.
 */
export async function readAnswers(file: string | undefined, set: readonly string[]): Promise<Answers> {
  const root = file === undefined ? {} : await fromFile(resolve(file));
  const form = formOf(answersSchema);
  for (const one of set) putAnswer(root, one, form);
  refuseSecrets(root, [], 'the answers cannot be used: ', 'does not stand in the answers');
  const read = answersSchema.safeParse(root);
  if (read.success) return read.data;
  const wrong = read.error.issues.slice(0, 10).flatMap((issue) => {
    const at = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownName([...at, key], form));
    return wordsOf(root, answersSchema, [issue]);
  });
  throw new SitewardError('request_invalid', `the answers cannot be used: ${wrong.join('; ')}`);
}

/** Files of secrets that the answers name and that others on this box may read, in words. */
export async function openToOthers(answers: unknown): Promise<readonly string[]> {
  const files = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value))
      if (typeof member === 'string' && name.endsWith('_file')) files.add(member);
      else collect(member);
  };
  collect(answers);
  const said: string[] = [];
  for (const file of files) {
    // Who reads it says that it is not there.
    const mode = await stat(file).then(
      (found) => found.mode & 0o777,
      () => 0,
    );
    if ((mode & 0o077) !== 0)
      said.push(`${file} holds a secret, and others may open it (mode 0${mode.toString(8)}): run "chmod 600 ${file}"`);
  }
  return said;
}

async function fromFile(path: string): Promise<Record<string, unknown>> {
  const cannot = (why: string) => new SitewardError('request_invalid', `the answers cannot be read: ${why}`);
  const text = await readConfigText(path).catch((error: unknown) => {
    if (!isCode(error, 'config_unreadable')) throw error;
    throw new SitewardError(
      'file_unusable',
      error instanceof SitewardError && error.facts.code === 'ENOENT'
        ? `there is no file of answers ${path}`
        : describe(error).replace('the configuration', 'the file of answers'),
    );
  });
  const { value, problems } = parseConfig(path, text);
  if (problems.length > 0) throw cannot(problems.slice(0, 10).map(formatProblem).join('; '));
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw cannot(`${path} must be keys with values`);
  return structuredClone(value) as Record<string, unknown>;
}

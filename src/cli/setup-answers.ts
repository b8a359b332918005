import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfigText } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { userId, userName, userRoles, zoneNumber } from '#site/model/index.ts';
import { withFile } from './named-file.ts';

/** Entries of the configuration; what may stand in them its own check knows. */
const entry = z.looseObject({ id: z.string() });
const text = z.string().min(1).max(255);
const path = z
  .string()
  .min(1)
  .transform((file) => resolve(file));

const zone = z.strictObject({
  panel: z.string(),
  number: zoneNumber,
  type: z.string(),
  name: text.optional(),
  key: text.optional(),
  partition: text.optional(),
  cameras: z.array(z.string()).optional(),
});

const camera = z.strictObject({
  address: text,
  id: text,
  name: text.optional(),
  zone: zoneNumber.optional(),
  zone_type: text.optional(),
  partition: text.optional(),
  user: text.optional(),
  password_file: path.optional(),
  nvr: z.boolean().default(false),
  pictures: z.enum(['alarm', 'armed', 'always']).optional(),
});

const user = z.strictObject({
  id: userId,
  name: userName,
  role: z.enum(userRoles).default('user'),
  code_file: path.optional(),
  duress_code_file: path.optional(),
  valid_until: text.optional(),
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
  zones: z.array(zone).default([]),
  speakers: z.array(entry).default([]),
  users: z.array(user).default([]),
  monitoring: z.strictObject({ station: text.optional(), account: text.optional() }).default({}),
  /** Whether the cloud is to activate the site. */
  activate: z.stringbool().or(z.boolean()).optional(),
  test: z.strictObject({ code_file: path.optional() }).default({}),
});
export type Answers = z.output<typeof answersSchema>;

/** Of `--answers FILE` and each `--set NAME=VALUE`, which goes before it. Throws `request_invalid` with what is wrong, `file_unusable`. */
export async function readAnswers(file: string | undefined, set: readonly string[]): Promise<Answers> {
  const given: unknown =
    file === undefined ? {} : parse(await withFile(file, () => readConfigText(resolve(file))), { logLevel: 'silent' });
  const root = typeof given === 'object' && given !== null ? structuredClone(given) : {};
  for (const one of set) put(root as Record<string, unknown>, one);
  const read = answersSchema.safeParse(root);
  if (read.success) return read.data;
  const wrong = read.error.issues.slice(0, 10).map(({ path: at, message }) => `${at.join('.')}: ${message}`);
  throw new SitewardError('request_invalid', `the answers cannot be used: ${wrong.join('; ')}`);
}

/** `cameras.0.zone=21`. */
function put(root: Record<string, unknown>, text: string): void {
  const [, name = '', value = ''] = /^([\w.]+)=([\s\S]*)$/.exec(text) ?? [];
  const keys = name.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.some((key) => key === '' || key === '__proto__') || last === '__proto__')
    throw new SitewardError('request_invalid', '--set takes NAME=VALUE, such as site.timezone=Europe/Berlin');
  let at: Record<string, unknown> = root;
  for (const [index, key] of keys.entries()) {
    const isList = /^\d+$/.test(keys[index + 1] ?? last);
    if (typeof at[key] !== 'object' || at[key] === null) at[key] = isList ? [] : {};
    at = at[key] as Record<string, unknown>;
  }
  at[last] = value;
}

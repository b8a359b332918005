import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { audioCategories, audioMessageShown } from '#site/model/index.ts';

const text = (max: number) =>
  z
    .string()
    .trim()
    .max(max, `must have at most ${max} characters`)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must be one line of text');

/** What people say of a message. Names are the fields of the service (S-170). */
const fields = {
  key: audioMessageShown.shape.key,
  name: text(64).min(1, 'must not be empty'),
  description: text(500),
  language: z
    .string()
    .regex(/^([a-z]{2}-[A-Z]{2}|zxx)$/, 'must be a language tag such as de-DE, or zxx where nobody speaks'),
  category: z.enum(audioCategories),
};

/** What the library keeps of a message. */
export const storedMessage = z.strictObject({
  ...fields,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  duration_seconds: z.number().positive(),
  /** Loudest sample and root mean square, of full scale. */
  peak_db: z.number(),
  rms_db: z.number(),
  /** To the ear: integrated, by ITU-R BS.1770. One that was imported before it was measured has none. */
  loudness_lufs: z.number().exactOptional(),
});
export type StoredMessage = z.output<typeof storedMessage>;

export interface Message extends StoredMessage {
  readonly source: 'builtin' | 'imported';
  /** The id of the service it stands for, where somebody said so. */
  readonly audio_message_id?: string;
}

/** A message that is imported; what is left out has a default or, the key, is made of the name. */
export const importFields = z.strictObject({
  name: fields.name,
  key: fields.key.optional(),
  description: fields.description.default(''),
  language: fields.language.default('zxx'),
  /** When absent: that of the built-in message it takes the place of, else `custom`. */
  category: fields.category.optional(),
});
export type ImportFields = z.input<typeof importFields>;

export const changeFields = z.strictObject({
  key: fields.key.exactOptional(),
  name: fields.name.exactOptional(),
  description: fields.description.exactOptional(),
  language: fields.language.exactOptional(),
  category: fields.category.exactOptional(),
});
export type ChangeFields = z.input<typeof changeFields>;

export const serviceId = text(255).min(1, 'must not be empty');

/** The value as the schema has it. Throws `audio_invalid` with the field. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, field?: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const named = field ?? unknown ?? issue?.path.join('.') ?? '';
  throw new SitewardError(
    'audio_invalid',
    `${named}: ${unknown === undefined ? issue?.message : 'is not known here'}`,
    {
      facts: { field: named },
    },
  );
}

/** A key made of a name: `Front gate, closed!` is `front-gate-closed`. Empty where nothing is left. */
export const slug = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^-+|-+$/g, '');

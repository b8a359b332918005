import { z } from 'zod';
import { armingWords, troubleKinds, zoneTypes } from '#site/model/index.ts';

/**
 * The profile language as data. `docs/panels.md` explains it; `compile.ts` checks what a schema cannot; nothing in a
 * profile is ever executed.
 */

/** What a panel has trouble with; a camera's own troubles are not among them. */
const trouble = z.enum(troubleKinds).exclude(['camera_tamper', 'video_loss']);

/** `unknown` is siteward's own word: no bridge may say it. */
const state = z.enum(armingWords).exclude(['unknown']);
const flag = z.boolean();

/** What each kind of read can set, and which values it takes. */
export const fieldSchemas = {
  partition: {
    state,
    target: state,
    ready: flag,
    memory: flag,
    fire: flag,
    fault: z.enum(['arm_failed', 'wrong_code', 'lockout', 'other']),
    user: z.string().max(64),
  },
  zone: {
    open: flag,
    alarm: flag,
    tamper: flag,
    bypassed: flag,
    low_battery: flag,
    online: flag,
    zone_type: z.enum(zoneTypes),
  },
  trouble: { active: flag },
  link: { up: flag, status: z.enum(['online', 'offline', 'starting', 'stopped', 'error']) },
  keypad: { action: z.enum(['arm_away', 'arm_home', 'arm_night', 'disarm', 'panic', 'fire', 'medical', 'other']) },
  output: { on: flag },
} as const satisfies Record<string, Record<string, z.ZodType>>;

export type Target = keyof typeof fieldSchemas;
export const targets = Object.keys(fieldSchemas) as [Target, ...Target[]];

const pointer = z.string().regex(/^(\/[^/]{1,64}){1,8}$/, 'must be a JSON pointer such as /state or /alarm/ready');
const scalar = z.union([z.string().max(128), z.boolean(), z.number()]);
const value = z.union([z.string().max(64), z.boolean(), z.null()]);
/** One value for the field in `set`, or several fields at once. */
const outcome = z.union([value, z.record(z.string().max(32), value)]);
const condition = z.record(pointer, z.union([scalar, z.array(scalar).min(1).max(32)]));
const regex = z
  .string()
  .max(200)
  .refine((text) => compilesTo(text), 'must be a regular expression');

const read = z.strictObject({
  for: z.enum(targets),
  /** The bridge's key of the zone or partition; by default what `{zone}` or `{partition}` caught in the topic. */
  key: z.string().min(1).max(64).optional(),
  layer: z.enum(['bridge', 'device', 'both']).optional(),
  /** The trouble, or a table from what `{trouble}` caught to the trouble. */
  trouble: z.union([trouble, z.record(z.string(), trouble)]).optional(),
  /** Reads once per member of an object whose name matches `key`; its first group is the zone or partition. */
  each: z.strictObject({ at: pointer.optional(), key: regex }).optional(),
  at: pointer.optional(),
  when: condition.optional(),
  /** Ordered conditions; the first that holds gives the outcome. */
  first: z
    .array(z.strictObject({ if: condition, value: outcome }))
    .min(1)
    .max(32)
    .optional(),
  /** The value is the first group of this expression; no match means that there is nothing to read. */
  match: regex.optional(),
  set: z.string().max(32).optional(),
  /** `bool` knows True/true/ON/on/1/yes and their opposites. */
  map: z.union([z.literal('bool'), z.record(z.string().max(128), outcome)]).optional(),
  /** Polarity: turns a boolean round. */
  invert: z.boolean().optional(),
  /** What any value outside the map means; without it such a value changes nothing and becomes a hint. */
  other: outcome.optional(),
  /** Compares without regard to case when the exact form is not in the map. */
  fold: z.boolean().optional(),
  /** Values that say nothing about the present. */
  ephemeral: z.array(z.string().max(64)).max(32).optional(),
  /** A true that no false will follow, such as a panic button. */
  pulse: z.boolean().optional(),
});

const rule = z.strictObject({
  topic: z.string().min(1).max(256),
  /** `either`: JSON where the payload is a JSON object, otherwise text that stands for the value at `at`. */
  format: z.enum(['text', 'json', 'either']).optional(),
  /** What a retained message is: the present state, nothing at all, or a record of the past. */
  retained: z.enum(['state', 'ignore', 'context']).default('state'),
  /** Members blanked before anything looks at the message: codes typed on a keypad. */
  mask: z.array(pointer).max(8).optional(),
  read: z.array(read).min(1).max(24),
});

const commandNames = [
  'disarm',
  'arm_away',
  'arm_home',
  'arm_night',
  'arm_vacation',
  'arm_custom',
  'bypass',
  'unbypass',
  'panic',
] as const;
export type CommandName = (typeof commandNames)[number];

const out = z.strictObject({
  topic: z.string().min(1).max(256),
  /** Text, or an object that is sent as JSON. `{partition}`, `{zone}`, `{code}` are filled in. */
  payload: z.union([z.string().max(256), z.record(z.string(), scalar)]),
  qos: z.union([z.literal(0), z.literal(1)]).default(1),
});

const identity = z.enum(['number', 'label']);

export const profileSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  title: z.string().min(1).max(80),
  version: z.number().int().min(1),
  hardware: z.array(z.string().max(80)).max(32),
  notes: z.array(z.string().max(300)).max(16).optional(),
  vars: z.record(z.string().regex(/^[a-z][a-z0-9_]{0,15}$/), z.string().min(1).max(128)),
  identity: z.strictObject({ partition: identity, zone: identity }),
  code: z.strictObject({ mode: z.enum(['none', 'in-bridge', 'in-payload', 'in-payload-disarm', 'keys']) }),
  caps: z.array(z.enum([...commandNames, 'change_mode', 'zone_restore', 'user', 'keypad'])),
  liveness: z.strictObject({ stale_after_s: z.number().int().min(10).max(86_400).optional() }).optional(),
  in: z.array(rule).min(1).max(64),
  out: z.partialRecord(z.enum(commandNames), out).default({}),
  confirm: z.strictObject({ timeout_s: z.number().int().min(1).max(120) }).optional(),
  /** `toggle`: the command turns the state round. Such commands are refused until the guard exists. */
  guard: z
    .strictObject({
      toggle: z.boolean().optional(),
      require_ready: z.boolean().optional(),
      fresh_s: z.number().int().min(1).max(600).optional(),
    })
    .optional(),
});

export type Profile = z.infer<typeof profileSchema>;
export type Rule = z.infer<typeof rule>;
export type Read = z.infer<typeof read>;
export type Outcome = z.infer<typeof outcome>;
export type Condition = z.infer<typeof condition>;
export type Out = z.infer<typeof out>;

function compilesTo(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

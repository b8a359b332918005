import { z } from 'zod';
import { armingWords, troubleKinds, zoneTypes } from '#site/model/index.ts';

/**
 * The profile language as data. `docs/panels.md` explains it; `compile.ts` checks what a schema cannot; nothing in a
 * profile is ever executed.
 */

/** What a panel has trouble with; a camera's own troubles are not among them. */
const trouble = z
  .enum(troubleKinds)
  .exclude(['arming_sync', 'camera_tamper', 'config_unknown', 'site_gone', 'site_inactive', 'video_loss']);

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
    fault: z.enum(['arm_failed', 'wrong_code', 'code_missing', 'lockout', 'not_allowed', 'other']),
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
  /** What the panel told its station, in the station's codes; `codes.ts` knows what they mean. */
  report: { contact_id: z.string().max(16), sia: z.string().max(16) },
  /** A word the bridge hands out and wants back in each command, such as a session token; kept in memory only. */
  token: { value: z.string().max(256) },
} as const satisfies Record<string, Record<string, z.ZodType>>;

export type Target = keyof typeof fieldSchemas;
const targets = Object.keys(fieldSchemas) as [Target, ...Target[]];

const pointer = z.string().regex(/^(\/[^/]{1,64}){1,8}$/, 'must be a JSON pointer such as /state or /alarm/ready');
/** As a pointer, where `*` stands for every member. */
const spread = z.string().regex(/^(\/[^/]{1,64}){1,8}$/, 'must be a JSON pointer such as /zones or /areas/*/zones');
const scalar = z.union([z.string().max(128), z.boolean(), z.number()]);
const value = z.union([z.string().max(64), z.boolean(), z.null()]);
/** One value for the field in `set`, or several fields at once. */
const outcome = z.union([value, z.record(z.string().max(32), value)]);
/** `null` holds where nothing stands. */
const wanted = z.union([scalar, z.null()]);
const condition = z.record(pointer, z.union([wanted, z.array(wanted).min(1).max(32)]));
const endsSoonRule =
  'must not repeat a group, nor have more than two parts of any length (one where it does not begin with ^), nor 64 choices';
const regex = z
  .string()
  .max(200)
  .refine((text) => compilesTo(text), 'must be a regular expression')
  .refine((text) => endsSoon(text), endsSoonRule);

const read = z.strictObject({
  for: z.enum(targets),
  /** The bridge's key of the zone or partition; by default what `{zone}` or `{partition}` caught in the topic. */
  key: z.string().min(1).max(64).optional(),
  /** The bridge's key stands in the message, at this pointer. */
  key_at: pointer.optional(),
  /** Reads of `state` that share a slot replace each other's word: several topics about one and the same thing. */
  slot: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,15}$/)
    .optional(),
  layer: z.enum(['bridge', 'device', 'both']).optional(),
  /** The trouble, or a table from what `{trouble}` caught to the trouble. */
  trouble: z.union([trouble, z.record(z.string(), trouble)]).optional(),
  /** Reads once per member of an object or list; where `key` is given, those whose name matches, and its first group is the zone or partition. */
  each: z.strictObject({ at: spread.optional(), key: regex.optional() }).optional(),
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
  /** The zone is one that an alarm of this partition names: it lasts until the partition is calm, however often it is told. */
  lasts: z.string().min(1).max(64).optional(),
});

const rule = z.strictObject({
  topic: z.string().min(1).max(256),
  /** `either`: JSON where the payload is a JSON object, otherwise text that stands for the value at `at`. */
  format: z.enum(['text', 'json', 'either']).optional(),
  /** What a retained message is: the present state, nothing at all, or a record of the past. */
  retained: z.enum(['state', 'ignore', 'context']).default('state'),
  /** Every message of the topic is a record of the past, retained or not. */
  record: z.boolean().optional(),
  /** Members blanked before anything looks at the message: codes typed on a keypad. */
  mask: z.array(pointer).max(8).optional(),
  /** None: the topic only shows that the panel lives. */
  read: z.array(read).max(32),
});

export const commandNames = [
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

/** Text, or an object that is sent as JSON. `{partition}`, `{zone}`, `{code}` and tokens are filled in. */
const payload = z.union([z.string().max(256), z.record(z.string().max(64), scalar)]);

const out = z.strictObject({
  topic: z.string().min(1).max(256),
  payload,
  /** What is sent instead where the site has given a code: for bridges that take a command with and without one. */
  with_code: payload.optional(),
  /** Members left out when they would hold one of these words. */
  leave_out: z.record(z.string().max(64), z.array(z.string().max(64)).min(1).max(8)).optional(),
});

const identity = z.enum(['number', 'label']);

export const profileSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  title: z.string().min(1).max(80),
  version: z.number().int().min(1),
  hardware: z.array(z.string().max(80)).max(32),
  notes: z.array(z.string().max(300)).max(16).optional(),
  /** Written from the bridge's documentation; no recorded messages were at hand. */
  from_documentation: z.boolean().optional(),
  /** One of those siteward supports; the others are read as well as they are known. */
  supported: z.boolean().optional(),
  vars: z.record(z.string().regex(/^[a-z][a-z0-9_]{0,15}$/), z.string().min(1).max(128)),
  identity: z.strictObject({ partition: identity, zone: identity }),
  /** `none`: no code at all; `in-bridge`: the bridge has it; otherwise siteward's own panel code goes into commands. */
  code: z.strictObject({
    mode: z.enum(['none', 'in-bridge', 'in-payload', 'in-payload-disarm', 'keys']),
    /** Characters a code has; one of another length is not sent. */
    length: z.number().int().min(1).max(32).optional(),
    digits_only: z.boolean().optional(),
  }),
  caps: z.array(z.enum([...commandNames, 'change_mode', 'zone_restore', 'user', 'keypad'])),
  /** False: armed, it takes no other mode; it has to be disarmed first. */
  change_mode: z.boolean().optional(),
  /** False: armed, it leaves out no zone and takes none back. */
  bypass_armed: z.boolean().optional(),
  /** False: it tells that a zone opens, and not reliably that it closes. */
  zone_restore: z.boolean().optional(),
  /** With `zone_restore: false`: for how long after its last word a zone counts as open; then nobody knows (120). */
  zone_open_s: z.number().int().min(10).max(86_400).optional(),
  liveness: z.strictObject({ stale_after_s: z.number().int().min(10).max(86_400).optional() }).optional(),
  in: z.array(rule).min(1).max(64),
  out: z.partialRecord(z.enum(commandNames), out).default({}),
  confirm: z.strictObject({ timeout_s: z.number().int().min(1).max(120) }).optional(),
  /**
   * `toggle`: the commands turn the state round, so that they leave only while the panel was heard within `fresh_s` (30),
   * told its state live within `state_fresh_s` (as `fresh_s`), and the state differs from the target; one at a time.
   * `require_ready`: no arming while the panel is not ready.
   */
  guard: z
    .strictObject({
      toggle: z.boolean().optional(),
      require_ready: z.boolean().optional(),
      fresh_s: z.number().int().min(1).max(600).optional(),
      state_fresh_s: z.number().int().min(1).max(86_400).optional(),
    })
    .optional(),
});

export type Profile = z.infer<typeof profileSchema>;
export type Read = z.infer<typeof read>;
export type Outcome = z.infer<typeof outcome>;
export type Condition = z.infer<typeof condition>;
export type Out = z.infer<typeof out>;

/**
 * Payloads come from anywhere: an expression that tries again and again must not hold up the alarms behind it. Where it does not begin with
 * `^` it begins at each character, which is a part of any length too; `?` and `|` multiply the ways to read a text.
 */
function endsSoon(text: string): boolean {
  const plain = text.replaceAll(/\\./gu, 'x').replaceAll(/\[[^\]]*\]/gu, 'x');
  if (/\)[*+{]/u.test(plain)) return false;
  let choices = 2 ** (plain.match(/(?<![*+?}(])\?/gu) ?? []).length;
  let whole = plain;
  for (let group = innermost.exec(whole); group !== null; group = innermost.exec(whole)) {
    choices *= (group[1] ?? '').split('|').length;
    whole = whole.replace(innermost, 'x');
  }
  choices *= whole.split('|').length;
  const begins = whole.startsWith('^') && !whole.includes('|') ? 0 : 1;
  const parts = plain.match(/[*+]|\{(?:\d{3,}|\d+,\d*)\}/gu) ?? [];
  return begins + parts.length <= 2 && choices <= 64;
}

/** Without what may stand behind its `(?`. */
const innermost = /\((?:\?(?:<?[:=!]|<[^>()]*>))?([^()]*)\)/u;

function compilesTo(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

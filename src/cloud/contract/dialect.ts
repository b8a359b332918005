import { z } from 'zod';

const word = (value: string, description: string) => z.string().min(1).max(64).default(value).describe(description);

const referencePath = '/ref/v1/sites/{account_reference_id}';

export const armingStatusForms = ['status', 'arming_status', 'action', 'is_armed', 'is_armed_number'] as const;
export type ArmingStatusForm = (typeof armingStatusForms)[number];

const forms = {
  activation_body: z
    .enum(['none', 'empty_object', 'is_activated'])
    .default('none')
    .describe('Body of the call that toggles the activation of a site.'),
  link_body: z
    .enum(['none', 'empty_object'])
    .default('none')
    .describe('Body of the calls that link and unlink a site.'),
  arming_status_form: z
    .enum(armingStatusForms)
    .default('status')
    .describe('How a body says whether a site is armed: member and kind of value.'),
  ref_path: z
    .string()
    .max(255)
    .regex(
      /^(\/[\w~-][\w.~-]*)*\/\{account_reference_id\}(\/[\w~-][\w.~-]*)*$/,
      'must be a path with {account_reference_id}',
    )
    .default(referencePath)
    .describe('Path of a site that audio calls address by its account reference.'),
  upload_resume: z
    .enum(['off', 'content_range'])
    .default('off')
    .describe('Whether a cut upload goes on where it was cut, by Content-Range and 308.'),
} as const;

/**
 * What the service's specification leaves open and the bridge must decide when it calls, gathered in one place.
 * A real service that answers differently needs a line of configuration, not a release. Answers are read tolerantly whatever is set here.
 */
export const dialectOptions = z.strictObject({
  event_version: z.string().min(1).max(32).default('1.0').describe('Value of the member "version" of each event.'),
  restored_status: word('restored', 'Value of "event_status" when a condition has ended.'),
  cancelled_status: word('restored', 'Value of "event_status" when an alarm was cancelled by a person.'),
  ...forms,
  verification_call: z
    .enum(['patch', 'response'])
    .default('patch')
    .describe('Which of its two calls carries the response to an alarm verification.'),
  public_paths: z
    .boolean()
    .default(false)
    .describe('Whether the public interface has the paths siteward guesses, beside the known one.'),
});

export type Dialect = z.output<typeof dialectOptions>;

/** The dialect with every choice at its default. */
export const defaultDialect = (): Dialect => dialectOptions.parse({});

/**
 * The same gaps and some more, seen from a server: what the sandbox answers where the specification is silent. Each
 * default is the "G" choice of the checklist number in its description.
 */
export const serverDialectOptions = z.strictObject({
  ...forms,
  profile: z.enum(['A', 'B', 'all']).default('all').describe('Kind of integration that is served (S-075).'),
  strict_unknown: z.boolean().default(false).describe('Refuse members of a body nobody knows (S-012).'),
  site_time_style: z.enum(['iso', 'plain']).default('iso').describe('Form of created_at of sites (S-018).'),
  arming_status_wrapped: z.boolean().default(false).describe('Put the arming status into "data" (S-142).'),
  over_limit: z.enum(['clamp', 'refuse']).default('clamp').describe('What a limit above 1000 gets (S-090).'),
  duplicate_status: z
    .literal([400, 409])
    .default(400)
    .describe('Status of an item whose external id is taken (S-129).'),
  security_type: z.int().min(1).max(4).default(4).describe('Arming setting of a new site (S-141).'),
  activation_sets: z.boolean().default(true).describe('Let is_activated in the body set the state (S-071).'),
  token_expires_in: z.boolean().default(true).describe('Say the lifetime of partner tokens (S-031).'),
  verification_life_s: z.int().min(1).max(86_400).default(300).describe('Life of a verification, seconds (S-156).'),
  requests_per_minute: z.int().min(1).max(1_000_000).optional().describe('Rate limit; none when absent (S-021).'),
});

export type ServerDialect = z.output<typeof serverDialectOptions>;

import { z } from 'zod';
import { roles, scopes } from '#lan/access/index.ts';
import { newUserName, userId, userName } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });
/** A time that somebody sets; what was given is not repeated. */
const end = z.iso.datetime({ error: 'must be a time in UTC, as 2026-12-31T17:00:00Z' });

/** How it is judged lies in the room of access. What was given never comes back, in no message (safety 10). */
const secret = z.string({ error: 'must be text' });
const role = z.enum(roles, { error: `must be one of ${roles.join(', ')}` });

export const claimBody = z.strictObject(
  {
    code: secret.describe('The claim code; "siteward claim-code" shows it on the bridge.'),
    id: userId.describe('What is typed to log in.'),
    name: newUserName,
    role: z
      .enum(['owner', 'installer'], { error: 'must be owner or installer' })
      .describe('After a hand-over and a reset: owner.'),
    password: secret,
  },
  { error: 'must be a claim and have no other members' },
);

export const loginBody = z.strictObject(
  { id: secret, password: secret },
  { error: 'must have id and password and no other members' },
);

export const ownPasswordBody = z.strictObject(
  { current: secret.describe('The password of now.'), password: secret.describe('The new one.') },
  { error: 'must have current and password and no other members' },
);

export const selfAnswer = z.object({
  kind: z.enum(['account', 'key', 'local']),
  /** Of the account or key. */
  id: z.string().optional(),
  role: z.enum(roles).optional(),
  scopes: z.array(z.enum(scopes)).optional(),
  /** The password is one that somebody else gave: nothing else may be done until there is another. */
  must_change: z.boolean().optional(),
  session: z
    .object({
      id: z.string(),
      /** Seconds without a request after which it ends. */
      idle_s: z.int(),
      /** Seconds after which it ends in any case. */
      longest_s: z.int(),
    })
    .optional(),
  /** Ids of the operations that the role, the scopes and the password allow; each may still be refused for what it is about. */
  operations: z.array(z.string()),
});
export type SelfAnswer = z.output<typeof selfAnswer>;

export const loggedOut = z.object({ logged_out: z.boolean() });

const shownSession = z.object({
  /** Names it here; it opens nothing. */
  id: z.string(),
  account: z.string(),
  /** Address it was opened from; `local`: the control socket. */
  from: z.string(),
  opened_at: time,
  used_at: time,
  /** It is the one this was asked with. */
  current: z.boolean(),
});
export const sessionList = z.object({ items: z.array(shownSession) });
export type SessionShown = z.output<typeof shownSession>;
export const sessionParams = z.object({ id: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of a session') });
export const endedAnswer = z.object({ ended: z.string() });

/** Whether it counts now, and if not, why. */
const nowWords = ['valid', 'password not changed yet', 'consent needed', 'expired', 'clock in doubt'] as const;

export const personEntry = z.object({
  id: z.string(),
  name: userName,
  role: z.enum(roles),
  created_at: time,
  /** An account, or `claim`. */
  created_by: z.string(),
  /** Since when the password is his own; absent while it is one that somebody else gave. */
  accepted_at: time.optional(),
  valid_until: time.optional(),
  /** The owner who lets this installer in. */
  consented_by: z.string().optional(),
  now: z.enum(nowWords),
});
export type PersonEntry = z.output<typeof personEntry>;
export const personList = z.object({
  items: z.array(personEntry),
  /** Since when the site is its owner's; null before. */
  handed_over: time.nullable(),
});

export const newPersonBody = z.strictObject(
  {
    id: userId.describe('What is typed to log in.'),
    name: newUserName,
    role,
    password: secret.describe('The first one; the account may nothing until it has set another.'),
    valid_until: end
      .exactOptional()
      .describe('An installer needs one once the site was handed over, at most 30 days ahead.'),
  },
  { error: 'must have the members of an account and no others' },
);
export const limitBody = z.strictObject(
  {
    valid_until: end
      .nullable()
      .describe('null: no end; for an installer of a site that was handed over: the consent is withdrawn.'),
  },
  { error: 'must be valid_until and nothing else' },
);
export const personParams = z.object({
  id: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be the id of an account'),
});
export const changedPerson = z.object({ changed: z.string() });

const keyEntry = z.object({
  /** Stands in the key itself, behind `sw_`. */
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)).readonly(),
  created_at: time,
  created_by: z.string(),
  expires_at: time.optional(),
  /** To the minute; absent until it is used. */
  used_at: time.optional(),
  now: z.enum(nowWords),
});
export type KeyEntry = z.output<typeof keyEntry>;
export const keyList = z.object({ items: z.array(keyEntry) });

export const newKeyBody = z.strictObject(
  {
    name: newUserName.describe('What it is for.'),
    scopes: z
      .array(z.enum(scopes, { error: `must be among ${scopes.join(', ')}` }), { error: 'must be a list of scopes' })
      .min(1, 'must have at least one')
      .max(scopes.length, 'must have each but once'),
    expires_at: end.exactOptional(),
  },
  { error: 'must have the members of an API key and no others' },
);
/** The one answer that holds a secret over the network, and the only time it is seen. */
export const newKeyAnswer = z.object({ key: keyEntry, token: z.string().describe('The key, shown this once.') });
export const keyParams = z.object({ id: z.string().regex(/^[0-9a-z]{8}$/, 'must be the id of an API key') });
export const removedAccess = z.object({ removed: z.string() });

export const claimCodeAnswer = z.object({
  claimed: z.boolean(),
  claim_code: z.string().optional(),
});

export const resetAnswer = z.object({
  /** What there was until now; null where the file could not be read and was set aside. */
  lost: z.object({ accounts: z.int(), keys: z.int(), sessions: z.int() }).nullable(),
  claim_code: z.string(),
});

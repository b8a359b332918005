import { z } from 'zod';
import { newUserName, personCode, siteMoment, userId, userName, userRoles, weekWindow } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });
const windows = z.array(weekWindow).min(1).max(7).readonly();

export const userEntry = z.object({
  id: z.string(),
  name: userName,
  role: z.enum(userRoles),
  /** Users of the configuration are changed in its file alone. */
  source: z.enum(['file', 'configuration']),
  /** Days or minutes in the time of the site; the day named by `valid_until` still counts. */
  valid_from: siteMoment.optional(),
  valid_until: siteMoment.optional(),
  windows: windows.optional(),
  created_at: time.optional(),
  created_by: z.string().optional(),
  /** Whether the code counts now, and if not, why. */
  now: z.enum(['valid', 'not yet valid', 'expired', 'outside hours', 'clock in doubt']).optional(),
});
export type UserEntry = z.output<typeof userEntry>;

export const userList = z.object({ items: z.array(userEntry) });

/** What is wrong is told without what was given: a code in the wrong place must not come back. */
export const newUserBody = z.strictObject(
  {
    id: userId,
    name: newUserName,
    role: z.enum(userRoles, { error: `must be one of ${userRoles.join(', ')}` }).default('user'),
    code: personCode.describe('Nobody else may have it.'),
    duress_code: personCode.exactOptional().describe('Disarms too, and calls for help silently.'),
    consent: personCode
      .exactOptional()
      .describe(
        'Code of an owner who lets another owner, an installer or an auditor in; needed once there is an owner.',
      ),
    valid_from: siteMoment.exactOptional().describe('First day, or minute, in the time of the site.'),
    valid_until: siteMoment.exactOptional().describe('Last day, or minute; an installer needs one.'),
    windows: windows.exactOptional().describe('Hours of the week; without them, all.'),
  },
  { error: 'must have the members of a user and no others' },
);
export type NewUserBody = z.output<typeof newUserBody>;

export const newCodesBody = z.strictObject(
  {
    code: personCode.describe('Nobody else may have it.'),
    duress_code: personCode.exactOptional().describe('Without one, the duress code there is stays.'),
    consent: personCode
      .exactOptional()
      .describe('Code of an owner, who agrees; needed for an owner, an installer and an auditor.'),
  },
  { error: 'must have new codes and no other members' },
);
export type NewCodesBody = z.output<typeof newCodesBody>;

export const changedAnswer = z.object({ changed: z.string() });

export const userParams = z.object({ id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be the id of a user') });

export const removeUserQuery = z.strictObject(
  { last_owner: z.enum(['true', 'false']).default('false').describe('`true`: remove the last owner too.') },
  { error: 'may be last_owner alone' },
);

export const removedAnswer = z.object({ removed: z.string() });

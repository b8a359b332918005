import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { type ClockQuality, newUserName, siteMoment, userId, userRoles, weekWindow } from '#site/model/index.ts';
import { inUse, mustBeCode } from './code-rules.ts';
import type { NewUser, UserRecord } from './types.ts';
import { outOfDates, type SiteTime } from './validity.ts';

const fields = z.object({
  id: userId,
  name: newUserName,
  role: z.enum(userRoles),
  validFrom: siteMoment.exactOptional(),
  validUntil: siteMoment.exactOptional(),
  windows: z.array(weekWindow).min(1).max(7).readonly().exactOptional(),
});

/** What is known of a new user without its codes. */
export type Person = Omit<UserRecord, 'createdAt' | 'createdBy'>;

/** Everything that can be said against a new user without looking at the others. Throws `user_refused`, `code_refused`. */
export function personOf(user: NewUser, at: SiteTime, clock: ClockQuality): Person {
  const read = fields.safeParse(user);
  if (!read.success) {
    const { path, message } = read.error.issues[0] ?? { path: [], message: 'cannot be read' };
    const field = path.map(String).join('.');
    throw refused(`${field} ${message}`, field);
  }
  const person: Person = read.data;
  mustBeCodes(user, person);
  checkDates(person, at, clock);
  checkRole(person);
  return person;
}

/** Everything that can be said against the codes of a user without looking at the others. Throws as `personOf`. */
export function mustBeCodes(
  { code, duressCode }: Pick<NewUser, 'code' | 'duressCode'>,
  { id, name, role }: Pick<Person, 'id' | 'name' | 'role'>,
): void {
  mustBeCode(code, 'code');
  if (duressCode !== undefined) mustBeCode(duressCode, 'duress code');
  if (duressCode === code) throw inUse('duress code');
  for (const one of [code, duressCode]) {
    if (one !== undefined && (name.includes(one) || id.includes(one)))
      throw refused('name and id must not hold the code', 'name');
  }
  if (duressCode === undefined) return;
  if (role === 'auditor') throw refused('an auditor commands nothing, so there is no duress code', 'duressCode');
  if (role === 'installer') throw refused('an installer cannot disarm, so there is no duress code', 'duressCode');
}

function checkDates(person: Person, at: SiteTime, clock: ClockQuality): void {
  const { validFrom, validUntil } = person;
  if (validFrom !== undefined && validUntil !== undefined && outOfDates({ validUntil }, whole(validFrom)) !== undefined)
    throw refused('the time is over before it begins', 'validUntil');
  if (clock !== 'doubtful' && outOfDates(person, at) === 'expired')
    throw refused('the time is over already', 'validUntil');
}

const whole = (moment: string): SiteTime => ({ minute: moment.length > 10 ? moment : `${moment}T00:00`, weekday: 0 });

function checkRole({ role, validFrom, validUntil, windows }: Person): void {
  const isLimited = validFrom !== undefined || validUntil !== undefined || windows !== undefined;
  if (role === 'owner' && isLimited) throw refused('an owner has no limits in time', 'role');
  if (role === 'installer' && validUntil === undefined)
    throw refused('an installer comes for a time; say until when the code is valid', 'validUntil');
}

export const refused = (reason: string, field: string): SitewardError =>
  new SitewardError('user_refused', reason, { facts: { field } });

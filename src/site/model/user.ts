import { z } from 'zod';
import { cleanNameRule, isCleanName } from './name.ts';

/**
 * The id of a user; it stands in events and in the audit. It begins with a letter, so that a code typed in its place is
 * refused instead of kept and shown.
 */
export const userId = z
  .string({ error: 'must be text' })
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits, _ or -, the first a letter');

/** A code is the same everywhere: in the configuration, of users added here, over MQTT and on the command line. */
export const codePattern = /^[0-9]{4,12}$/;
export const codeRule = 'must be 4 to 12 digits';

/** A code as somebody gives it. What was given is never repeated. */
export const personCode = z
  .string({ error: 'must be text: as a number it has lost its leading zeros' })
  .regex(codePattern, codeRule);

/** For people; it stays on this box and never enters events or the audit chain (safety 11). */
export const userName = z
  .string({ error: 'must be text' })
  .regex(/^[^\p{Cc}]{1,64}$/u, 'must be 1 to 64 characters without line ends')
  .refine((name) => name.trim() !== '', 'must not be blank');

/** Of one that is made now; those that are kept from before stay as they are. */
export const newUserName = userName.refine(isCleanName, cleanNameRule);

export const userRoles = ['owner', 'user', 'guard', 'installer', 'auditor'] as const;
export type UserRole = (typeof userRoles)[number];

/**
 * `bypass` is leaving zones out, by name or by force; `test` is walking through the site without an alarm; `verify` is
 * answering an alarm verification.
 */
export type UserRight = 'arm' | 'disarm' | 'bypass' | 'test' | 'verify';

/**
 * The access level of a role and what its code allows. An installer has the higher level and
 * still may not disarm: that takes the code of somebody who lives or works there. An auditor reads the whole audit log,
 * silent alarms included (safety 4), and commands nothing.
 */
export const roles: Readonly<Record<UserRole, { readonly level: 2 | 3; readonly may: readonly UserRight[] }>> = {
  owner: { level: 2, may: ['arm', 'disarm', 'bypass', 'test', 'verify'] },
  user: { level: 2, may: ['arm', 'disarm', 'bypass', 'test', 'verify'] },
  guard: { level: 2, may: ['arm', 'disarm', 'verify'] },
  installer: { level: 3, may: ['arm', 'bypass', 'test'] },
  auditor: { level: 2, may: [] },
};

/** Monday first. */
export const windowDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const isDay = (text: string): boolean => {
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
};

/** A day, or a minute of it, in the time of the site: `2026-12-01` or `2026-12-01T18:30`. */
export const siteMoment = z
  .string({ error: 'must be text' })
  .regex(/^\d{4}-\d{2}-\d{2}(?:T(?:[01]\d|2[0-3]):[0-5]\d)?$/, 'must be a day such as 2026-12-01, or 2026-12-01T18:30')
  .refine(isDay, 'must be a day there is');

const timeOfDay = z
  .string({ error: 'must be text' })
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time such as 08:00');

/**
 * Hours of the week in the time of the site, `from` included, `to` not. With `to` before `from` they go over midnight and
 * belong to the day they begin on.
 */
export const weekWindow = z
  .strictObject(
    { days: z.array(z.enum(windowDays)).min(1).max(7), from: timeOfDay, to: timeOfDay },
    { error: 'must be { days, from, to }' },
  )
  .refine(({ from, to }) => from !== to && from !== '24:00', 'must have a beginning and another end');
export type WeekWindow = z.infer<typeof weekWindow>;

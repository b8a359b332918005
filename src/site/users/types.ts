import { z } from 'zod';
import type { Part } from '#lib/health.ts';
import type { Secret } from '#lib/secret.ts';
import {
  type CodeCheck,
  siteMoment,
  type UserRole,
  userId,
  userName,
  userRoles,
  type WeekWindow,
  weekWindow,
} from '#site/model/index.ts';

/** Users of `users.json`, at most. */
export const maxUsers = 500;

const hash = (bytes: number) => z.base64url().length(Math.ceil((bytes * 4) / 3));

/** What is kept of a code. Without `user-key` neither member says anything about it. */
const keptCode = z.strictObject({ find: hash(32), salt: hash(16), hash: hash(32) });
export type KeptCode = z.infer<typeof keptCode>;

export const keptUser = z.strictObject({
  id: userId,
  name: userName,
  role: z.enum(userRoles),
  validFrom: siteMoment.exactOptional(),
  validUntil: siteMoment.exactOptional(),
  windows: z.array(weekWindow).min(1).max(7).readonly().exactOptional(),
  createdAt: z.iso.datetime(),
  createdBy: z.string().min(1).max(64),
  code: keptCode,
  duress: keptCode.exactOptional(),
});
export type KeptUser = z.infer<typeof keptUser>;

/** A user as anyone may see it. Whether there is a duress code is nobody's business (safety 4). */
export interface UserRecord {
  readonly id: string;
  readonly name: string;
  readonly role: UserRole;
  /** Day or minute in the time of the site; the day named by `validUntil` still counts. */
  readonly validFrom?: string;
  readonly validUntil?: string;
  readonly windows?: readonly WeekWindow[];
  readonly createdAt: string;
  readonly createdBy: string;
}

export function recordOf({ code: _, duress: __, ...record }: KeptUser): UserRecord {
  return record;
}

/** Why a code that somebody has does not count now. The one who tries it is told none of it. */
export type Unfit = 'not yet valid' | 'expired' | 'outside hours' | 'clock in doubt';

export type ListedUser =
  | (UserRecord & { readonly source: 'file'; readonly now: 'valid' | Unfit })
  | { readonly id: string; readonly name: string; readonly role: UserRole; readonly source: 'configuration' };

export interface NewUser extends Omit<UserRecord, 'createdAt' | 'createdBy'> {
  /** 4 to 12 digits as text: a number has lost its leading zeros. */
  readonly code: string;
  readonly duressCode?: string | undefined;
  /** The code of an owner, who agrees to an installer or an auditor (safety 4 and 11). */
  readonly consent?: string | undefined;
}

/** New codes of a user. Without a new duress code the one there is stays. */
export type NewCodes = Pick<NewUser, 'code' | 'duressCode' | 'consent'>;

/** A user of the configuration file; only that file can change it. */
export interface ConfiguredUser {
  readonly id: string;
  readonly name: string;
  readonly code: Secret;
  readonly duress_code?: Secret | undefined;
}

/** What a code says of a person, and for the audit why it says nothing. */
export interface CodeVerdict extends CodeCheck {
  /** Only with `bad`: whose code it is and why it does not count, or that nobody has it. For the audit alone. */
  readonly refused?: { readonly why: 'unknown' } | { readonly why: Unfit; readonly user: string };
}

/** Finds the user of a code, for everything that takes one. */
export interface Codes extends Part {
  /**
   * One keyed lookup and one scrypt for every try, whatever the code is and however many users there are (safety 10).
   * Throws `queue_full` when too many tries wait.
   */
  check(code: string | undefined): Promise<CodeVerdict>;
}

/** The users of the site: those of `users.json`, which can be changed here, and those of the configuration. */
export interface Users extends Codes {
  /** Other users of the configuration from now on. */
  replace(users: readonly ConfiguredUser[]): void;
  /** Those of the configuration first, then those of the file in the order they were added. */
  list(): Promise<readonly ListedUser[]>;
  /** Durable when it resolves. Throws `code_refused`, `user_refused`, `users_unusable`, `queue_full`. */
  add(user: NewUser, by: string): Promise<UserRecord>;
  /**
   * Changes the codes of a user; the old ones count no more when it resolves. As `add`; `user_unknown`. It takes the consent
   * of an owner for an owner, and for the roles that come in with it.
   */
  setCode(id: string, codes: NewCodes): Promise<void>;
  /** As `add`; `user_unknown`; `last_owner` unless `lastOwner` says that it is meant. */
  remove(id: string, options?: { readonly lastOwner?: boolean }): Promise<void>;
}

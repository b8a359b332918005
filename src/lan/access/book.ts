import { z } from 'zod';
import { userId, userName } from '#site/model/index.ts';
import { claimCode } from './claim-code.ts';
import { keptKey, maxKeys } from './keys.ts';
import { keptPassword } from './password-hash.ts';
import { roles } from './permissions.ts';

export const maxPeople = 64;

/** An account of a person. It has no code: who disarms is a user (`site/users`). */
export const keptPerson = z.strictObject({
  /** What is typed to log in. */
  id: userId,
  name: userName,
  role: z.enum(roles),
  createdAt: z.iso.datetime(),
  /** An account, or `claim`. */
  createdBy: z.string().min(1).max(32),
  password: keptPassword,
  /** When the first password of his own was set. Until then it is one that somebody else gave. */
  acceptedAt: z.iso.datetime().exactOptional(),
  /** An end in UTC; an owner has none. */
  validUntil: z.iso.datetime().exactOptional(),
  /** The owner who lets an installer in after the hand-over. */
  consentedBy: userId.exactOptional(),
});
export type KeptPerson = z.infer<typeof keptPerson>;

/** An account as it may be shown. */
export type ShownPerson = Omit<KeptPerson, 'password'>;
export const shownPerson = ({ password: _, ...person }: KeptPerson): ShownPerson => person;

const isUnique = (texts: readonly string[]): boolean => new Set(texts).size === texts.length;

/** What `access.json` holds. */
export const accessBook = z
  .strictObject({
    version: z.literal(1),
    /** When the site became its owner's; stays for good. */
    handedOver: z.iso.datetime().exactOptional(),
    /** While nobody has an account. It dies on use. */
    claim: claimCode.exactOptional(),
    people: z.array(keptPerson).max(maxPeople).readonly(),
    keys: z.array(keptKey).max(maxKeys).readonly(),
  })
  .refine(({ people }) => isUnique(people.map(({ id }) => id)), 'an account stands twice')
  .refine(({ keys }) => isUnique(keys.map(({ id }) => id)), 'a key stands twice')
  .refine(
    ({ claim, people }) => (claim === undefined) === people.length > 0,
    'a claim code beside accounts, or neither',
  );
export type AccessBook = z.infer<typeof accessBook>;

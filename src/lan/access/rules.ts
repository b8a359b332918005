import { SitewardError } from '#errors.ts';
import { type ClockQuality, isoTime } from '#site/model/index.ts';
import { type AccessBook, type KeptPerson, keptPerson, maxPeople } from './book.ts';
import { type KeptKey, keptKey, maxKeys } from './keys.ts';
import type { KeptPassword } from './password-hash.ts';
import type { Role, Scope } from './permissions.ts';

/** The rules of accounts and keys: what is kept, who asks, when; what is kept then. They throw `access_refused`, `access_unknown`. */
export interface Now {
  readonly wall: number;
  readonly clock: ClockQuality;
}

/** The consent of an owner lasts so long at most (safety 11). */
const longestConsentMs = 30 * 86_400_000;

/** Why somebody does not come in, although the password is right. */
export type Unfit = 'consent' | 'expired' | 'clock';

export const unfitText: Readonly<Record<Unfit, string>> = {
  consent:
    'the site has an owner, who has to let an installer in, for a time, and to add anew whom the installer added',
  expired: 'the time of this account or key is over',
  clock: 'this account or key ends at some time, and the clock of the bridge cannot be trusted at the moment',
};

/** A clock in doubt never makes a time longer: whoever has an end waits outside until it is known again. */
export function unfit(book: AccessBook, person: KeptPerson, now: Now): Unfit | undefined {
  const takesConsent =
    person.role === 'installer' ? person.consentedBy === undefined : isGivenByInstaller(book, person);
  return book.handedOver !== undefined && takesConsent ? 'consent' : over(person.validUntil, now);
}

/** An installer who knows the password of an account could come in as somebody else after the hand-over (safety 11). */
const isGivenByInstaller = ({ people }: AccessBook, { acceptedAt, createdBy }: KeptPerson): boolean =>
  acceptedAt === undefined && !people.some(({ id, role }) => id === createdBy && role === 'owner');

/** A key counts while whoever made it may come in. */
export function keyUnfit(book: AccessBook, key: KeptKey, now: Now): Unfit | undefined {
  const maker = book.people.find(({ id }) => id === key.createdBy);
  if (maker?.acceptedAt === undefined) return 'consent';
  return unfit(book, maker, now) ?? over(key.expiresAt, now);
}

function over(end: string | undefined, { wall, clock }: Now): Unfit | undefined {
  if (end === undefined) return undefined;
  if (clock === 'doubtful') return 'clock';
  return wall >= Date.parse(end) ? 'expired' : undefined;
}

export interface NewPerson {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** UTC. */
  readonly validUntil?: string | undefined;
}

/** The first account, by the claim code. Where a hand-over was, only an owner comes back. */
export function claimed(
  book: AccessBook,
  person: Omit<NewPerson, 'validUntil'>,
  password: KeptPassword,
  now: Now,
): AccessBook {
  if (book.claim === undefined) throw refused('the bridge has been claimed already', 'code');
  mustBeClaimRole(book, person.role);
  const at = isoTime(now.wall);
  const first = whole({ ...person, createdAt: at, createdBy: 'claim', password, acceptedAt: at });
  const { claim: _, ...rest } = book;
  return handedOverBy({ ...rest, people: [first] }, first, at);
}

export function mustBeClaimRole({ handedOver }: AccessBook, role: Role): void {
  if (role !== 'owner' && role !== 'installer') throw refused('the first account is an owner or an installer', 'role');
  if (role !== 'owner' && handedOver !== undefined)
    throw refused('the site was handed over to its owner; the first account is an owner', 'role');
}

/** The password is one that `by` knows; the account may nothing until it has another. */
export function personAdded(
  book: AccessBook,
  by: KeptPerson,
  person: NewPerson,
  password: KeptPassword,
  now: Now,
): AccessBook {
  mustManage(book, by);
  if (book.people.length >= maxPeople) throw refused(`there are ${maxPeople} accounts already`, 'id');
  if (book.people.some(({ id }) => id === person.id)) throw refused('there is an account of this id', 'id');
  const { validUntil, ...rest } = person;
  const added = whole({ ...rest, createdAt: isoTime(now.wall), createdBy: by.id, password });
  return { ...book, people: [...book.people, limited(book, by, added, validUntil, now)] };
}

/** Another end, or none. For an installer after the hand-over an end is the consent, and none withdraws it. */
export function personLimited(
  book: AccessBook,
  by: KeptPerson,
  id: string,
  validUntil: string | undefined,
  now: Now,
): AccessBook {
  if (by.role !== 'owner') throw refused('only an owner limits accounts', 'id');
  return changed(book, id, (person) => {
    const { validUntil: _, consentedBy: __, ...rest } = person;
    const isWithdrawn = person.role === 'installer' && book.handedOver !== undefined && validUntil === undefined;
    return isWithdrawn ? rest : limited(book, by, rest, validUntil, now);
  });
}

export function personRemoved(book: AccessBook, by: KeptPerson, id: string): AccessBook {
  mustManage(book, by);
  mustBeThere(book, id);
  const people = book.people.filter((person) => person.id !== id);
  const needed: Role = book.handedOver === undefined ? 'installer' : 'owner';
  if (!people.some(({ role, acceptedAt }) => role === needed && acceptedAt !== undefined))
    throw refused(`this is the last ${needed} who can manage accounts; add another one first`, 'id');
  return { ...book, people, keys: book.keys.filter(({ createdBy }) => createdBy !== id) };
}

/** The first password of an owner's own is the hand-over. */
export function passwordSet(book: AccessBook, id: string, password: KeptPassword, now: Now): AccessBook {
  const at = isoTime(now.wall);
  const next = changed(book, id, (person) => ({ acceptedAt: at, ...person, password }));
  const person = next.people.find((one) => one.id === id);
  return person === undefined ? next : handedOverBy(next, person, at);
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** UTC. */
  readonly expiresAt?: string | undefined;
}

export function keyAdded(
  book: AccessBook,
  by: KeptPerson,
  { name, scopes, expiresAt }: NewKey,
  made: Pick<KeptKey, 'id' | 'hash'>,
  now: Now,
): AccessBook {
  if (by.role !== 'owner' && by.role !== 'installer') throw refused('only owners and installers make keys', 'name');
  if (book.keys.length >= maxKeys) throw refused(`there are ${maxKeys} keys already; remove one`, 'name');
  if (expiresAt !== undefined) mustBeAhead(expiresAt, 'expires_at', now);
  const read = keptKey.safeParse({
    ...made,
    name,
    scopes: [...new Set(scopes)],
    createdAt: isoTime(now.wall),
    createdBy: by.id,
    ...(expiresAt !== undefined && { expiresAt }),
  });
  if (!read.success) throw refused(`the key does not fit: ${read.error.issues[0]?.path.join('.')}`, 'name');
  return { ...book, keys: [...book.keys, read.data] };
}

/** An owner removes any; an installer those of his own. */
export function keyRemoved(book: AccessBook, by: KeptPerson, id: string): AccessBook {
  const found = book.keys.find((key) => key.id === id);
  if (found === undefined || (by.role !== 'owner' && found.createdBy !== by.id)) throw unknown('API key');
  return { ...book, keys: book.keys.filter((key) => key !== found) };
}

function handedOverBy(book: AccessBook, { role }: KeptPerson, at: string): AccessBook {
  return role === 'owner' && book.handedOver === undefined ? { ...book, handedOver: at } : book;
}

function mustManage({ handedOver }: AccessBook, { role, acceptedAt }: KeptPerson): void {
  const mayManage = role === 'owner' || (role === 'installer' && handedOver === undefined);
  if (mayManage && acceptedAt !== undefined) return;
  throw refused('since the hand-over only an owner manages accounts', 'id');
}

function limited(book: AccessBook, by: KeptPerson, person: KeptPerson, end: string | undefined, now: Now): KeptPerson {
  const takesConsent = person.role === 'installer' && book.handedOver !== undefined;
  if (end === undefined) {
    if (takesConsent) throw refused('an installer comes for a time; say until when', 'valid_until');
    return person;
  }
  if (person.role === 'owner') throw refused('an owner has no limit in time', 'valid_until');
  mustBeAhead(end, 'valid_until', now);
  if (!takesConsent) return { ...person, validUntil: end };
  if (Date.parse(end) - now.wall > longestConsentMs)
    throw refused('an installer comes in for 30 days at most; consent again then', 'valid_until');
  return { ...person, validUntil: end, consentedBy: by.id };
}

function mustBeAhead(end: string, field: string, { wall, clock }: Now): void {
  if (clock === 'doubtful')
    throw refused('the clock of the bridge cannot be trusted at the moment, so that no end can be set', field);
  // What cannot be read is not ahead.
  if (!(Date.parse(end) > wall)) throw refused('the time is over already', field);
}

function changed(book: AccessBook, id: string, change: (person: KeptPerson) => KeptPerson): AccessBook {
  mustBeThere(book, id);
  return { ...book, people: book.people.map((person) => (person.id === id ? change(person) : person)) };
}

function mustBeThere({ people }: AccessBook, id: string): void {
  if (!people.some((person) => person.id === id)) throw unknown('account');
}

function whole(person: KeptPerson): KeptPerson {
  const read = keptPerson.safeParse(person);
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0] ?? { path: [], message: 'cannot be read' };
  throw refused(`${path.join('.')} ${message}`, path.join('.'));
}

export const refused = (reason: string, field: string): SitewardError =>
  new SitewardError('access_refused', reason, { facts: { field } });
export const unknown = (what: 'account' | 'session' | 'API key'): SitewardError =>
  new SitewardError('access_unknown', `there is no ${what} of this id`);

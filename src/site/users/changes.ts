import { randomBytes } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { guessLock } from '#lib/guess-lock.ts';
import { type ClockQuality, isoTime, type UserRole } from '#site/model/index.ts';
import type { Book } from './book.ts';
import { inUse } from './code-rules.ts';
import type { ConfiguredCodes } from './configured.ts';
import type { Keyed, SlowHash } from './hashing.ts';
import { mustBeCodes, type Person, personOf, refused } from './new-user.ts';
import { type CodeVerdict, type KeptCode, type KeptUser, maxUsers, recordOf, type Users } from './types.ts';
import type { SiteTime } from './validity.ts';

export interface ChangesOptions {
  readonly book: Book;
  readonly configured: () => ConfiguredCodes;
  readonly hash: SlowHash;
  readonly verdict: (code: string) => Promise<CodeVerdict>;
  readonly now: () => { readonly at: SiteTime; readonly clock: ClockQuality };
  readonly clock: Clock;
  /** A duress code was given as consent; the id of whose it is. */
  readonly onDuress: (actor: string) => void;
}

/** Changes that may wait for each other. */
const waitingCap = 8;

/** Changes of `users.json`, one after the other. */
export function createChanges(
  options: ChangesOptions,
): Pick<Users, 'add' | 'remove' | 'setCode'> & { settled(): Promise<void> } {
  const { book, hash, clock } = options;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  /** For new codes and consents: adding users is no way to search for codes. */
  const guesses = guessLock(clock);

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= waitingCap)
      throw new SitewardError('queue_full', 'other changes of users are under way; try again in a moment');
    waiting += 1;
    const done = last.then(book.lookAgain).then(work);
    last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      waiting -= 1;
    }
  }

  function guess(error: SitewardError): SitewardError {
    guesses.count();
    return error;
  }

  function mustNotSearch(): void {
    const leftMs = guesses.leftMs();
    if (leftMs > 0) throw refused(`too many codes were refused; wait ${Math.ceil(leftMs / 1000)} s`, 'code');
  }

  /** Owners, installers and auditors come with the consent of an owner, as soon as there is one (safety 4 and 11). */
  async function mustBeAgreed({ role }: Pick<Person, 'role'>, consent: string | undefined): Promise<void> {
    if (!takesConsent(role) || !book.usable().users.some((user) => user.role === 'owner')) return;
    if (consent === undefined) throw refused(`an ${role} needs the code of an owner, who agrees`, 'consent');
    await mustBeOwners(consent);
  }

  async function mustBeOwners(consent: string): Promise<void> {
    const { role, code, actor } = await options.verdict(consent);
    // Whoever is forced to agree agrees, and nobody here can tell (safety 4).
    if (code === 'duress' && actor !== undefined) options.onDuress(actor);
    if (role !== 'owner') throw guess(refused('the code of consent is not that of an owner', 'consent'));
  }

  /** Otherwise whoever may open the control socket would be whom he likes: an owner, who agrees to everybody else. */
  async function mustBeAgreedAnew(user: KeptUser, consent: string | undefined): Promise<void> {
    if (user.role !== 'owner') return mustBeAgreed(user, consent);
    if (consent === undefined)
      throw refused('a new code of an owner needs the code of an owner, who agrees', 'consent');
    await mustBeOwners(consent);
  }

  function mustBeNew({ id }: Person): void {
    const { users } = book.usable();
    if (users.length >= maxUsers) throw refused(`there are ${maxUsers} already`, 'id');
    if ([...users, ...options.configured().users].some((user) => user.id === id))
      throw refused('there is a user of this id', 'id');
  }

  async function kept(code: string, what: 'code' | 'duress code', keys: Keyed): Promise<KeptCode> {
    const find = keys.find(code);
    if (book.entry(find) !== undefined || options.configured().find(code) !== undefined) throw guess(inUse(what));
    const salt = randomBytes(16);
    const derived = await hash.derive(keys.secret(code), salt);
    return { find, salt: salt.toString('base64url'), hash: derived.toString('base64url') };
  }

  return {
    add: (user, by) =>
      inTurn(async () => {
        mustNotSearch();
        const now = options.now();
        const person = personOf(user, now.at, now.clock);
        mustBeNew(person);
        await mustBeAgreed(person, user.consent);
        const keys = await book.keys();
        const code = await kept(user.code, 'code', keys);
        const duress = user.duressCode === undefined ? undefined : await kept(user.duressCode, 'duress code', keys);
        const added: KeptUser = {
          ...person,
          createdAt: isoTime(clock.wall()),
          createdBy: by.slice(0, 64),
          code,
          ...(duress !== undefined && { duress }),
        };
        await book.write([...book.usable().users, added], keys);
        return recordOf(added);
      }),

    setCode: (id, given) =>
      inTurn(async () => {
        mustNotSearch();
        const { users } = book.usable();
        const found = users.find((user) => user.id === id);
        if (found === undefined) throw nobody(options.configured().users.some((one) => one.id === id));
        mustBeCodes(given, found);
        await mustBeAgreedAnew(found, given.consent);
        const keys = await book.keys();
        const code = await kept(given.code, 'code', keys);
        const duress =
          given.duressCode === undefined ? found.duress : await kept(given.duressCode, 'duress code', keys);
        const changed: KeptUser = { ...found, code, ...(duress !== undefined && { duress }) };
        await book.write(
          book.usable().users.map((user) => (user.id === id ? changed : user)),
          keys,
        );
      }),

    remove: (id, { lastOwner = false } = {}) =>
      inTurn(async () => {
        const { users, keyed: keys } = book.usable();
        const found = users.find((user) => user.id === id);
        if (found === undefined || keys === undefined)
          throw nobody(options.configured().users.some((one) => one.id === id));
        const isLast = found.role === 'owner' && users.filter(({ role }) => role === 'owner').length === 1;
        if (isLast && !lastOwner)
          throw new SitewardError(
            'last_owner',
            'this is the last owner; say --yes (`last_owner` over the API) if nobody shall be owner any more',
          );
        const others = users.filter((user) => user !== found);
        await book.write(others, keys);
      }),

    async settled() {
      await last;
    },
  };
}

/** An owner agrees to everybody else, an installer gets at everything, an auditor sees who was forced. */
const takesConsent = (role: UserRole): boolean => role === 'owner' || role === 'installer' || role === 'auditor';

const nobody = (isConfigured: boolean): SitewardError =>
  isConfigured
    ? refused('it stands in the configuration file; change it there', 'id')
    : new SitewardError('user_unknown', 'there is no user of this id; "siteward user list" lists them');

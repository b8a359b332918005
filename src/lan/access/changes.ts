import { SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { type Act, accountRef, keyRef } from './audit.ts';
import { type AccessBook, type KeptPerson, shownPerson } from './book.ts';
import type { Inside } from './door.ts';
import { makeKey, shownKey } from './keys.ts';
import { passwordOfNobody } from './password-hash.ts';
import { mustBePassword } from './password-rules.ts';
import { keyAdded, keyRemoved, personAdded, personLimited, personRemoved, unfit, unknown } from './rules.ts';
import type { Access, By } from './types.ts';

type Changes = Pick<Access, 'addPerson' | 'limitPerson' | 'removePerson' | 'addKey' | 'removeKey' | 'endSession'>;

/** Changes of accounts, keys and sessions by those who may; each is told to the audit once it is durable, a refusal too. */
export function createChanges({ keeping, sessions, hash, now, tell }: Inside): Changes {
  /** The rules ask the account as it is when its turn comes, not as it was when it asked. */
  function askerIn(book: AccessBook, { caller }: By): KeptPerson {
    const person = caller.kind === 'person' ? book.people.find(({ id }) => id === caller.id) : undefined;
    if (person === undefined || unfit(book, person, now()) !== undefined)
      throw new SitewardError(
        'access_denied',
        'this takes the account of an owner, or of an installer before the hand-over',
      );
    return person;
  }

  const isOut = (book: AccessBook, id: string): boolean =>
    book.people.some((one) => one.id === id && unfit(book, one, now()) !== undefined);

  async function told<T>(by: By, act: Pick<Act, 'action' | 'target'>, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SitewardError) tell({ ...act, from: by.from, actor: actorOf(by), reason: error.code });
      throw error;
    }
  }

  return {
    addPerson: (by, { password, ...person }, signal) =>
      told(by, { action: 'account_added' }, async () => {
        mustBePassword(password, person);
        // Before the slow hash too, so that nobody is kept busy for nothing.
        personAdded(keeping.book(), askerIn(keeping.book(), by), person, passwordOfNobody, now());
        const kept = await hash.make(password, signal);
        const book = await keeping.change((book) => personAdded(book, askerIn(book, by), person, kept, now()));
        tell({
          ...of(by),
          action: 'account_added',
          target: `account ${person.id}`,
          after: untilText(person.role, person.validUntil),
        });
        return shownPerson(must(book, person.id));
      }),

    limitPerson: (by, id, validUntil) =>
      told(by, { action: 'account_limited' }, async () => {
        let before: string | undefined;
        let wasOut = false;
        const book = await keeping.change((book) => {
          before = book.people.find((one) => one.id === id)?.validUntil;
          wasOut = isOut(book, id);
          return personLimited(book, askerIn(book, by), id, validUntil, now());
        });
        // A later consent is for a new login: no session of an earlier time comes back with it.
        if (wasOut || isOut(book, id)) sessions.endAll(id);
        const act = { action: 'account_limited', target: `account ${id}`, after: validUntil ?? 'none' };
        tell({ ...of(by), ...act, before: before ?? 'none' });
      }),

    removePerson: (by, id) =>
      told(by, { action: 'account_removed' }, async () => {
        let before: string | undefined;
        await keeping.change((book) => {
          before = book.people.find((one) => one.id === id)?.role;
          return personRemoved(book, askerIn(book, by), id);
        });
        sessions.endAll(id);
        tell({ ...of(by), action: 'account_removed', target: `account ${id}`, before });
      }),

    addKey: (by, key) =>
      told(by, { action: 'key_added' }, async () => {
        let made: ReturnType<typeof makeKey> | undefined;
        const book = await keeping.change((book) => {
          made = makeKey((id) => book.keys.some((one) => one.id === id));
          return keyAdded(book, askerIn(book, by), key, { id: made.id, hash: made.hash }, now());
        });
        const added = book.keys.find(({ id }) => id === made?.id);
        if (made === undefined || added === undefined) throw unknown('API key');
        tell({
          ...of(by),
          action: 'key_added',
          target: `key ${added.id}`,
          after: untilText(added.scopes.join(' '), key.expiresAt),
        });
        return { key: shownKey(added), token: new Secret(made.token) };
      }),

    removeKey: (by, id) =>
      told(by, { action: 'key_removed' }, async () => {
        let before: string | undefined;
        await keeping.change((book) => {
          before = book.keys.find((one) => one.id === id)?.scopes.join(' ');
          return keyRemoved(book, askerIn(book, by), id);
        });
        tell({ ...of(by), action: 'key_removed', target: `key ${id}`, before });
      }),

    endSession(by, id, anybodys = false) {
      const { caller } = by;
      const own = caller.kind === 'person' ? caller.id : '';
      const isTheirs = caller.kind === 'local' || (caller.kind === 'person' && caller.role === 'owner');
      const whose = sessions.list().find((session) => session.id === id)?.person;
      if (whose === undefined || !sessions.end(id, anybodys && isTheirs ? undefined : own)) throw unknown('session');
      tell({ ...of(by), action: 'session_ended', target: `session ${id}`, before: `account ${whose}` });
    },
  };
}

const actorOf = ({ caller }: By): string | undefined =>
  caller.kind === 'person' ? accountRef(caller.id) : caller.kind === 'key' ? keyRef(caller.id) : undefined;

const of = (by: By) => ({ from: by.from, actor: actorOf(by) });

const untilText = (what: string, until: string | undefined): string =>
  until === undefined ? what : `${what} until ${until}`;

function must(book: AccessBook, id: string): KeptPerson {
  const found = book.people.find((person) => person.id === id);
  if (found === undefined) throw unknown('account');
  return found;
}

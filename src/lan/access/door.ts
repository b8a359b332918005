import { isCode, SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { type Act, accountRef, fromOf } from './audit.ts';
import type { KeptPerson } from './book.ts';
import type { ClaimTries } from './claim-code.ts';
import type { Delays } from './delays.ts';
import type { Keeping } from './keeping.ts';
import type { PasswordHash } from './password-hash.ts';
import { longestPassword, mustBePassword } from './password-rules.ts';
import type { Caller } from './permissions.ts';
import { claimed, mustBeClaimRole, type Now, passwordSet, refused, unfit, unfitText } from './rules.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Access, Claim, Login, Opened } from './types.ts';

export type LoginResult = 'ok' | 'wrong' | 'unfit' | 'wait' | 'busy' | 'claim_ok' | 'claim_wrong' | 'claim_wait';

export interface Inside {
  readonly keeping: Keeping;
  readonly sessions: Sessions;
  readonly hash: PasswordHash;
  readonly delays: Delays;
  readonly tries: ClaimTries;
  readonly now: () => Now;
  readonly tell: (act: Act) => void;
  readonly count: (result: LoginResult) => void;
}

/** The ways in: claim, login, a password of one's own. */
export function createDoor(inside: Inside): Pick<Access, 'claim' | 'login' | 'setOwnPassword'> {
  const { keeping, sessions, hash, delays, tries, now, tell, count } = inside;

  /** The account whose password it is; undefined after the same work for whatever is wrong. */
  async function prove(
    action: 'login' | 'password',
    { id, password, address }: Pick<Login, 'id' | 'password' | 'address'>,
    signal: AbortSignal,
  ): Promise<KeptPerson | undefined> {
    await keeping.lookAgain();
    keeping.book();
    const waitMs = delays.waitMs(id, address);
    if (waitMs > 0) {
      count('wait');
      throw wait('too many wrong passwords', waitMs);
    }
    const mine = delays.begin(id, address);
    const before = personOf(id);
    const isRight = await checked(password, before, delays.isTrusted(id, address), signal).catch((error: unknown) => {
      mine.untried();
      if (isCode(error, 'access_busy')) count('busy');
      throw error;
    });
    const person = personOf(id);
    // It may have been removed, or been given another password, while the hash was made.
    if (isRight && person !== undefined && person.password.hash === before?.password.hash) {
      mine.right();
      return person;
    }
    count('wrong');
    tell({ action, from: fromOf(address), actor: person && accountRef(person.id), reason: 'password' });
    return undefined;
  }

  const personOf = (id: string): KeptPerson | undefined => keeping.book().people.find((one) => one.id === id);

  /** What is longer than any password costs the same, and is none. */
  function checked(password: string, person: KeptPerson | undefined, isAhead: boolean, signal: AbortSignal) {
    const fits = password.length <= 4 * longestPassword;
    return hash.isRight(fits ? password : '', fits ? person?.password : undefined, signal, isAhead);
  }

  function open(person: KeptPerson, address: string): Opened {
    const { token, session } = sessions.open(person.id, address);
    return { token: new Secret(token), caller: callerOf(person, session) };
  }

  /** Only whoever has the right password is told why it does not count now. */
  function mustBeFit(person: KeptPerson, address: string): void {
    const why = unfit(keeping.book(), person, now());
    if (why === undefined) return;
    count('unfit');
    tell({ action: 'login', from: fromOf(address), actor: accountRef(person.id), reason: why });
    throw new SitewardError('access_denied', unfitText[why]);
  }

  function mustBeTheCode({ code, address }: Claim): string {
    const { claim } = keeping.book();
    if (claim === undefined) throw refused('the bridge has been claimed already', 'code');
    const pauseMs = tries.pauseMs();
    if (pauseMs > 0) {
      count('claim_wait');
      throw wait('too many wrong claim codes', pauseMs);
    }
    if (tries.isRight(code, claim)) return claim;
    count('claim_wrong');
    tell({ action: 'claim', from: fromOf(address), reason: 'code' });
    const nextMs = tries.pauseMs();
    if (nextMs > 0) throw wait('too many wrong claim codes', nextMs);
    throw new SitewardError('access_needed', 'the claim code is wrong');
  }

  return {
    async claim(claim, signal) {
      await keeping.lookAgain();
      const { id, name, role, password, address } = claim;
      // Before the code, so that a right one does not die of a short password.
      mustBePassword(password, { id, name });
      mustBeClaimRole(keeping.book(), role);
      const code = mustBeTheCode(claim);
      const kept = await hash.make(password, signal);
      const book = await keeping.change((now_) => {
        if (now_.claim !== code) throw refused('the bridge was claimed, or got another code, meanwhile', 'code');
        return claimed(now_, { id, name, role }, kept, now());
      });
      count('claim_ok');
      tries.forget();
      // Who came in by the code came in: a flood from elsewhere does not hold it up.
      delays.begin(id, address).right();
      const by = { from: fromOf(address), actor: accountRef(id) };
      tell({ ...by, action: 'claim', target: `account ${id}`, after: role });
      if (book.handedOver !== undefined) tell({ ...by, action: 'handed_over' });
      return open(must(personOf(id)), address);
    },

    async login({ id, password, address, replaces }, signal) {
      // Telephones begin every word with a capital letter, and put a blank behind it.
      const person = await prove('login', { id: id.trim().toLowerCase(), password, address }, signal);
      if (person === undefined) throw new SitewardError('access_needed', 'name or password is wrong');
      mustBeFit(person, address);
      const old = replaces === undefined ? undefined : sessions.use(replaces);
      if (old !== undefined) sessions.end(old.id);
      count('ok');
      tell({ action: 'login', from: fromOf(address), actor: accountRef(person.id) });
      return open(person, address);
    },

    async setOwnPassword({ caller, from }, { current, next }, signal) {
      if (caller.kind !== 'person') throw new SitewardError('access_denied', 'this takes an account');
      const address = from === 'local' ? 'local' : from.address;
      const person = await prove('password', { id: caller.id, password: current, address }, signal);
      // The session counts all the same: it is no reason to log in again.
      if (person === undefined) throw refused('the current password is wrong', 'current');
      mustBeFit(person, address);
      mustBePassword(next, person);
      if (next === current) throw refused('the new password is the old one', 'password');
      const kept = await hash.make(next, signal);
      const before = keeping.book().handedOver;
      const book = await keeping.change((now_) => {
        // Whoever had the old one and is gone meanwhile, or does not come in any more, sets none.
        const still = now_.people.find((one) => one.id === person.id);
        if (still?.password.hash !== person.password.hash || unfit(now_, still, now()) !== undefined)
          throw refused('the password was changed meanwhile, or the account does not count any more', 'password');
        return passwordSet(now_, person.id, kept, now());
      });
      sessions.endAll(person.id);
      const by = { from, actor: accountRef(person.id) };
      tell({ ...by, action: 'password', target: `account ${person.id}`, after: 'changed' });
      if (before === undefined && book.handedOver !== undefined) tell({ ...by, action: 'handed_over' });
      return open(must(personOf(person.id)), address);
    },
  };
}

export const callerOf = ({ id, role, acceptedAt }: KeptPerson, session: Session): Opened['caller'] =>
  ({ kind: 'person', id, role, session: session.id, mustChange: acceptedAt === undefined }) satisfies Caller;

/** How long is said by `Retry-After` alone, so that whoever shows it says it once and in their own words. */
const wait = (why: string, waitMs: number): SitewardError =>
  new SitewardError('access_wait', why, { facts: { retryAfterMs: waitMs } });

function must(person: KeptPerson | undefined): KeptPerson {
  if (person === undefined) throw new SitewardError('access_needed', 'the account was removed meanwhile');
  return person;
}

import {
  type Access,
  type By,
  type Caller,
  credentialsOf,
  denial,
  endedCookie,
  type Opened,
  type Session,
  sessionCookie,
  sessionTimes,
  type Unfit,
} from '#lan/access/index.ts';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { isoTime } from '#site/model/index.ts';
import type { accessOperations } from './access-operations.ts';
import type { KeyEntry, PersonEntry, SelfAnswer, SessionShown } from './access-schemas.ts';
import { json } from './answering.ts';
import { cloudOperations } from './cloud-operations.ts';
import { lanOperations } from './operations.ts';

/** Those who wait for a slow hash, two hashes and a synced file on a slow card. */
const changeMs = 8000;

/**
 * Accounts, sessions and API keys. Who may ask was judged before, by the table of permissions; the rules of the room judge what is
 * asked. Sessions travel in the cookie alone.
 */
export function accessHandlers(access: () => Access): Handlers<typeof accessOperations, By> {
  const timely = <T>(signal: AbortSignal, what: string, work: (signal: AbortSignal) => Promise<T>) =>
    withDeadline(changeMs, signal, work, what);

  return {
    async claim({ body, identity, signal }) {
      const claim = { ...body, address: addressOf(identity) };
      return entered(await timely(signal, 'claiming', (until) => access().claim(claim, until)));
    },
    async login({ body, identity, header, signal }) {
      const { session: replaces } = credentialsOf(header('authorization'), header('cookie'));
      const login = { ...body, address: addressOf(identity), replaces };
      return entered(await timely(signal, 'logging in', (until) => access().login(login, until)));
    },
    logout({ identity }) {
      access().logout(identity);
      return withCookie(json({ logged_out: identity.caller.kind === 'person' }), endedCookie);
    },
    getSelf: ({ identity: { caller } }) => json(selfOf(caller)),
    async setOwnPassword({ body: { current, password: next }, identity, signal }) {
      const set = (until: AbortSignal) => access().setOwnPassword(identity, { current, next }, until);
      return entered(await timely(signal, 'setting the password', set));
    },
    listOwnSessions: ({ identity: { caller } }) =>
      json({ items: caller.kind === 'person' ? sessionsOf(access().sessions(caller.id), caller) : [] }),
    endOwnSession({ params: { id }, identity }) {
      access().endSession(identity, id);
      return json({ ended: id });
    },
    listSessions: ({ identity: { caller } }) => json({ items: sessionsOf(access().sessions(), caller) }),
    endSession({ params: { id }, identity }) {
      access().endSession(identity, id, true);
      return json({ ended: id });
    },

    listPeople: () => json({ items: access().people().map(personOf), handed_over: access().handedOver() ?? null }),
    async addPerson({ body: { valid_until: validUntil, ...person }, identity, signal }) {
      const wanted = { ...person, validUntil };
      const added = await timely(signal, 'adding an account', (until) => access().addPerson(identity, wanted, until));
      return json(personOf({ ...added, now: 'password not changed yet' }));
    },
    async limitPerson({ params: { id }, body, identity, signal }) {
      const limit = () => access().limitPerson(identity, id, body.valid_until ?? undefined);
      await timely(signal, 'limiting an account', limit);
      return json({ changed: id });
    },
    async removePerson({ params: { id }, identity, signal }) {
      await timely(signal, 'removing an account', () => access().removePerson(identity, id));
      return json({ removed: id });
    },

    listKeys: () => json({ items: access().keys().map(keyOf) }),
    async addKey({ body: { expires_at: expiresAt, ...key }, identity, signal }) {
      const made = await timely(signal, 'making a key', () => access().addKey(identity, { ...key, expiresAt }));
      return json({ key: keyOf({ ...made.key, now: 'valid' }), token: made.token.reveal() });
    },
    async removeKey({ params: { id }, identity, signal }) {
      await timely(signal, 'removing a key', () => access().removeKey(identity, id));
      return json({ removed: id });
    },

    showClaimCode() {
      const code = access().claimCode()?.reveal();
      return json({ claimed: code === undefined, ...(code !== undefined && { claim_code: code }) });
    },
    async resetAccess({ signal }) {
      const lost = countsOf(access());
      const code = await timely(signal, 'resetting access', () => access().reset());
      return json({ lost, claim_code: code.reveal() });
    },
  };
}

/** The control socket is a place of its own, as far as delays go. */
const addressOf = ({ from }: By): string => (from === 'local' ? 'local' : from.address);

const withCookie = (reply: Reply, cookie: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, 'set-cookie': cookie },
});

const entered = ({ token, caller }: Opened): Reply => withCookie(json(selfOf(caller)), sessionCookie(token.reveal()));

function selfOf(caller: Caller): SelfAnswer {
  const operations = Object.keys({ ...lanOperations, ...cloudOperations }).filter(
    (id) => denial(caller, id) === undefined,
  );
  if (caller.kind === 'person') {
    const { id, role, mustChange, session } = caller;
    return {
      kind: 'account',
      id,
      role,
      must_change: mustChange,
      session: { id: session, ...sessionTimes },
      operations,
    };
  }
  if (caller.kind === 'key')
    return { kind: 'key', id: caller.id, role: caller.role, scopes: [...caller.scopes], operations };
  return { kind: 'local', operations };
}

function sessionsOf(sessions: readonly Session[], caller: Caller): SessionShown[] {
  const own = caller.kind === 'person' ? caller.session : undefined;
  return sessions.map(({ id, person, from, openedAt, usedAt }) => ({
    ...{ id, account: person, from, opened_at: isoTime(openedAt), used_at: isoTime(usedAt) },
    current: id === own,
  }));
}

const nowWords = {
  consent: 'consent needed',
  expired: 'expired',
  clock: 'clock in doubt',
} as const satisfies Record<Unfit, PersonEntry['now']>;

const wordOf = <T extends string>(now: T | Unfit): T | (typeof nowWords)[Unfit] =>
  Object.hasOwn(nowWords, now) ? nowWords[now as Unfit] : (now as T);

function personOf(person: ReturnType<Access['people']>[number]): PersonEntry {
  const { id, name, role, createdAt, createdBy, acceptedAt, validUntil, consentedBy, now } = person;
  return {
    ...{ id, name, role, created_at: createdAt, created_by: createdBy },
    ...(acceptedAt !== undefined && { accepted_at: acceptedAt }),
    ...(validUntil !== undefined && { valid_until: validUntil }),
    ...(consentedBy !== undefined && { consented_by: consentedBy }),
    now: wordOf(now),
  };
}

function keyOf(key: ReturnType<Access['keys']>[number]): KeyEntry {
  const { id, name, scopes, createdAt, createdBy, expiresAt, usedAt, now } = key;
  return {
    ...{ id, name, scopes, created_at: createdAt, created_by: createdBy },
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(usedAt !== undefined && { used_at: usedAt }),
    now: wordOf(now),
  };
}

/** A file that cannot be read has nothing to count. */
function countsOf(access: Access): { accounts: number; keys: number; sessions: number } | null {
  if (access.shown() === 'unusable') return null;
  return { accounts: access.people().length, keys: access.keys().length, sessions: access.sessions().length };
}

import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok } from '#lib/health.ts';
import { Secret } from '#lib/secret.ts';
import { type AuditDraft, type ClockQuality, isoTime } from '#site/model/index.ts';
import { accountRef, createAudit } from './audit.ts';
import { shownPerson } from './book.ts';
import { createChanges } from './changes.ts';
import { createClaimTries } from './claim-code.ts';
import { createDelays } from './delays.ts';
import { callerOf, createDoor, type Inside } from './door.ts';
import { createKeeping } from './keeping.ts';
import { createKeyUse } from './key-use.ts';
import { findKey, shownKey } from './keys.ts';
import { createPasswordHash, type Derive } from './password-hash.ts';
import { type Caller, type Denial, denial } from './permissions.ts';
import { keyUnfit, unfit } from './rules.ts';
import { createSessions } from './sessions.ts';
import type { Access } from './types.ts';

export interface AccessOptions {
  /** The state directory. */
  readonly dir: string;
  readonly clock: Clock;
  readonly quality: () => ClockQuality;
  readonly metrics: Registry;
  /** Entries for the audit log; must not throw. */
  readonly note: (entry: AuditDraft) => void;
  /** Default: scrypt. */
  readonly derive?: Derive;
}

const nobody: Caller = { kind: 'nobody' };

export function createAccess(options: AccessOptions): Access {
  const { clock } = options;
  const meters = metersOf(options.metrics, () => sessions.size);
  const keeping = createKeeping(options);
  const sessions = createSessions({ clock, onGivenWay: () => meters.givenWay.inc() });
  const uses = createKeyUse({ keeping, clock });
  const tries = createClaimTries(clock);
  const tell = createAudit(options.note, clock);
  const now = () => ({ wall: clock.wall(), clock: options.quality() });
  const inside: Inside = {
    ...{ keeping, sessions, tries, tell, now },
    hash: createPasswordHash(options.derive),
    delays: createDelays(clock),
    count: (result) => meters.logins.inc({ result }),
  };

  /** Of a session that counts; whoever does not come in any more has none. */
  function personCaller(token: string): Caller {
    const session = sessions.use(token);
    if (session === undefined) return nobody;
    const book = keeping.book();
    const person = book.people.find(({ id }) => id === session.person);
    if (person !== undefined && unfit(book, person, now()) === undefined) return callerOf(person, session);
    sessions.end(session.id);
    return nobody;
  }

  function keyCaller(token: string): Caller {
    const key = findKey(keeping.book().keys, token);
    const caller = key === undefined ? nobody : keyCallerOf(key.id);
    if (caller.kind === 'key') uses.used(caller.id);
    return caller;
  }

  function keyCallerOf(id: string): Caller {
    const book = keeping.book();
    const key = book.keys.find((one) => one.id === id);
    const maker = book.people.find((one) => one.id === key?.createdBy);
    if (key === undefined || maker === undefined || keyUnfit(book, key, now()) !== undefined) return nobody;
    return { kind: 'key', id, scopes: key.scopes, role: maker.role };
  }

  /** As it is now, without counting as use. */
  function again(caller: Caller): Caller {
    if (caller.kind === 'local') return caller;
    if (caller.kind === 'nobody' || keeping.held() !== undefined) return nobody;
    if (caller.kind === 'key') return keyCallerOf(caller.id);
    const session = sessions.list(caller.id).find(({ id }) => id === caller.session);
    const book = keeping.book();
    const person = book.people.find(({ id }) => id === caller.id);
    if (session === undefined || person === undefined || unfit(book, person, now()) !== undefined) return nobody;
    return callerOf(person, session);
  }

  return {
    name: 'access',
    start: keeping.read,
    async stop() {
      await uses.flush();
      await keeping.settled();
    },
    health: () =>
      healthOf(keeping.held() ?? keeping.note(), () => ({ ...countsOf(keeping.book()), sessions: sessions.size })),

    shown() {
      if (keeping.held() !== undefined) return 'unusable';
      return keeping.book().claim === undefined ? 'claimed' : 'unclaimed';
    },
    caller({ bearer, session }) {
      if (keeping.held() !== undefined) return nobody;
      if (bearer !== undefined) return keyCaller(bearer);
      return session === undefined ? nobody : personCaller(session);
    },
    permit(caller, operation) {
      const why = denial(caller, operation);
      if (why === undefined) return;
      meters.denied.inc({ reason: why });
      const held = keeping.held();
      if (why === 'login' && held !== undefined) throw new SitewardError('access_unusable', held);
      throw why === 'login' ? needed() : new SitewardError('access_denied', denialText[why]);
    },
    mayStay: (caller, operation) => denial(again(caller), operation) === undefined,

    ...createDoor(inside),
    ...createChanges(inside),
    logout({ caller, from }) {
      if (caller.kind !== 'person' || !sessions.end(caller.session, caller.id)) return;
      tell({ action: 'logout', from, actor: accountRef(caller.id) });
    },

    handedOver: () => keeping.book().handedOver,
    people() {
      const book = keeping.book();
      return book.people.map((person) => {
        const given = person.acceptedAt === undefined ? 'password not changed yet' : 'valid';
        return { ...shownPerson(person), now: unfit(book, person, now()) ?? given };
      });
    },
    keys() {
      const book = keeping.book();
      return book.keys.map((key) => {
        const usedAt = uses.of(key);
        return {
          ...shownKey(key),
          ...(usedAt !== undefined && { usedAt }),
          now: keyUnfit(book, key, now()) ?? 'valid',
        };
      });
    },
    sessions: sessions.list,

    claimCode() {
      const { claim } = keeping.book();
      return claim === undefined ? undefined : new Secret(claim);
    },
    async reset() {
      const { claim } = await keeping.reset(isoTime(clock.wall()));
      for (const { person } of sessions.list()) sessions.endAll(person);
      tries.forget();
      tell({ action: 'access_reset', from: 'local' });
      return new Secret(claim ?? '');
    },
  };
}

const needed = () => new SitewardError('access_needed', 'log in, or send an API key that counts');

const denialText: Readonly<Record<Exclude<Denial, 'login'>, string>> = {
  role: 'the role of this account, or of whoever made this API key, does not allow it',
  scope: 'this API key has no scope for it',
  password: 'the password is the one that somebody else gave; set one of your own first',
  local: 'this can be done on the machine alone',
  unknown: 'nobody may do this',
};

function healthOf(reason: string | undefined, facts: () => NonNullable<Health['facts']>): Health {
  return reason === undefined ? ok(facts()) : { state: 'degraded', reason };
}

const countsOf = ({
  people,
  keys,
  claim,
}: {
  people: readonly unknown[];
  keys: readonly unknown[];
  claim?: string;
}) => ({
  claimed: claim === undefined,
  accounts: people.length,
  keys: keys.length,
});

function metersOf(metrics: Registry, openSessions: () => number) {
  const registers = [metrics];
  new Gauge({
    name: 'siteward_access_sessions',
    help: 'Sessions of accounts that are open',
    registers,
    collect() {
      this.set(openSessions());
    },
  });
  return {
    logins: new Counter({
      name: 'siteward_access_logins_total',
      help: 'Logins and claims by result',
      labelNames: ['result'],
      registers,
    }),
    givenWay: new Counter({
      name: 'siteward_access_sessions_given_way_total',
      help: 'Sessions that ended because a newer one took their place at a cap',
      registers,
    }),
    denied: new Counter({
      name: 'siteward_access_denied_total',
      help: 'Requests of callers that may not, by reason',
      labelNames: ['reason'],
      registers,
    }),
  };
}

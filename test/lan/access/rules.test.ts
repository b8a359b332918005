import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AccessBook, accessBook, type KeptPerson, maxPeople } from '#lan/access/book.ts';
import { maxKeys } from '#lan/access/keys.ts';
import { type Role, roles } from '#lan/access/permissions.ts';
import {
  claimed,
  keyAdded,
  keyRemoved,
  keyUnfit,
  type Now,
  passwordSet,
  personAdded,
  personLimited,
  personRemoved,
  unfit,
} from '#lan/access/rules.ts';
import { bookOf, kept, refusal, somePassword } from './rig.ts';

const wall = Date.UTC(2026, 10, 27, 20);
const now: Now = { wall, clock: 'synced' };
const doubtful: Now = { wall, clock: 'doubtful' };
const day = 86_400_000;
const inDays = (days: number) => new Date(wall + days * day).toISOString();
const handedOver = '2026-11-20T10:00:00.000Z';

const ines = kept('ines', 'installer');
const olga = kept('olga', 'owner');
const before = bookOf([ines]);
const after = bookOf([olga, ines], { handedOver });
const person = (role: Role, validUntil?: string) => ({ id: 'new', name: 'New', role, validUntil });
const add = (book: AccessBook, by: KeptPerson, role: Role, validUntil?: string, at = now) =>
  personAdded(book, by, person(role, validUntil), somePassword, at);
const last = (book: AccessBook) => book.people.at(-1) as KeptPerson;

describe('the claim', () => {
  it('makes the first account and dies', () => {
    const book = claimed(bookOf([]), { id: 'ines', name: 'Ines', role: 'installer' }, somePassword, now);
    expect(book).toMatchObject({ people: [{ id: 'ines', role: 'installer', createdBy: 'claim' }] });
    expect(book).not.toHaveProperty('claim');
    expect(book).not.toHaveProperty('handedOver');
    expect(accessBook.parse(book)).toEqual(book);
  });

  it('by an owner is the hand-over', () => {
    expect(claimed(bookOf([]), { id: 'olga', name: 'Olga', role: 'owner' }, somePassword, now).handedOver).toBe(
      inDays(0),
    );
  });

  it.each<[Role, string | undefined]>([
    ['viewer', undefined],
    ['operator', undefined],
    ['installer', handedOver],
  ])('makes no %s, where the hand-over was %s', async (role, at) => {
    const book = bookOf([], at === undefined ? {} : { handedOver: at });
    const work = () => claimed(book, { id: 'x', name: 'X', role }, somePassword, now);
    expect(await refusal(work)).toMatchObject({ code: 'access_refused', field: 'role' });
  });

  it('is made once', async () => {
    const work = () => claimed(before, { id: 'x', name: 'X', role: 'owner' }, somePassword, now);
    expect(await refusal(work)).toMatchObject({ code: 'access_refused', field: 'code' });
  });
});

describe('the hand-over', () => {
  it('is the first password of an owner of his own, not the one he was given', () => {
    const added = add(before, ines, 'owner');
    expect(added).not.toHaveProperty('handedOver');
    expect(last(added)).not.toHaveProperty('acceptedAt');
    const done = passwordSet(added, 'new', somePassword, now);
    expect(done.handedOver).toBe(inDays(0));
    expect(last(done).acceptedAt).toBe(inDays(0));
    const again = passwordSet(done, 'new', somePassword, { wall: wall + day, clock: 'synced' });
    expect([again.handedOver, last(again).acceptedAt]).toEqual([inDays(0), inDays(0)]);
  });

  it('is none of anybody else', () => {
    for (const role of ['operator', 'viewer', 'installer'] as const)
      expect(passwordSet(add(before, ines, role), 'new', somePassword, now)).not.toHaveProperty('handedOver');
  });

  it('leaves an installer outside at once, and what he made keys for', () => {
    const key = { id: 'abcdefgh', hash: `${'B'.repeat(42)}A` };
    const keyed = keyAdded(before, ines, { name: 'app', scopes: ['state'] }, key, now);
    expect([unfit(keyed, ines, now), keyUnfit(keyed, keyed.keys[0]!, now)]).toEqual([undefined, undefined]);
    const done = passwordSet(add(keyed, ines, 'owner'), 'new', somePassword, now);
    expect([unfit(done, ines, now), keyUnfit(done, done.keys[0]!, now)]).toEqual(['consent', 'consent']);
    const consented = personLimited(done, last(done), 'ines', inDays(3), now);
    expect(unfit(consented, consented.people[0]!, now)).toBeUndefined();
    expect(keyUnfit(consented, consented.keys[0]!, now)).toBeUndefined();
    const later: Now = { wall: wall + 3 * day, clock: 'holdover' };
    expect(unfit(consented, consented.people[0]!, later)).toBe('expired');
    expect(keyUnfit(consented, consented.keys[0]!, later)).toBe('expired');
  });

  it.each(['owner', 'operator', 'viewer'] as const)(
    'leaves outside who is %s by a password that an installer still knows',
    (role) => {
      const given = add(bookOf([ines, kept('olga', 'owner', { createdBy: 'ines' })]), ines, role);
      expect(unfit(given, last(given), now)).toBeUndefined();
      const done = { ...given, handedOver };
      expect(unfit(done, last(done), now)).toBe('consent');
      const accepted = passwordSet(given, 'new', somePassword, now);
      expect(unfit({ ...accepted, handedOver }, last(accepted), now)).toBeUndefined();
      const byOwner = add(after, olga, role);
      expect(unfit(byOwner, last(byOwner), now)).toBeUndefined();
    },
  );
});

describe('people', () => {
  it.each(roles)(
    'of the role %s are added before the hand-over by an installer, after it by an owner',
    async (role) => {
      const end = role === 'installer' ? inDays(7) : undefined;
      expect(last(add(before, ines, role)).createdBy).toBe('ines');
      expect(last(add(after, olga, role, end)).createdBy).toBe('olga');
      const refusedOnes: [AccessBook, KeptPerson][] = [
        [after, ines],
        [after, { ...ines, validUntil: inDays(5), consentedBy: 'olga' }],
        [before, kept('ivo', 'installer', { acceptedAt: undefined as never })],
        [after, kept('otto', 'operator')],
        [after, kept('vera', 'viewer')],
      ];
      for (const [book, { acceptedAt, ...by }] of refusedOnes) {
        const who = acceptedAt === undefined ? by : { ...by, acceptedAt };
        expect(await refusal(() => add(book, who, role, end))).toMatchObject({ code: 'access_refused' });
      }
    },
  );

  it.each<[string, () => unknown, string]>([
    ['an installer without an end after the hand-over', () => add(after, olga, 'installer'), 'valid_until'],
    ['an installer for more than 30 days', () => add(after, olga, 'installer', inDays(30.01)), 'valid_until'],
    ['an owner with an end', () => add(after, olga, 'owner', inDays(1)), 'valid_until'],
    ['an end that is over', () => add(after, olga, 'viewer', inDays(-1)), 'valid_until'],
    ['an end that is none', () => add(after, olga, 'viewer', 'soon'), 'valid_until'],
    ['an end while the clock is in doubt', () => add(after, olga, 'viewer', inDays(1), doubtful), 'valid_until'],
    [
      'an id that is there',
      () => personAdded(after, olga, { ...person('viewer'), id: 'ines' }, somePassword, now),
      'id',
    ],
    [
      'an id that is none',
      () => personAdded(after, olga, { ...person('viewer'), id: '1234' }, somePassword, now),
      'id',
    ],
    [
      'a name over two lines',
      () => personAdded(after, olga, { ...person('viewer'), name: 'a\nb' }, somePassword, now),
      'name',
    ],
    [
      'more than fit',
      () =>
        add(
          bookOf([olga, ...Array.from({ length: maxPeople - 1 }, (_, n) => kept(`p${n}`, 'viewer'))], { handedOver }),
          olga,
          'viewer',
        ),
      'id',
    ],
  ])('are not taken: %s', async (_, work, field) => {
    expect(await refusal(work)).toMatchObject({ code: 'access_refused', field });
  });

  it('are limited by an owner alone; an installer whose consent is withdrawn is outside', async () => {
    const consented = personLimited(after, olga, 'ines', inDays(30), now);
    expect(last(consented)).toMatchObject({ validUntil: inDays(30), consentedBy: 'olga' });
    const withdrawn = personLimited(consented, olga, 'ines', undefined, now);
    expect(unfit(withdrawn, last(withdrawn), now)).toBe('consent');
    const guest = add(after, olga, 'viewer', inDays(1));
    expect(last(personLimited(guest, olga, 'new', undefined, now))).not.toHaveProperty('validUntil');
    for (const by of [ines, kept('otto', 'operator')])
      expect(await refusal(() => personLimited(after, by, 'ines', inDays(1), now))).toMatchObject({
        code: 'access_refused',
      });
    expect(await refusal(() => personLimited(after, olga, 'olga', inDays(1), now))).toMatchObject({
      field: 'valid_until',
    });
    expect(await refusal(() => personLimited(after, olga, 'nobody', inDays(1), now))).toMatchObject({
      code: 'access_unknown',
    });
  });

  it('are removed with their keys, and somebody who manages them always stays', async () => {
    const key = { id: 'abcdefgh', hash: `${'B'.repeat(42)}A` };
    const keyed = keyAdded(after, ines, { name: 'app', scopes: ['state'] }, key, now);
    expect(personRemoved(keyed, olga, 'ines')).toMatchObject({ people: [{ id: 'olga' }], keys: [] });
    expect(await refusal(() => personRemoved(after, olga, 'olga'))).toMatchObject({
      message: expect.stringContaining('last owner'),
    });
    const { acceptedAt: _, ...given } = kept('otto', 'owner');
    const two = bookOf([olga, given], { handedOver });
    expect(await refusal(() => personRemoved(two, olga, 'olga'))).toMatchObject({ code: 'access_refused' });
    expect(personRemoved(passwordSet(two, 'otto', somePassword, now), olga, 'olga').people).toHaveLength(1);
    expect(await refusal(() => personRemoved(before, ines, 'ines'))).toMatchObject({
      message: expect.stringContaining('last installer'),
    });
    expect(await refusal(() => personRemoved(after, ines, 'olga'))).toMatchObject({ code: 'access_refused' });
  });

  it('with an end wait outside while the clock is in doubt; those without come in', () => {
    const guest = kept('vera', 'viewer', { validUntil: inDays(1) });
    expect(unfit(after, guest, now)).toBeUndefined();
    expect(unfit(after, guest, doubtful)).toBe('clock');
    expect(unfit(after, guest, { wall: wall + day, clock: 'synced' })).toBe('expired');
    expect(unfit(after, olga, doubtful)).toBeUndefined();
  });
});

describe('keys', () => {
  const made = { id: 'abcdefgh', hash: `${'B'.repeat(42)}A` };
  const make = (book: AccessBook, by: KeptPerson, expiresAt?: string, at = now) =>
    keyAdded(book, by, { name: 'app', scopes: ['state', 'state', 'events'], expiresAt }, made, at);

  it('are made by owners and installers, each scope once', async () => {
    expect(make(after, olga).keys).toMatchObject([{ createdBy: 'olga', scopes: ['state', 'events'] }]);
    expect(make(before, ines).keys).toHaveLength(1);
    for (const role of ['operator', 'viewer'] as const)
      expect(await refusal(() => make(after, kept('x', role)))).toMatchObject({ code: 'access_refused' });
  });

  it('end when they say, never later for a clock in doubt', async () => {
    const book = make(after, olga, inDays(2));
    const key = book.keys[0]!;
    expect(keyUnfit(book, key, now)).toBeUndefined();
    expect(keyUnfit(book, key, doubtful)).toBe('clock');
    expect(keyUnfit(book, key, { wall: wall + 2 * day, clock: 'synced' })).toBe('expired');
    for (const [end, at] of [
      [inDays(-1), now],
      [inDays(1), doubtful],
    ] as const)
      expect(await refusal(() => make(after, olga, end, at))).toMatchObject({ field: 'expires_at' });
  });

  it('of nobody count no more', () => {
    const book = make(after, olga);
    expect(keyUnfit({ ...book, people: [] }, book.keys[0]!, now)).toBe('consent');
    const { acceptedAt: _, ...given } = olga;
    expect(keyUnfit({ ...book, people: [given] }, book.keys[0]!, now)).toBe('consent');
  });

  it('are removed by an owner, or by the installer who made them', async () => {
    const book = make(after, olga);
    expect(await refusal(() => keyRemoved(book, ines, 'abcdefgh'))).toMatchObject({ code: 'access_unknown' });
    expect(keyRemoved(book, olga, 'abcdefgh').keys).toEqual([]);
    expect(keyRemoved(make(before, ines), ines, 'abcdefgh').keys).toEqual([]);
    expect(await refusal(() => keyRemoved(book, olga, 'none'))).toMatchObject({ code: 'access_unknown' });
  });

  it('have a cap, a name and a scope', async () => {
    const full = { ...after, keys: Array.from({ length: maxKeys }, () => make(after, olga).keys[0]!) };
    expect(await refusal(() => make(full, olga))).toMatchObject({ code: 'access_refused' });
    for (const key of [
      { name: '', scopes: ['state'] },
      { name: 'app', scopes: [] },
    ] as const)
      expect(await refusal(() => keyAdded(after, olga, key, made, now))).toMatchObject({ code: 'access_refused' });
  });
});

it('whatever is done in whatever order, there is one who manages, no installer comes in unasked, and the file stays whole', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const step = fc.record({
    do: fc.constantFrom('add', 'add', 'limit', 'remove', 'password', 'key', 'wait'),
    by: id,
    id,
    role: fc.constantFrom(...roles),
    days: fc.option(fc.integer({ min: -2, max: 40 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.constantFrom('owner' as const, 'installer' as const),
      (steps, first) => {
        let at = wall;
        let made = 0;
        let book = claimed(bookOf([]), { id: 'a', name: 'A', role: first }, somePassword, now);
        for (const one of steps) {
          const time: Now = { wall: at, clock: 'synced' };
          made += 1;
          const end = one.days === undefined ? undefined : new Date(at + one.days * day).toISOString();
          const by = book.people.find((person) => person.id === one.by);
          const owners = book.people.filter(({ role }) => role === 'owner').length;
          try {
            if (one.do === 'wait') at += day;
            else if (one.do === 'password') book = passwordSet(book, one.id, somePassword, time);
            else if (by === undefined || unfit(book, by, time) !== undefined) continue;
            else if (one.do === 'add')
              book = personAdded(
                book,
                by,
                { id: one.id, name: 'x', role: one.role, validUntil: end },
                somePassword,
                time,
              );
            else if (one.do === 'limit') book = personLimited(book, by, one.id, end, time);
            else if (one.do === 'remove') book = personRemoved(book, by, one.id);
            else
              book = keyAdded(
                book,
                by,
                { name: 'k', scopes: ['state'] },
                { id: `abcdef${String(made).padStart(2, '0')}`, hash: `${'B'.repeat(42)}A` },
                time,
              );
          } catch (error) {
            expect(['access_refused', 'access_unknown']).toContain((error as { code: string }).code);
          }
          expect(accessBook.safeParse(book).success).toBe(true);
          const managing = book.people.filter(({ acceptedAt }) => acceptedAt !== undefined).map(({ role }) => role);
          expect(managing).toContain(book.handedOver === undefined ? 'installer' : 'owner');
          if (book.handedOver === undefined) continue;
          const byInstaller =
            by?.role === 'installer' && owners !== book.people.filter(({ role }) => role === 'owner').length;
          expect(byInstaller && one.do !== 'password').toBe(false);
          for (const installer of book.people.filter(({ role }) => role === 'installer'))
            if (unfit(book, installer, { wall: at, clock: 'synced' }) === undefined) {
              expect(installer.consentedBy).toBeDefined();
              expect(Date.parse(installer.validUntil ?? '9999-01-01') - at).toBeLessThanOrEqual(30 * day);
            }
        }
      },
    ),
  );
});

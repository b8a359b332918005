import { describe, expect, it } from 'vitest';
import type { NewUser } from '#site/users/index.ts';
import { siteTime } from '#site/users/validity.ts';
import { configured, person, refusal, rig } from './rig.ts';

const limited = async (more: Partial<NewUser>) => {
  const site = rig();
  const users = await site.open();
  await users.add(person('mia', '2580', { duressCode: '2586', ...more }), 'test');
  const at = async (iso: string, code = '2580') => {
    site.clock.step(Date.parse(iso) - site.clock.wall());
    return users.check(code);
  };
  return { site, users, at };
};
const bad = (why: string) => ({ code: 'bad', refused: { why, user: 'mia' } });
const good = { code: 'ok', actor: 'mia', role: 'user' };

describe('the time of the site', () => {
  it.each([
    ['2026-11-27T23:59:59Z', 'Europe/Berlin', '2026-11-28T00:59', 5],
    ['2026-12-31T23:30:00Z', 'America/New_York', '2026-12-31T18:30', 3],
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25T02:30', 6],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25T02:30', 6],
    ['2026-07-01T12:00:00Z', 'Australia/Lord_Howe', '2026-07-01T22:30', 2],
    ['1970-01-01T00:00:00Z', 'UTC', '1970-01-01T00:00', 3],
  ])('of %s in %s is %s', (iso, zone, minute, weekday) => {
    expect(siteTime(Date.parse(iso), zone)).toEqual({ minute, weekday });
  });
});

describe('a code with limits', () => {
  it('counts from its first day to the end of its last, in the time of the site', async () => {
    const { at } = await limited({ validFrom: '2026-12-01', validUntil: '2026-12-24' });
    expect(await at('2026-11-30T22:59:00Z')).toEqual(bad('not yet valid'));
    expect(await at('2026-11-30T23:00:00Z')).toEqual(good);
    expect(await at('2026-12-24T22:59:00Z')).toEqual(good);
    expect(await at('2026-12-24T23:00:00Z')).toEqual(bad('expired'));
  });

  it('counts to the minute where one is named', async () => {
    const { at } = await limited({ validFrom: '2026-12-01T08:00', validUntil: '2026-12-01T18:30' });
    expect(await at('2026-12-01T06:59:00Z')).toEqual(bad('not yet valid'));
    expect(await at('2026-12-01T07:00:00Z')).toEqual(good);
    expect(await at('2026-12-01T17:29:59Z')).toEqual(good);
    expect(await at('2026-12-01T17:30:00Z')).toEqual(bad('expired'));
  });

  it('counts in its hours of the week, and over midnight', async () => {
    const { at } = await limited({
      windows: [
        { days: ['mon', 'wed'], from: '08:00', to: '17:00' },
        { days: ['fri'], from: '22:00', to: '02:00' },
      ],
    });
    expect(await at('2026-11-30T07:00:00Z')).toEqual(good);
    expect(await at('2026-11-30T16:00:00Z')).toEqual(bad('outside hours'));
    expect(await at('2026-12-01T10:00:00Z')).toEqual(bad('outside hours'));
    expect(await at('2026-11-27T21:00:00Z')).toEqual(good);
    expect(await at('2026-11-28T00:59:00Z')).toEqual(good);
    expect(await at('2026-11-28T01:00:00Z')).toEqual(bad('outside hours'));
    expect(await at('2026-11-27T00:30:00Z')).toEqual(bad('outside hours'));
  });

  it('waits for a clock that can be trusted; one without limits does not', async () => {
    const { site, users, at } = await limited({ validFrom: '2020-01-01' });
    await users.add(person('anna', '3691'), 'test');
    site.quality = 'doubtful';
    expect(await at('1970-01-02T00:00:00Z')).toEqual(bad('clock in doubt'));
    expect(await at('1970-01-02T00:00:00Z', '3691')).toMatchObject({ code: 'ok', actor: 'anna' });
    site.quality = 'holdover';
    expect(await at('2026-12-01T00:00:00Z')).toEqual(good);
  });

  it('calls for help at any hour and under any clock, but not after its last day', async () => {
    const { site, at } = await limited({
      validUntil: '2026-12-24',
      windows: [{ days: ['mon'], from: '08:00', to: '17:00' }],
    });
    const help = { code: 'duress', actor: 'mia', role: 'user' };
    expect(await at('2026-12-05T03:00:00Z', '2586')).toEqual(help);
    site.quality = 'doubtful';
    expect(await at('1970-01-02T00:00:00Z', '2586')).toEqual(help);
    site.quality = 'synced';
    expect(await at('2026-12-26T10:00:00Z', '2586')).toEqual(bad('expired'));
  });

  it('shows in the list whether it counts now', async () => {
    const { users, at } = await limited({ validUntil: '2026-12-24' });
    await at('2026-12-26T10:00:00Z');
    const [mia] = await users.list();
    expect(mia).toMatchObject({ id: 'mia', source: 'file', now: 'expired', validUntil: '2026-12-24' });
    expect(JSON.stringify(mia)).not.toMatch(/duress|code|hash|salt/);
  });
});

describe('a new user is refused', () => {
  it.each<[string, Partial<NewUser>, RegExp]>([
    ['with an id that could be a code', { id: '2580' }, /^id must be 1 to 32 lower-case/],
    ['with a name of two lines', { name: 'Mia\nroot' }, /name must be 1 to 64 characters/],
    ['with a name that turns the writing round', { name: 'Mia \u202eroot' }, /name must not hold control characters/],
    ['with a blank name', { name: '   ' }, /name must not be blank/],
    ['with its code in its name', { name: 'Mia 2580' }, /must not hold the code/],
    ['with its duress code in its id', { id: 'mia9173', duressCode: '9173' }, /must not hold the code/],
    ['with a role nobody knows', { role: 'admin' as never }, /role /],
    ['with a day that is none', { validUntil: '2026-02-30' }, /validUntil must be a day there is/],
    ['with a time that is over', { validUntil: '2026-11-26' }, /the time is over already/],
    ['with a time that is over before it begins', { validFrom: '2027-02-01', validUntil: '2027-01-31' }, /before it/],
    ['with hours of no length', { windows: [{ days: ['mon'], from: '08:00', to: '08:00' }] }, /windows/],
    [
      'with more hours than a week needs',
      { windows: Array(8).fill({ days: ['mon'], from: '08:00', to: '09:00' }) },
      /7/,
    ],
    ['as an owner for a time', { role: 'owner', validUntil: '2027-01-01' }, /an owner has no limits in time/],
    ['as an installer without an end', { role: 'installer' }, /say until when/],
    [
      'as an installer with a duress code',
      { role: 'installer', validUntil: '2026-11-28', duressCode: '2586' },
      /no duress/,
    ],
    ['as an auditor with a duress code', { role: 'auditor', duressCode: '2586' }, /no duress/],
  ])('%s', async (_what, more, message) => {
    const site = rig();
    const users = await site.open();
    expect(await refusal(users.add(person('mia', '2580', more), 'test'))).toEqual({
      code: 'user_refused',
      message: expect.stringMatching(message),
    });
    expect(await users.list()).toEqual([]);
  });

  it('under an id that is taken, also by the configuration', async () => {
    const users = await rig().open({ configured: [configured('carl', '4711')] });
    await users.add(person('mia', '2580'), 'test');
    for (const id of ['mia', 'carl'])
      expect((await refusal(users.add(person(id, '3691'), 'test'))).message).toMatch(/there is a user of this id/);
  });
});

it('a second owner needs the consent of the first', async () => {
  const users = await rig().open();
  await users.add(person('anna', '2580', { role: 'owner' }), 'test');
  const asked = (consent?: string) => users.add(person('eva', '9157', { role: 'owner', consent }), 'test');
  expect((await refusal(asked())).message).toMatch(/an owner needs the code of an owner/);
  expect((await refusal(asked('0815'))).message).toMatch(/not that of an owner/);
  await asked('2580');
  expect(await users.check('9157')).toEqual({ code: 'ok', actor: 'eva', role: 'owner' });
});

describe.each([{ role: 'installer', validUntil: '2026-11-28' }, { role: 'auditor' }] as const)(
  'a new $role',
  (comes) => {
    it('needs no consent while there is no owner, and that of an owner from then on', async () => {
      const users = await rig().open();
      await users.add(person('tim', '6048', comes), 'test');
      await users.add(person('anna', '2580', { role: 'owner' }), 'test');
      await users.add(person('ben', '3691'), 'test');
      const asked = (consent?: string) => refusal(users.add(person('tom', '9157', { ...comes, consent }), 'test'));
      expect((await asked()).message).toMatch(/needs the code of an owner/);
      for (const consent of ['3691', '6048', '0815'])
        expect((await asked(consent)).message).toMatch(/not that of an owner/);
      await users.add(person('tom', '9157', { ...comes, consent: '2580' }), 'test');
      expect(await users.check('9157')).toEqual({ code: 'ok', actor: 'tom', role: comes.role });
    });
  },
);

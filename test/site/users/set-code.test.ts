import { expect, test } from 'vitest';
import { person, rig } from './rig.ts';

const codes = { anna: '4071', annaDuress: '4079', ben: '6042', tim: '8093', fresh: '5170', freshDuress: '5179' };

/** An owner with a duress code, a user, an installer. */
async function house() {
  const duress: string[] = [];
  const made = rig();
  const users = await made.open({ onDuress: (actor) => duress.push(actor) });
  await users.add(person('anna', codes.anna, { role: 'owner', duressCode: codes.annaDuress }), 'test');
  await users.add(person('ben', codes.ben), 'test');
  await users.add(
    person('tim', codes.tim, { role: 'installer', validUntil: '2026-12-24', consent: codes.anna }),
    'test',
  );
  const whose = async (code: string) => {
    const { code: verdict, actor } = await users.check(code);
    return verdict === 'bad' ? 'bad' : `${verdict} ${actor}`;
  };
  return { made, users, duress, whose };
}

test('a user has another code: the new one counts, the old one does not, after a restart too', async () => {
  const { made, users, whose } = await house();
  await users.setCode('ben', { code: codes.fresh });
  expect([await whose(codes.fresh), await whose(codes.ben)]).toEqual(['ok ben', 'bad']);
  await users.stop();
  const again = await made.open();
  expect((await again.check(codes.fresh)).actor).toBe('ben');
  expect((await again.check(codes.ben)).code).toBe('bad');
});

test('a duress code stays unless another is given', async () => {
  const { users, whose } = await house();
  await users.setCode('anna', { code: codes.fresh, consent: codes.anna });
  expect([await whose(codes.fresh), await whose(codes.annaDuress)]).toEqual(['ok anna', 'duress anna']);
  const { fresh, freshDuress } = codes;
  await users.setCode('anna', { code: codes.anna, duressCode: freshDuress, consent: fresh });
  expect([await whose(freshDuress), await whose(codes.annaDuress), await whose(fresh)]).toEqual([
    'duress anna',
    'bad',
    'bad',
  ]);
});

test.each([
  ['a code that somebody has', 'ben', { code: codes.anna }, 'code_refused'],
  ['a code that is tried first', 'ben', { code: '1234' }, 'code_refused'],
  ['a duress code for an installer', 'tim', { code: codes.fresh, duressCode: codes.freshDuress }, 'user_refused'],
  ['an owner without the consent of an owner', 'anna', { code: codes.fresh }, 'user_refused'],
  ['an owner with the consent of a user', 'anna', { code: codes.fresh, consent: codes.ben }, 'user_refused'],
  ['an installer without the consent of an owner', 'tim', { code: codes.fresh }, 'user_refused'],
  ['somebody who is not there', 'eva', { code: codes.fresh }, 'user_unknown'],
])('%s is refused, and every code counts as before', async (_what, id, given, code) => {
  const { made, users, whose } = await house();
  const before = made.text();
  await expect(users.setCode(id, given)).rejects.toMatchObject({ code });
  expect(made.text()).toBe(before);
  expect(await whose(codes.fresh)).toBe('bad');
});

test('I14: after five codes that were refused nobody can search on, and whoever has a code still disarms', async () => {
  const { users, whose } = await house();
  for (let count = 0; count < 5; count += 1)
    await expect(users.setCode('ben', { code: codes.anna })).rejects.toMatchObject({ code: 'code_refused' });
  await expect(users.setCode('ben', { code: codes.fresh })).rejects.toMatchObject({ code: 'user_refused' });
  expect(await whose(codes.ben)).toBe('ok ben');
});

test('safety 4: a duress code agrees as the code does, and calls for help', async () => {
  const { users, duress, whose } = await house();
  expect(duress).toEqual([]);
  const installer = person('kim', codes.fresh, { role: 'installer', validUntil: '2026-12-24' });
  await users.add({ ...installer, consent: codes.annaDuress }, 'test');
  expect(duress).toEqual(['anna']);
  expect(await whose(codes.fresh)).toBe('ok kim');
  await users.setCode('anna', { code: '7306', consent: codes.annaDuress });
  expect(duress).toEqual(['anna', 'anna']);
  expect(await whose('7306')).toBe('ok anna');
  await expect(
    users.add(person('kim', '7309', { role: 'installer', validUntil: '2026-12-24' }), 'test'),
  ).rejects.toThrow();
});

import { describe, expect, it } from 'vitest';
import { maxUsers } from '#site/users/index.ts';
import { configured, person, refusal, rig } from './rig.ts';

describe('a code', () => {
  it('names its user and role, duress apart, before and after a restart', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580', { duressCode: '2581' }), 'test');
    await users.add(person('max', '73914628', { role: 'owner' }), 'test');
    for (const book of [users, await site.open()]) {
      expect(await book.check('2580')).toEqual({ code: 'ok', actor: 'anna', role: 'user' });
      expect(await book.check('2581')).toEqual({ code: 'duress', actor: 'anna', role: 'user' });
      expect(await book.check('73914628')).toEqual({ code: 'ok', actor: 'max', role: 'owner' });
    }
  });

  it('of nobody is bad, and no code is none', async () => {
    const users = await rig().open();
    await users.add(person('anna', '917007'), 'test');
    for (const wrong of ['7007', '917007 ', '91700', 'anna', '917 007', '٩١٧٠٠٧'])
      expect(await users.check(wrong)).toEqual({ code: 'bad', refused: { why: 'unknown' } });
    expect(await users.check('')).toEqual({ code: 'none' });
    expect(await users.check(undefined)).toEqual({ code: 'none' });
  });

  it('is bad, never none, where there are no users at all', async () => {
    expect(await (await rig().open()).check('2580')).toEqual({ code: 'bad', refused: { why: 'unknown' } });
  });

  it('of the configuration counts beside those that were added, and changes with it', async () => {
    const site = rig();
    const users = await site.open({ configured: [configured('carl', '4711', '4712')] });
    await users.add(person('anna', '2580'), 'test');
    expect(await users.check('4711')).toEqual({ code: 'ok', actor: 'carl', role: 'user' });
    expect(await users.check('4712')).toEqual({ code: 'duress', actor: 'carl', role: 'user' });
    users.replace([configured('dora', '9357')]);
    expect(await users.check('9357')).toMatchObject({ code: 'ok', actor: 'dora' });
    expect(await users.check('4711')).toMatchObject({ code: 'bad' });
    expect(await users.check('2580')).toMatchObject({ code: 'ok', actor: 'anna' });
    expect(site.text()).not.toMatch(/carl|dora/);
  });

  it.each([0, 1, 100, maxUsers])('takes one slow hash for each try with %i users, whatever it is', async (count) => {
    const site = rig();
    const users = await site.open({ configured: [configured('carl', '4711', '4712')] });
    for (let n = 0; n < count; n += 1) await users.add(person(`u${n}`, String(10_000_003 + n * 137)), 'test');
    if (count > 1) {
      site.clock.advance(1);
      await users.remove('u1');
      await users.add(person('late', '5083', { validUntil: '2026-11-28', duressCode: '5084' }), 'test');
      site.clock.advance(3 * 86_400_000);
    }
    const tries = ['4711', '4712', '10000003', '99', '1234', '5083', '5084', 'x', '9'.repeat(5000)];
    for (const code of tries) {
      const before = site.hash.calls;
      await users.check(code);
      expect(site.hash.calls - before).toBe(1);
    }
  });

  it('counts although users are added and removed while it is checked', async () => {
    const users = await rig().open();
    await users.add(person('anna', '2580'), 'test');
    await users.add(person('ben', '3691'), 'test');
    const [anna, ben] = await Promise.all([
      users.check('2580'),
      users.check('3691'),
      users.add(person('cleo', '8642975'), 'test'),
    ]);
    expect([anna.actor, ben.actor]).toEqual(['anna', 'ben']);
    const [removed] = await Promise.all([users.remove('ben').then(() => users.check('3691')), users.check('2580')]);
    expect(removed).toMatchObject({ code: 'bad' });
  });

  it('is counted by result, duress as any other', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580', { duressCode: '2581' }), 'test');
    for (const code of ['2580', '2581', '2582', '']) await users.check(code);
    const text = await site.metrics.metrics();
    expect(text).toContain('siteward_code_checks_total{result="ok"} 2');
    expect(text).toContain('siteward_code_checks_total{result="bad"} 1');
    expect(text).not.toContain('duress"');
  });
});

describe('a new code', () => {
  it.each([
    ['one digit over and over', '0000'],
    ['digits counted up', '1234'],
    ['digits counted up past nine', '7890'],
    ['digits counted down', '98765'],
    ['digits counted by twos', '2468'],
    ['a pair said twice', '1212'],
    ['a block said twice', '731731'],
    ['a pair said four times', '47474747'],
  ])('is refused with the reason when it is %s', async (_what, code) => {
    const users = await rig().open();
    const said = await refusal(users.add(person('anna', code), 'test'));
    expect(said).toMatchObject({ code: 'code_refused' });
    expect(said.message).toMatch(/such codes are tried first/);
    expect(said.message).not.toContain(code);
    expect(await refusal(users.add(person('anna', '2580', { duressCode: code }), 'test'))).toMatchObject({
      code: 'code_refused',
    });
    expect(await users.list()).toEqual([]);
  });

  it.each(['258', '2580258036914', '25a0', ' 2580', '', '٢٥٨٠'])(
    'is refused when it is not 4 to 12 digits: "%s"',
    async (code) => {
      const said = await refusal((await rig().open()).add(person('anna', code), 'test'));
      expect(said.message).toBe('the code must be 4 to 12 digits');
    },
  );

  it('is refused as a number, with the reason', async () => {
    const said = await refusal((await rig().open()).add(person('anna', 2580 as unknown as string), 'test'));
    expect(said).toEqual({ code: 'code_refused', message: expect.stringMatching(/leading zeros/) });
  });

  it('is refused when somebody has it, in any place, and nobody is told whose it is', async () => {
    const users = await rig().open({ configured: [configured('carl', '4711', '4712')] });
    await users.add(person('anna', '2580', { duressCode: '2581' }), 'test');
    const taken = ['2580', '2581', '4711', '4712'];
    const messages = new Set<string>();
    for (const code of taken) messages.add((await refusal(users.add(person('ben', code), 'test'))).message);
    expect([...messages]).toEqual(['the code cannot be had; choose another one']);
  });

  it('of duress differs from every code, that of its user too', async () => {
    const users = await rig().open({ configured: [configured('carl', '4711')] });
    await users.add(person('anna', '2580'), 'test');
    for (const duressCode of ['3691', '2580', '4711'])
      expect(await refusal(users.add(person('ben', '3691', { duressCode }), 'test'))).toEqual({
        code: 'code_refused',
        message: 'the duress code cannot be had; choose another one',
      });
  });

  it('cannot be searched for: after five that were taken one must wait', async () => {
    const site = rig();
    const users = await site.open();
    await users.add(person('anna', '2580'), 'test');
    for (let n = 0; n < 5; n += 1) await refusal(users.add(person('ben', '2580'), 'test'));
    expect(await refusal(users.add(person('ben', '3691'), 'test'))).toEqual({
      code: 'user_refused',
      message: expect.stringMatching(/too many codes were refused; wait 600 s/),
    });
    site.clock.advance(600_000);
    expect(await users.add(person('ben', '3691'), 'test')).toMatchObject({ id: 'ben' });
  });
});

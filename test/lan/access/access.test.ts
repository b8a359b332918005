import { writeFileSync } from 'node:fs';
import { join as pathOf } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Access, Opened } from '#lan/access/index.ts';
import { never } from '#lib/wait.ts';
import { box, by, claim, cookie, here, join, lan, passwords } from './box.ts';
import { refusal, text } from './rig.ts';

const day = 86_400_000;
const login = (access: Access, id: string, password: string, address = lan(1)): Promise<Opened> =>
  access.login({ id, password, address }, never());
const may = async (access: Access, opened: Opened, operation: string) => {
  try {
    access.permit(access.caller(cookie(opened)), operation);
    return 'yes';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('a new bridge', () => {
  it('opens nothing but health and the way in, and is claimed once', async () => {
    const access = await box().start();
    expect(access.shown()).toBe('unclaimed');
    for (const operation of ['getHealth', 'getReady', 'claim', 'login']) access.permit(access.caller({}), operation);
    expect(await refusal(() => access.permit(access.caller({}), 'getStatus'))).toMatchObject({ code: 'access_needed' });
    expect(await refusal(() => login(access, 'olga', passwords.olga))).toMatchObject({ code: 'access_needed' });
    const code = access.claimCode()?.reveal() ?? '';
    const olga = await claim(access, 'olga', 'owner');
    expect(await may(access, olga, 'getStatus')).toBe('yes');
    expect([access.shown(), access.claimCode()]).toEqual(['claimed', undefined]);
    const again = { code, id: 'ines', name: 'Ines', role: 'owner', password: passwords.ines, address: here } as const;
    expect(await refusal(() => access.claim(again, never()))).toMatchObject({ code: 'access_refused' });
  });

  it('pauses after five wrong codes, for the right one too, and says how long', async () => {
    const made = box();
    const { clock, derive } = made;
    const access = await made.start();
    const right = access.claimCode()?.reveal() ?? '';
    const attempt = (code: string) =>
      access.claim(
        { code, id: 'olga', name: 'Olga', role: 'owner', password: passwords.olga, address: lan(1) },
        never(),
      );
    const wrong = right.startsWith('Z') ? '00000000' : 'ZZZZZZZZ';
    for (let n = 0; n < 4; n += 1) expect(await refusal(() => attempt(wrong))).toMatchObject({ code: 'access_needed' });
    await expect(attempt(wrong)).rejects.toMatchObject({
      code: 'access_wait',
      message: 'too many wrong claim codes',
      facts: { retryAfterMs: 900_000 },
    });
    clock.advance(60_000);
    await expect(attempt(right)).rejects.toMatchObject({
      code: 'access_wait',
      message: 'too many wrong claim codes',
      facts: { retryAfterMs: 840_000 },
    });
    expect(derive.calls).toBe(0);
    clock.advance(840_000);
    expect((await attempt(right)).caller).toMatchObject({ id: 'olga', role: 'owner', mustChange: false });
  });

  it('is claimed by one of two who have the code', async () => {
    const access = await box().start();
    const done = await Promise.allSettled([claim(access, 'olga', 'owner'), claim(access, 'ines', 'installer')]);
    expect(done.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(access.people()).toHaveLength(1);
  });

  it('keeps its claim code over a right one with a bad password', async () => {
    const access = await box().start();
    const code = access.claimCode()?.reveal() ?? '';
    const bad = { code, id: 'olga', name: 'Olga', role: 'owner', password: 'password12', address: here } as const;
    expect(await refusal(() => access.claim(bad, never()))).toMatchObject({
      code: 'access_refused',
      field: 'password',
    });
    expect(access.claimCode()?.reveal()).toBe(code);
  });
});

describe('a login', () => {
  it('gives another session each time, and takes the place of the one before', async () => {
    const access = await box().start();
    const first = await claim(access, 'olga', 'owner');
    const second = await access.login(
      { id: ' Olga ', password: passwords.olga, address: lan(1), replaces: first.token.reveal() },
      never(),
    );
    expect(second.token.reveal()).not.toBe(first.token.reveal());
    expect([await may(access, first, 'getStatus'), await may(access, second, 'getStatus')]).toEqual([
      'access_needed',
      'yes',
    ]);
    access.logout(by(second));
    expect(await may(access, second, 'getStatus')).toBe('access_needed');
  });

  it('takes one slow hash and gets one answer, whatever is wrong', async () => {
    const made = box();
    const access = await made.start();
    await claim(access, 'olga', 'owner');
    const answers = [];
    for (const [id, password] of [
      ['olga', 'wrong'],
      ['nobody', passwords.olga],
      ['', ''],
      ['olga', 'x'.repeat(100_000)],
      ['__proto__', passwords.olga],
    ] as const) {
      const before = made.derive.calls;
      answers.push(await refusal(() => login(access, id, password, lan(10 + answers.length))));
      expect(made.derive.calls - before).toBe(1);
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it('is delayed after five wrong ones, without a hash, and told how long', async () => {
    const made = box();
    const access = await made.start();
    await claim(access, 'olga', 'owner');
    for (let n = 0; n < 5; n += 1) await refusal(() => login(access, 'olga', 'wrong'));
    const before = made.derive.calls;
    const waiting = access.login({ id: 'olga', password: passwords.olga, address: lan(1) }, never());
    await expect(waiting).rejects.toMatchObject({ code: 'access_wait', facts: { retryAfterMs: 1000 } });
    expect(made.derive.calls).toBe(before);
    made.clock.advance(1000);
    await login(access, 'olga', passwords.olga);
  });

  it('that is called off while it waits costs nothing', async () => {
    const access = await box().start();
    await claim(access, 'olga', 'owner');
    for (let n = 0; n < 20; n += 1)
      await expect(
        access.login({ id: 'olga', password: 'wrong', address: lan(1) }, AbortSignal.abort()),
      ).rejects.toThrow();
    await login(access, 'olga', passwords.olga);
  });

  it('of 10,000 from 10,000 addresses leaves the owner at the box his way in, and the log short', async () => {
    const made = box();
    const access = await made.start();
    await claim(access, 'olga', 'owner');
    made.audit.length = 0;
    const codes = new Map<string, number>();
    for (let n = 0; n < 10_000; n += 50) {
      const flood = Array.from({ length: 50 }, (_, k) =>
        refusal(() =>
          login(access, (n + k) % 3 === 0 ? 'olga' : `name${n + k}`, 'wrong', `2001:db8:${(n + k).toString(16)}::1`),
        ),
      );
      const owner = await login(access, 'olga', passwords.olga, here);
      for (const { code } of await Promise.all(flood)) codes.set(code, (codes.get(code) ?? 0) + 1);
      access.logout(by(owner));
    }
    expect([...codes.keys()].sort()).toEqual(['access_busy', 'access_needed', 'access_wait']);
    expect(made.audit.filter(({ kind }) => kind === 'refusal')).toHaveLength(20);
    expect(access.sessions()).toHaveLength(1);
    made.clock.advance(60_000);
    await refusal(() => login(access, 'nobody', 'wrong', lan(77)));
    expect(made.audit.at(-1)?.omitted).toBeGreaterThan(100);
    // Names share their places: others may have tried at that of this one.
    made.clock.advance(60_000);
    await refusal(() => login(access, 'nobody', 'wrong', lan(78)));
    expect(made.audit.at(-1)).not.toHaveProperty('omitted');
  });
});

describe('the way of a site', () => {
  it('from the installer to the owner, who lets the installer in for a time', async () => {
    const made = box();
    const access = await made.start();
    const ines = await claim(access, 'ines', 'installer');
    await access.addPerson(by(ines), { id: 'olga', name: 'Olga', role: 'owner', password: passwords.given }, never());
    const key = await access.addKey(by(ines), { name: 'app', scopes: ['state'] });
    const given = await login(access, 'olga', passwords.given);
    expect(await may(access, given, 'getStatus')).toBe('access_denied');
    expect(await may(access, given, 'setOwnPassword')).toBe('yes');
    expect(await may(access, ines, 'getStatus')).toBe('yes');

    const olga = await access.setOwnPassword(by(given), { current: passwords.given, next: passwords.olga }, never());
    expect(await may(access, olga, 'addPerson')).toBe('yes');
    expect(await may(access, given, 'getStatus')).toBe('access_needed');
    expect(await may(access, ines, 'getStatus')).toBe('access_needed');
    expect(access.caller({ bearer: key.token.reveal() })).toEqual({ kind: 'nobody' });
    expect(await refusal(() => login(access, 'ines', passwords.ines, lan(2)))).toMatchObject({ code: 'access_denied' });
    expect(
      await refusal(() =>
        access.addPerson(by(ines), { id: 'ivo', name: 'Ivo', role: 'owner', password: passwords.given }, never()),
      ),
    ).toMatchObject({ code: 'access_denied' });

    await access.limitPerson(by(olga), 'ines', new Date(made.clock.wall() + 2 * day).toISOString());
    const back = await login(access, 'ines', passwords.ines, lan(2));
    expect(await may(access, back, 'getStatus')).toBe('yes');
    expect(await may(access, back, 'addUser')).toBe('access_denied');
    expect(access.caller({ bearer: key.token.reveal() })).toMatchObject({ kind: 'key', role: 'installer' });
    made.quality = 'doubtful';
    expect(await may(access, back, 'getStatus')).toBe('access_needed');
    expect(await may(access, olga, 'getStatus')).toBe('yes');
    made.quality = 'synced';
    const third = await login(access, 'ines', passwords.ines, lan(2));
    made.clock.step(2 * day);
    expect(await may(access, third, 'getStatus')).toBe('access_needed');
    expect(access.people()).toMatchObject([
      { id: 'ines', now: 'expired' },
      { id: 'olga', now: 'valid' },
    ]);
  });

  it('a later consent brings back no session of an earlier time, also none that nobody used meanwhile', async () => {
    const made = box();
    const access = await made.start();
    const ines = await claim(access, 'ines', 'installer');
    const olga = await join(access, ines, 'olga', 'owner');
    const letIn = (days: number | undefined) =>
      access.limitPerson(
        by(olga),
        'ines',
        days === undefined ? undefined : new Date(made.clock.wall() + days * day).toISOString(),
      );
    await letIn(2);
    expect(await may(access, ines, 'getStatus')).toBe('access_needed');
    const second = await login(access, 'ines', passwords.ines, lan(2));
    await letIn(undefined);
    await letIn(2);
    expect(await may(access, second, 'getStatus')).toBe('access_needed');
    const third = await login(access, 'ines', passwords.ines, lan(2));
    await letIn(3);
    expect(await may(access, third, 'getStatus')).toBe('yes');
  });

  it('has no second owner, or anybody else, by a password that the installer gave before the hand-over', async () => {
    const made = box();
    const access = await made.start();
    const ines = await claim(access, 'ines', 'installer');
    for (const [id, role] of [
      ['olga', 'owner'],
      ['otto', 'owner'],
      ['opal', 'operator'],
    ] as const)
      await access.addPerson(by(ines), { id, name: id, role, password: passwords.given }, never());
    const inside = await login(access, 'otto', passwords.given);
    const olga = await login(access, 'olga', passwords.given);
    const own = { current: passwords.given, next: passwords.next };
    // Both at once: only one is the hand-over.
    const both = await Promise.allSettled([olga, inside].map((one) => access.setOwnPassword(by(one), own, never())));
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await may(access, inside, 'setOwnPassword')).toBe('access_needed');
    for (const id of ['otto', 'opal'])
      expect(await refusal(() => login(access, id, passwords.given))).toMatchObject({ code: 'access_denied' });
    expect(access.people().map(({ id, now }) => [id, now])).toContainEqual(['otto', 'consent']);
  });

  it('over restarts: accounts and keys stay, sessions end', async () => {
    const made = box();
    const access = await made.start();
    const olga = await claim(access, 'olga', 'owner');
    const { token } = await access.addKey(by(olga), { name: 'app', scopes: ['events'] });
    await access.stop();
    const next = await made.start();
    expect(next.caller(cookie(olga))).toEqual({ kind: 'nobody' });
    expect(next.caller({ bearer: token.reveal() })).toMatchObject({ kind: 'key', scopes: ['events'], role: 'owner' });
    await login(next, 'olga', passwords.olga);
  });

  it('with an account removed: its sessions and keys are gone, and streams do not stay', async () => {
    const access = await box().start();
    const olga = await claim(access, 'olga', 'owner');
    const otto = await join(access, olga, 'otto', 'operator');
    const caller = access.caller(cookie(otto));
    expect([access.mayStay(caller, 'listEvents'), access.mayStay(caller, 'listUsers')]).toEqual([true, false]);
    await access.removePerson(by(olga), 'otto');
    expect(access.sessions('otto')).toEqual([]);
    expect(access.mayStay(caller, 'listEvents')).toBe(false);
    expect(await may(access, otto, 'getStatus')).toBe('access_needed');
    access.logout(by(olga));
    expect(access.mayStay(olga.caller, 'listEvents')).toBe(false);
    expect(access.mayStay({ kind: 'local' }, 'listEvents')).toBe(true);
  });

  it("with sessions that are listed and ended, one's own or as an owner", async () => {
    const access = await box().start();
    const olga = await claim(access, 'olga', 'owner');
    const otto = await join(access, olga, 'otto', 'operator');
    const vera = await join(access, olga, 'vera', 'viewer');
    expect(access.sessions().map(({ person }) => person)).toEqual(['olga', 'otto', 'vera']);
    expect(access.sessions('otto')).toMatchObject([{ from: lan(9) }]);
    for (const anybodys of [false, true])
      expect(await refusal(() => access.endSession(by(otto), vera.caller.session, anybodys))).toMatchObject({
        code: 'access_unknown',
      });
    expect(await refusal(() => access.endSession(by(olga), vera.caller.session))).toMatchObject({
      code: 'access_unknown',
    });
    access.endSession(by(olga), vera.caller.session, true);
    access.endSession(by(otto), otto.caller.session);
    expect(access.sessions().map(({ person }) => person)).toEqual(['olga']);
  });

  it('whose owner lost the password: a reset on the box, and then an owner again', async () => {
    const access = await box().start();
    const olga = await claim(access, 'olga', 'owner');
    const { token } = await access.addKey(by(olga), { name: 'app', scopes: ['state'] });
    const code = await access.reset();
    expect(code.reveal()).toBe(access.claimCode()?.reveal());
    expect([access.caller(cookie(olga)), access.caller({ bearer: token.reveal() })]).toEqual([
      { kind: 'nobody' },
      { kind: 'nobody' },
    ]);
    expect(await refusal(() => claim(access, 'ines', 'installer'))).toMatchObject({
      code: 'access_refused',
      field: 'role',
    });
    await claim(access, 'olga', 'owner');
  });
});

describe('what happens while a password is hashed', () => {
  it('counts: an account that was removed, or all of them, lets nobody in', async () => {
    const made = box();
    const access = await made.start();
    const olga = await claim(access, 'olga', 'owner');
    await join(access, olga, 'otto', 'operator');
    made.derive.meanwhile = () => access.removePerson(by(olga), 'otto');
    expect(await refusal(() => login(access, 'otto', passwords.next))).toMatchObject({ code: 'access_needed' });
    made.derive.meanwhile = () => access.reset();
    expect(await refusal(() => login(access, 'olga', passwords.olga))).toMatchObject({ code: 'access_needed' });
    expect(access.sessions()).toEqual([]);
  });

  it('counts: a password that was changed is the old one', async () => {
    const made = box();
    const access = await made.start();
    const olga = await claim(access, 'olga', 'owner');
    let late: Promise<unknown> = Promise.resolve();
    // While the new password is hashed somebody comes with the old one, whose hash ends when the change is made.
    made.derive.meanwhile = async () => {
      made.derive.meanwhile = async () => {
        late = refusal(() => login(access, 'olga', passwords.olga));
        made.derive.meanwhile = () => setting;
      };
    };
    const own = { current: passwords.olga, next: passwords.next };
    const setting = access.setOwnPassword(by(olga), own, never());
    await setting;
    expect(await late).toMatchObject({ code: 'access_needed' });
  });

  it('counts: an account that is gone gets no other password', async () => {
    const made = box();
    const access = await made.start();
    const olga = await claim(access, 'olga', 'owner');
    const otto = await join(access, olga, 'otto', 'operator');
    const set = (next: string) => access.setOwnPassword(by(otto), { current: passwords.next, next }, never());
    // Two hashes: the current password, then the new one, during which the account is taken away.
    made.derive.meanwhile = async () => {
      made.derive.meanwhile = () => access.removePerson(by(olga), 'otto');
    };
    expect(await refusal(() => set(passwords.ines))).toMatchObject({ code: 'access_refused' });
  });

  it('counts: a claim code that was replaced is none', async () => {
    const made = box();
    const access = await made.start();
    made.derive.meanwhile = () => access.reset();
    expect(await refusal(() => claim(access, 'olga', 'owner'))).toMatchObject({
      code: 'access_refused',
      field: 'code',
    });
    expect([access.shown(), access.people()]).toEqual(['unclaimed', []]);
  });
});

describe('an own password', () => {
  it('takes the current one, another one, and ends the other sessions', async () => {
    const access = await box().start();
    const olga = await claim(access, 'olga', 'owner');
    const other = await login(access, 'olga', passwords.olga);
    const set = (current: string, next: string) => access.setOwnPassword(by(olga), { current, next }, never());
    expect(await refusal(() => set('wrong', passwords.next))).toMatchObject({
      code: 'access_refused',
      field: 'current',
    });
    expect(await refusal(() => set(passwords.olga, passwords.olga))).toMatchObject({ code: 'access_refused' });
    expect(await refusal(() => set(passwords.olga, 'short'))).toMatchObject({ code: 'access_refused' });
    const fresh = await set(passwords.olga, passwords.next);
    expect(await may(access, other, 'getStatus')).toBe('access_needed');
    expect(await may(access, fresh, 'getStatus')).toBe('yes');
    expect(await refusal(() => login(access, 'olga', passwords.olga))).toMatchObject({ code: 'access_needed' });
    await login(access, 'olga', passwords.next);
  });
});

describe('a key', () => {
  it('is noted as used once a minute at most, and when siteward stops', async () => {
    const made = box();
    const access = await made.start();
    const olga = await claim(access, 'olga', 'owner');
    const { token, key } = await access.addKey(by(olga), { name: 'app', scopes: ['state'] });
    const use = async () => {
      access.caller({ bearer: token.reveal() });
      // Behind a change that is refused, whatever was to be written is.
      await refusal(() => access.removeKey(by(olga), 'none'));
    };
    const written = () => (JSON.parse(text(made.dir)) as { keys: { usedAt?: string }[] }).keys[0]?.usedAt;
    await use();
    const first = written();
    expect(first).toBe('2026-11-27T20:00:00.000Z');
    made.clock.advance(59_999);
    await use();
    expect(written()).toBe(first);
    made.clock.advance(1);
    await use();
    expect(written()).toBe('2026-11-27T20:01:00.000Z');
    made.clock.advance(30_000);
    made.clock.step(3_600_000);
    await use();
    expect(written()).toBe('2026-11-27T20:01:00.000Z');
    expect(access.keys()).toMatchObject([{ id: key.id, usedAt: '2026-11-27T21:01:00.000Z', now: 'valid' }]);
    await access.stop();
    expect(written()).toBe('2026-11-27T21:01:00.000Z');
  });

  it('that is none makes nobody of its caller', async () => {
    const access = await box().start();
    await claim(access, 'olga', 'owner');
    for (const bearer of ['', 'sw_', `sw_00000000_${'a'.repeat(43)}`])
      expect(access.caller({ bearer })).toEqual({ kind: 'nobody' });
  });
});

describe('a file that cannot be used', () => {
  it('opens nothing and says so; a reset begins anew', async () => {
    const made = box();
    const access = await made.start();
    await claim(access, 'olga', 'owner');
    await access.stop();
    writeFileSync(pathOf(made.dir, 'access.json'), '{');
    const next = await made.start();
    expect(next.shown()).toBe('unusable');
    expect(next.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('reset-access') });
    for (const work of [
      () => login(next, 'olga', passwords.olga),
      () => next.permit(next.caller({ session: 'x' }), 'getStatus'),
      () => next.people(),
      () => next.claimCode(),
    ])
      expect(await refusal(work)).toMatchObject({ code: 'access_unusable' });
    next.permit({ kind: 'local' }, 'getStatus');
    await next.reset();
    await claim(next, 'olga', 'owner');
    expect(next.health()).toEqual({ state: 'ok', facts: { claimed: true, accounts: 1, keys: 0, sessions: 1 } });
  });
});

describe('nothing secret', () => {
  it('is in the audit log, in errors, lists, metrics, or in what is printed of any answer; of passwords nothing is in the file', async () => {
    const made = box();
    const access = await made.start();
    const code = access.claimCode()?.reveal() ?? '';
    const errors: unknown[] = [];
    const fail = async (work: () => unknown) =>
      errors.push(
        await Promise.resolve()
          .then(work)
          .catch((error: unknown) => error),
      );
    await fail(() =>
      access.claim(
        { code: 'SECRETC0', id: 'olga', name: 'Olga', role: 'owner', password: passwords.olga, address: here },
        never(),
      ),
    );
    const olga = await claim(access, 'olga', 'owner');
    await fail(() => login(access, passwords.olga, 'typed-into-the-wrong-field'));
    await fail(() => login(access, 'olga', 'a-wrong-password'));
    const added = await access.addPerson(
      by(olga),
      { id: 'otto', name: 'Otto Example', role: 'operator', password: passwords.given },
      never(),
    );
    await fail(() =>
      access.addPerson(by(olga), { id: 'ida', name: 'Ida', role: 'viewer', password: 'qwertzuiop' }, never()),
    );
    const key = await access.addKey(by(olga), { name: 'app', scopes: ['state'] });
    const fresh = await access.setOwnPassword(by(olga), { current: passwords.olga, next: passwords.next }, never());
    await access.removeKey(by(fresh), key.key.id);
    const again = await access.reset();
    const secrets = [
      code,
      'SECRETC0',
      passwords.olga,
      passwords.given,
      passwords.next,
      'typed-into',
      'a-wrong-password',
      'qwertzuiop',
    ];
    secrets.push(...[olga.token, fresh.token, key.token, again].map((secret) => secret.reveal()));
    const shown = [
      inspect([made.audit, errors, access.people(), access.keys(), access.sessions(), access.health()], { depth: 9 }),
      inspect([olga, added, key, fresh, again], { depth: 9 }),
      JSON.stringify([made.audit, olga, added, key, fresh, again]),
      await made.metrics.metrics(),
    ].join('\n');
    for (const secret of secrets) expect(shown).not.toContain(secret);
    for (const secret of secrets.slice(0, -1)) expect(text(made.dir)).not.toContain(secret);
    expect(JSON.stringify(made.audit)).not.toContain('Otto Example');
  });
});

it('every change is in the audit log: who, from where, on what, from what to what', async () => {
  const made = box();
  const access = await made.start();
  const ines = await claim(access, 'ines', 'installer');
  const olga = await join(access, ines, 'olga', 'owner');
  const end = new Date(made.clock.wall() + day).toISOString();
  await access.limitPerson(by(olga), 'ines', end);
  const key = await access.addKey(by(olga), { name: 'app', scopes: ['state', 'events'], expiresAt: end });
  await access.removeKey(by(olga), key.key.id);
  await refusal(() => access.removePerson(by(olga), 'olga'));
  await access.removePerson(by(olga), 'ines');
  access.logout(by(olga));
  await access.reset();
  const lines = made.audit.map(
    ({ kind, source, client_id: client, actor_ref: actor = '-', target, action, outcome, reason, before, after }) =>
      [kind, source, client, actor, target, action, outcome, reason, before, after]
        .filter((part) => part !== undefined)
        .join(' | '),
  );
  expect(lines).toEqual([
    'config | lan | 127.0.0.1 | account:ines | account ines | claim | done | installer',
    'config | lan | 192.0.2.1 | account:ines | account olga | account_added | done | owner',
    'login | lan | 192.0.2.9 | account:olga | access | login | done',
    'config | lan | 192.0.2.9 | account:olga | account olga | password | done | changed',
    'config | lan | 192.0.2.9 | account:olga | access | handed_over | done',
    `config | lan | 192.0.2.1 | account:olga | account ines | account_limited | done | none | ${end}`,
    `config | lan | 192.0.2.1 | account:olga | key ${key.key.id} | key_added | done | state events until ${end}`,
    `config | lan | 192.0.2.1 | account:olga | key ${key.key.id} | key_removed | done | state events`,
    'refusal | lan | 192.0.2.1 | account:olga | access | account_removed | refused | access_refused',
    'config | lan | 192.0.2.1 | account:olga | account ines | account_removed | done | installer',
    'login | lan | 192.0.2.1 | account:olga | access | logout | done',
    'config | cli | control socket | - | access | access_reset | done',
  ]);
});

import { writeFileSync } from 'node:fs';
import { join as pathOf } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Access } from '#lan/access/index.ts';
import { cloudOperations, lanOperations } from '#lan/http/index.ts';
import { box, by, claim, join, lan, passwords } from '../access/box.ts';
import { text } from '../access/rig.ts';
import { desk, type Network, network, tokenOf } from './access-rig.ts';

const served = { ...lanOperations, ...cloudOperations };

const day = 86_400_000;
const root = '/api/v1/access';

/** A bridge that the owner `olga` has claimed. */
async function claimed() {
  const made = box();
  const access = await made.start();
  const olga = await claim(access, 'olga', 'owner');
  made.audit.length = 0;
  return { made, access, olga, session: tokenOf(olga), net: network(access) };
}

const codeOf = (access: Access) => access.claimCode()?.reveal() ?? '';
const first = (access: Access, more: object = {}) => ({
  ...{ code: codeOf(access), id: 'olga', name: 'Olga Example', role: 'owner', password: passwords.olga },
  ...more,
});

describe('a claim', () => {
  it('by the code from the control socket makes the first account, whose session is in the cookie alone', async () => {
    const made = box();
    const access = await made.start();
    const { ask, post } = network(access);
    const shown = await ask(`${root}/claim-code`, { from: 'here' });
    expect(shown).toMatchObject({ status: 200, json: { claimed: false, claim_code: codeOf(access) } });
    const typed = `${codeOf(access).slice(0, 4)}-${codeOf(access).slice(4)}`.toLowerCase();
    const done = await post(`${root}/claim`, first(access, { code: typed }));
    expect(done).toMatchObject({
      status: 200,
      json: {
        kind: 'account',
        id: 'olga',
        role: 'owner',
        must_change: false,
        session: { idle_s: 1800, longest_s: 43_200 },
      },
    });
    expect(done.headers.get('set-cookie')).toMatch(/^__Host-sw=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/);
    expect(done.headers.get('cache-control')).toBe('no-store');
    expect(done.text).not.toContain(done.session);
    expect(await ask(`${root}/self`, { session: done.session })).toMatchObject({ status: 200, json: { id: 'olga' } });
    expect((await ask(`${root}/claim-code`, { from: 'here' })).json).toEqual({ claimed: true });
    expect(made.audit).toMatchObject([
      { client_id: desk, actor_ref: 'account:olga', action: 'claim' },
      { client_id: desk, actor_ref: 'account:olga', action: 'handed_over' },
    ]);
  });

  it('on the control socket counts as one of the machine itself', async () => {
    const made = box();
    const access = await made.start();
    const { post, ask } = network(access);
    const done = await post(`${root}/claim`, first(access), { from: 'here' });
    expect(done.status).toBe(200);
    expect(made.audit[0]).toMatchObject({ source: 'cli', action: 'claim', actor_ref: 'account:olga' });
    expect((await ask(`${root}/sessions`, { from: 'here' })).json).toMatchObject({ items: [{ from: 'local' }] });
  });

  it('with a wrong code is 401, five times a pause that Retry-After tells, also for the right code', async () => {
    const access = await box().start();
    const { post } = network(access);
    const wrong = () =>
      post(`${root}/claim`, first(access, { code: codeOf(access).startsWith('Z') ? '0000-0000' : 'ZZZZ-ZZZZ' }));
    for (let n = 0; n < 4; n += 1)
      expect(await wrong()).toMatchObject({ status: 401, json: { code: 'access_needed' } });
    const fifth = await wrong();
    expect(fifth).toMatchObject({ status: 429, json: { code: 'access_wait' } });
    expect(fifth.headers.get('retry-after')).toBe('900');
    expect(fifth.session).toBeUndefined();
    expect(await post(`${root}/claim`, first(access))).toMatchObject({ status: 429 });
  });

  it.each([
    [{ password: 'short' }, 409, 'access_refused', 'password'],
    [{ password: 'password12' }, 409, 'access_refused', 'password'],
    [{ role: 'viewer' }, 400, 'request_invalid', 'role'],
    [{ id: 'Olga!' }, 400, 'request_invalid', 'id'],
    [{ name: ' ' }, 400, 'request_invalid', 'name'],
    [{ code: 12 }, 400, 'request_invalid', 'code'],
    [{ also: passwords.olga }, 400, 'request_invalid', 'body'],
  ])('of %j is %i %s at %s, repeats nothing, and the code still counts', async (more, status, code, field) => {
    const access = await box().start();
    const { post } = network(access);
    const told = await post(`${root}/claim`, first(access, more));
    expect(told).toMatchObject({ status, json: { code, errors: [{ field }] } });
    for (const value of [codeOf(access), passwords.olga, 'password12', 'Olga!']) expect(told.text).not.toContain(value);
    expect(await post(`${root}/claim`, first(access))).toMatchObject({ status: 200 });
  });

  it('of a bridge that is claimed is refused', async () => {
    const { access, net } = await claimed();
    expect(await net.post(`${root}/claim`, first(access, { code: 'ABCD1234' }))).toMatchObject({
      status: 409,
      json: { code: 'access_refused', errors: [{ field: 'code' }] },
    });
  });

  it('after a hand-over and a reset makes an owner alone', async () => {
    const { access, net } = await claimed();
    expect((await net.post(`${root}/reset`, undefined, { from: 'here' })).status).toBe(200);
    expect(await net.post(`${root}/claim`, first(access, { role: 'installer' }))).toMatchObject({
      status: 409,
      json: { errors: [{ field: 'role' }] },
    });
    expect(await net.post(`${root}/claim`, first(access))).toMatchObject({ status: 200 });
  });
});

describe('a login', () => {
  it('opens a session, and ends the one it is sent with', async () => {
    const { net, session } = await claimed();
    const done = await net.login(' Olga', passwords.olga, { session });
    expect(done).toMatchObject({ status: 200, json: { kind: 'account', id: 'olga' } });
    expect(await net.ask('/api/v1/status', { session })).toMatchObject({
      status: 401,
      json: { code: 'access_needed' },
    });
    expect(await net.ask('/api/v1/status', { session: done.session })).toMatchObject({ status: 200 });
  });

  it('with a bearer token ends no session of a cookie beside it', async () => {
    const { net, session } = await claimed();
    expect(await net.login('olga', passwords.olga, { session, key: 'sw_none' })).toMatchObject({ status: 200 });
    expect(await net.ask('/api/v1/status', { session })).toMatchObject({ status: 200 });
  });

  it('with a wrong password or name is 401 in the same words, and delayed by address', async () => {
    const { net, made } = await claimed();
    const wrong = await net.login('olga', 'kein-wort-davon');
    expect(wrong).toMatchObject({ status: 401, json: { code: 'access_needed' } });
    expect(wrong.session).toBeUndefined();
    expect((await net.login('nobody', 'kein-wort-davon', { from: lan(2) })).text).toBe(wrong.text);
    for (let n = 0; n < 4; n += 1) await net.login('olga', 'kein-wort-davon');
    const late = await net.login('olga', passwords.olga);
    expect(late).toMatchObject({ status: 429, json: { code: 'access_wait' } });
    expect(late.headers.get('retry-after')).toBe('1');
    made.clock.advance(1000);
    expect(await net.login('olga', passwords.olga)).toMatchObject({ status: 200 });
  });

  it.each([
    [{}],
    [{ id: 'olga' }],
    [{ id: 'olga', password: 4711471147 }],
    [{ id: 'olga', password: 'x', pin: 'x' }],
    ['{"password":"4711471147"'],
  ])('of %j is 400 without what was given, and counts as no try', async (body) => {
    const { net } = await claimed();
    for (let n = 0; n < 6; n += 1) {
      const told = await net.post(`${root}/login`, body);
      expect(told.status).toBe(400);
      expect(told.text + net.log.join('')).not.toContain('4711471147');
    }
    expect(await net.login('olga', passwords.olga)).toMatchObject({ status: 200 });
  });

  it('of an installer without consent is 403, of one with a wrong password 401', async () => {
    const made = box();
    const access = await made.start();
    const ines = await claim(access, 'ines', 'installer');
    await join(access, ines, 'olga', 'owner');
    const net = network(access);
    expect(await net.login('ines', passwords.ines)).toMatchObject({ status: 403, json: { code: 'access_denied' } });
    expect(await net.login('ines', 'kein-wort-davon')).toMatchObject({ status: 401 });
  });

  it('while too many passwords wait is 503 with Retry-After, and no try', async () => {
    const { net, made } = await claimed();
    let go = (): void => undefined;
    made.derive.meanwhile = () => new Promise<void>((resolve) => (go = resolve));
    const flood = Array.from({ length: 9 }, (_, n) => net.login(`name${n}`, 'kein-wort-davon', { from: lan(20 + n) }));
    const busy = await net.login('name9', 'kein-wort-davon', { from: lan(40) });
    expect(busy).toMatchObject({ status: 503, json: { code: 'access_busy' } });
    expect(busy.headers.get('retry-after')).toBe('1');
    go();
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(Array(9).fill(401));
  });
});

describe('whoever is logged in', () => {
  it('is told what may be done, and that alone is done', async () => {
    const { access, olga, net } = await claimed();
    const vera = await join(access, olga, 'vera', 'viewer');
    const { json } = await net.ask(`${root}/self`, { session: tokenOf(vera) });
    expect(json).toMatchObject({ kind: 'account', id: 'vera', role: 'viewer', session: { id: vera.caller.session } });
    const operations = json.operations as string[];
    expect(operations).toContain('listEvents');
    expect(operations.filter((id) => ['addPerson', 'giveCommand', 'showClaimCode'].includes(id))).toEqual([]);
    expect(operations.every((id) => Object.hasOwn(served, id))).toBe(true);
  });

  it('is told so as the control socket, and as a key', async () => {
    const { access, olga, net } = await claimed();
    const here = await net.ask(`${root}/self`, { from: 'here' });
    expect(here.json).toMatchObject({ kind: 'local' });
    expect(here.json.operations).toEqual(Object.keys(served));
    const { key, token } = await access.addKey(by(olga), { name: 'wall', scopes: ['metrics'] });
    expect((await net.ask(`${root}/self`, { key: token.reveal() })).json).toEqual({
      ...{ kind: 'key', id: key.id, role: 'owner', scopes: ['metrics'] },
      operations: [
        'getHealth',
        'getReady',
        'getMetrics',
        'getIdentity',
        'getAuthority',
        'claim',
        'login',
        'getSelf',
        'getOpenApi',
      ],
    });
    expect(await net.ask(`${root}/self`)).toMatchObject({ status: 401 });
  });

  it('logs out: session and cookie end', async () => {
    const { net, session } = await claimed();
    const out = await net.post(`${root}/logout`, undefined, { session });
    expect(out).toMatchObject({ status: 200, json: { logged_out: true }, session: '' });
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(await net.ask(`${root}/self`, { session })).toMatchObject({ status: 401 });
    expect(await net.post(`${root}/logout`, undefined, { session })).toMatchObject({ status: 401 });
    expect((await net.post(`${root}/logout`, undefined, { from: 'here' })).json).toEqual({ logged_out: false });
  });

  it('with a password that somebody else gave sets one first', async () => {
    const { net, session } = await claimed();
    const otto = { id: 'otto', name: 'Otto Example', role: 'operator', password: passwords.given };
    expect(await net.post(`${root}/people`, otto, { session })).toMatchObject({
      status: 200,
      json: { id: 'otto', role: 'operator', created_by: 'olga', now: 'password not changed yet' },
    });
    const came = await net.login('otto', passwords.given);
    expect(came.json).toMatchObject({
      must_change: true,
      operations: expect.arrayContaining(['setOwnPassword', 'logout']),
    });
    expect(await net.ask('/api/v1/status', { session: came.session })).toMatchObject({
      status: 403,
      json: { code: 'access_denied' },
    });
    const own = { current: passwords.given, password: passwords.next };
    const set = await net.ask(`${root}/self/password`, { method: 'PUT', body: own, session: came.session });
    expect(set).toMatchObject({ status: 200, json: { must_change: false } });
    expect(await net.ask('/api/v1/status', { session: set.session })).toMatchObject({ status: 200 });
    expect(await net.ask('/api/v1/status', { session: came.session })).toMatchObject({ status: 401 });
  });

  it.each([
    [{ current: 'kein-wort-davon', password: passwords.next }, 409, 'current'],
    [{ current: passwords.olga, password: 'short' }, 409, 'password'],
    [{ current: passwords.olga, password: passwords.olga }, 409, 'password'],
    [{ current: passwords.olga }, 400, 'password'],
    [{ current: passwords.olga, password: passwords.next, id: 'otto' }, 400, 'body'],
  ])('whose own password is not taken (%j) is told %i at %s, and stays logged in', async (body, status, field) => {
    const { net, session } = await claimed();
    const told = await net.ask(`${root}/self/password`, { method: 'PUT', body, session });
    expect(told).toMatchObject({ status, json: { errors: [{ field }] } });
    expect(told.text).not.toMatch(/kein-wort|short|zahnrad|lampe/);
    expect(await net.ask(`${root}/self`, { session })).toMatchObject({ status: 200 });
  });

  it('is no control socket: that has no password of its own', async () => {
    const { net } = await claimed();
    const own = { current: passwords.olga, password: passwords.next };
    expect(await net.ask(`${root}/self/password`, { method: 'PUT', body: own, from: 'here' })).toMatchObject({
      status: 403,
    });
  });

  it("sees and ends sessions of one's own, an owner those of all", async () => {
    const { made, access, olga, session, net } = await claimed();
    const otto = await join(access, olga, 'otto', 'operator');
    const second = await net.login('otto', passwords.next, { from: lan(7) });
    const own = await net.ask(`${root}/self/sessions`, { session: second.session });
    expect(own.json).toMatchObject({
      items: [
        { id: otto.caller.session, account: 'otto', from: lan(9), current: false },
        { account: 'otto', from: lan(7), current: true, opened_at: '2026-11-27T20:00:00.000Z' },
      ],
    });
    const end = (path: string, who: string | undefined, from = desk) =>
      net.ask(path, { method: 'DELETE', session: who, from });
    expect(await end(`${root}/self/sessions/${olga.caller.session}`, second.session)).toMatchObject({
      status: 404,
      json: { code: 'access_unknown' },
    });
    expect(await end(`${root}/sessions/${olga.caller.session}`, second.session)).toMatchObject({ status: 403 });
    expect(await end(`${root}/self/sessions/nonsense`, second.session)).toMatchObject({ status: 404 });
    expect(await end(`${root}/self/sessions/${otto.caller.session}`, second.session)).toMatchObject({
      status: 200,
      json: { ended: otto.caller.session },
    });
    const all = (await net.ask(`${root}/sessions`, { session })).json.items as { id: string; account: string }[];
    expect(all.map(({ account }) => account)).toEqual(['olga', 'otto']);
    expect(await end(`${root}/sessions/${all[1]?.id}`, session)).toMatchObject({ status: 200 });
    expect(await net.ask(`${root}/self`, { session: second.session })).toMatchObject({ status: 401 });
    expect(await end(`${root}/sessions/${olga.caller.session}`, undefined, 'here')).toMatchObject({ status: 200 });
    expect(made.audit.at(-1)).toMatchObject({ source: 'cli', action: 'session_ended', before: 'account olga' });
    expect((await net.ask(`${root}/self/sessions`, { from: 'here' })).json).toEqual({ items: [] });
  });
});

describe('accounts', () => {
  const add = (net: Network, session: string | undefined, more: object) =>
    net.post(
      `${root}/people`,
      { id: 'tim', name: 'Tim', role: 'viewer', password: passwords.given, ...more },
      { session },
    );

  it('are listed with what they may now, and never with anything of a password', async () => {
    const { made, access, session, net } = await claimed();
    const until = new Date(made.clock.wall() + day).toISOString();
    expect(await add(net, session, { id: 'ivo', role: 'installer', valid_until: until })).toMatchObject({
      json: { id: 'ivo', valid_until: until, consented_by: 'olga' },
    });
    const listed = await net.ask(`${root}/people`, { from: 'here' });
    expect(listed.json).toMatchObject({
      handed_over: '2026-11-27T20:00:00.000Z',
      items: [
        { id: 'olga', role: 'owner', now: 'valid' },
        { id: 'ivo', now: 'password not changed yet' },
      ],
    });
    made.clock.step(day);
    expect((await net.ask(`${root}/people`, { from: 'here' })).json).toMatchObject({ items: [{}, { now: 'expired' }] });
    made.quality = 'doubtful';
    expect((await net.ask(`${root}/people`, { from: 'here' })).json).toMatchObject({
      items: [{}, { now: 'clock in doubt' }],
    });
    const { people } = JSON.parse(text(made.dir)) as { people: { password: { hash: string; salt: string } }[] };
    for (const { password } of people)
      for (const part of [password.hash, password.salt]) expect(net.texts.join('\n')).not.toContain(part);
    expect(access.people()).toHaveLength(2);
  });

  it.each([
    [{ role: 'installer' }, 409, 'valid_until'],
    [{ role: 'installer', valid_until: '2027-06-01T00:00:00Z' }, 409, 'valid_until'],
    [{ role: 'owner', valid_until: '2026-12-01T00:00:00Z' }, 409, 'valid_until'],
    [{ valid_until: '2026-11-01T00:00:00Z' }, 409, 'valid_until'],
    [{ valid_until: '2026-12-01' }, 400, 'valid_until'],
    [{ id: 'olga' }, 409, 'id'],
    [{ role: 'root' }, 400, 'role'],
    [{ password: 'tim-tim-tim' }, 409, 'password'],
  ])('%j is not taken: %i at %s', async (more, status, field) => {
    const { access, session, net } = await claimed();
    const told = await add(net, session, more);
    expect(told).toMatchObject({ status, json: { errors: [{ field }] } });
    expect(told.text).not.toMatch(/kiesel|tim-tim/);
    expect(access.people()).toHaveLength(1);
  });

  it('are limited and let in again by an owner; what is withdrawn ends at once', async () => {
    const { made, access, olga, session, net } = await claimed();
    const limit = (id: string, body: unknown) => net.ask(`${root}/people/${id}`, { method: 'PATCH', body, session });
    const until = (days: number) => ({ valid_until: new Date(made.clock.wall() + days * day).toISOString() });
    const ivo = await join(access, olga, 'ivo', 'installer', until(2).valid_until);
    expect(await limit('ivo', { valid_until: null })).toMatchObject({ status: 200, json: { changed: 'ivo' } });
    expect(await net.ask('/api/v1/status', { session: tokenOf(ivo) })).toMatchObject({ status: 401 });
    expect((await net.ask(`${root}/people`, { session })).json).toMatchObject({
      items: [{}, { now: 'consent needed' }],
    });
    expect(await limit('ivo', until(30))).toMatchObject({ status: 200 });
    expect(await net.login('ivo', passwords.next)).toMatchObject({ status: 200 });
    expect(await limit('ivo', until(31))).toMatchObject({ status: 409, json: { errors: [{ field: 'valid_until' }] } });
    expect(await limit('olga', until(1))).toMatchObject({ status: 409 });
    expect(await limit('nobody', until(1))).toMatchObject({ status: 404, json: { code: 'access_unknown' } });
    expect(await limit('ivo', {})).toMatchObject({ status: 400 });
    expect(made.audit.find(({ action }) => action === 'account_limited')).toMatchObject({
      ...{ actor_ref: 'account:olga', client_id: desk, target: 'account ivo' },
      ...{ before: '2026-11-29T20:00:00.000Z', after: 'none' },
    });
  });

  it('are removed with sessions and keys; the last owner stays', async () => {
    const { access, olga, session, net } = await claimed();
    const ines = await join(access, olga, 'ines', 'owner');
    const { token } = await access.addKey(by(ines), { name: 'app', scopes: ['state'] });
    const remove = (id: string) => net.ask(`${root}/people/${id}`, { method: 'DELETE', session });
    expect(await remove('ines')).toMatchObject({ status: 200, json: { removed: 'ines' } });
    expect(await net.ask('/api/v1/status', { session: tokenOf(ines) })).toMatchObject({ status: 401 });
    expect(await net.ask('/api/v1/status', { key: token.reveal() })).toMatchObject({ status: 401 });
    expect(await remove('ines')).toMatchObject({ status: 404 });
    expect(await remove('olga')).toMatchObject({ status: 409, json: { code: 'access_refused' } });
  });

  it('cannot be added, limited or removed from the control socket: that is no owner', async () => {
    const { access, session, net } = await claimed();
    const here = { from: 'here' };
    const tim = { id: 'tim', name: 'Tim', role: 'owner', password: passwords.given };
    for (const told of [
      await net.post(`${root}/people`, tim, here),
      await net.ask(`${root}/people/olga`, { method: 'DELETE', ...here }),
      await net.ask(`${root}/people/olga`, { method: 'PATCH', body: { valid_until: null }, ...here }),
      await net.post(`${root}/keys`, { name: 'app', scopes: ['state'] }, here),
    ])
      expect(told).toMatchObject({ status: 403, json: { code: 'access_denied' } });
    expect([access.people().length, access.keys().length]).toEqual([1, 0]);
    expect(await net.ask(`${root}/self`, { session })).toMatchObject({ status: 200 });
  });
});

describe('API keys', () => {
  it('are shown once, do what their scopes say until they are removed or over', async () => {
    const { made, session, net } = await claimed();
    const expires = new Date(made.clock.wall() + day).toISOString();
    const body = { name: 'wall tablet', scopes: ['state', 'state'], expires_at: expires };
    const added = await net.post(`${root}/keys`, body, { session });
    expect(added).toMatchObject({
      status: 200,
      json: { key: { name: 'wall tablet', scopes: ['state'], created_by: 'olga', expires_at: expires, now: 'valid' } },
    });
    const key = String(added.json.token);
    const { id } = added.json.key as { id: string };
    expect(key).toMatch(new RegExp(`^sw_${id}_[\\w-]{43}$`));
    expect(await net.ask('/api/v1/status', { key })).toMatchObject({ status: 200 });
    expect(await net.ask('/api/v1/events', { key })).toMatchObject({ status: 403, json: { code: 'access_denied' } });
    const listed = await net.ask(`${root}/keys`, { session });
    expect(listed.json).toMatchObject({ items: [{ id, used_at: '2026-11-27T20:00:00.000Z', now: 'valid' }] });
    made.clock.step(day);
    expect(await net.ask('/api/v1/status', { key })).toMatchObject({ status: 401 });
    expect((await net.ask(`${root}/keys`, { from: 'here' })).json).toMatchObject({ items: [{ now: 'expired' }] });
    const remove = () => net.ask(`${root}/keys/${id}`, { method: 'DELETE', session });
    expect(await remove()).toMatchObject({ status: 200, json: { removed: id } });
    expect(await remove()).toMatchObject({ status: 404, json: { code: 'access_unknown' } });
    const told = net.texts.filter((one) => one.includes(key.slice(12)));
    expect(told).toEqual([added.text]);
  });

  it.each([
    [{ name: 'x'.repeat(65) }, 'name'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['root'] }, 'scopes[0]'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ secret: 'x' }, 'body'],
  ])('%j is not taken', async (more, field) => {
    const { access, session, net } = await claimed();
    const told = await net.post(`${root}/keys`, { name: 'app', scopes: ['state'], ...more }, { session });
    expect(told).toMatchObject({ status: 400, json: { errors: [{ field }] } });
    expect(told.text).not.toMatch(/root|tomorrow/);
    expect(access.keys()).toEqual([]);
  });

  it('end in the past are refused by the room', async () => {
    const { session, net } = await claimed();
    const body = { name: 'app', scopes: ['state'], expires_at: '2020-01-01T00:00:00Z' };
    expect(await net.post(`${root}/keys`, body, { session })).toMatchObject({
      status: 409,
      json: { errors: [{ field: 'expires_at' }] },
    });
  });
});

describe('a reset on the machine', () => {
  it('ends all accounts, keys and sessions, says how many, and shows another code', async () => {
    const { access, olga, session, net } = await claimed();
    const { token } = await access.addKey(by(olga), { name: 'app', scopes: ['state'] });
    const told = await net.post(`${root}/reset`, undefined, { from: 'here' });
    expect(told).toMatchObject({
      status: 200,
      json: { lost: { accounts: 1, keys: 1, sessions: 1 }, claim_code: codeOf(access) },
    });
    expect(await net.ask(`${root}/self`, { session })).toMatchObject({ status: 401 });
    expect(await net.ask('/api/v1/status', { key: token.reveal() })).toMatchObject({ status: 401 });
  });

  it('is not to be had over the network, nor is the claim code', async () => {
    const { access, session, net } = await claimed();
    for (const told of [
      await net.post(`${root}/reset`, undefined, { session }),
      await net.ask(`${root}/claim-code`, { session }),
    ])
      expect(told).toMatchObject({ status: 403, json: { code: 'access_denied' } });
    expect(await net.ask(`${root}/claim-code`)).toMatchObject({ status: 403 });
    expect(access.people()).toHaveLength(1);
  });

  it('sets a file aside that cannot be used; until then everything is 503', async () => {
    const { made, access, session } = await claimed();
    await access.stop();
    writeFileSync(pathOf(made.dir, 'access.json'), '{ "people": "zahnrad"');
    const next = network(await made.start());
    for (const told of [
      await next.login('olga', passwords.olga),
      await next.ask(`${root}/self`, { session }),
      await next.ask(`${root}/people`, { from: 'here' }),
      await next.ask(`${root}/claim-code`, { from: 'here' }),
    ]) {
      expect(told).toMatchObject({ status: 503, json: { code: 'access_unusable' } });
      expect(told.text).not.toContain('zahnrad');
    }
    const reset = await next.post(`${root}/reset`, undefined, { from: 'here' });
    expect(reset).toMatchObject({ status: 200, json: { lost: null, claim_code: expect.any(String) } });
    expect((await next.ask(`${root}/claim-code`, { from: 'here' })).json.claim_code).toBe(reset.json.claim_code);
  });
});

it('neither answers nor log hold a password, a claim code or a session, but those that are meant to', async () => {
  const made = box();
  const access = await made.start();
  const code = codeOf(access);
  const net = network(access);
  const { session = '' } = await net.post(`${root}/claim`, first(access));
  await net.login('olga', 'kein-wort-davon');
  await net.login(passwords.olga, 'olga');
  const otto = { id: 'otto', name: 'Otto', role: 'viewer', password: passwords.given };
  await net.post(`${root}/people`, otto, { session });
  await net.post(`${root}/people`, { ...otto, id: passwords.given }, { session });
  await net.post(`${root}/people`, otto, { session });
  const own = { current: passwords.olga, password: passwords.next };
  const { session: fresh = '' } = await net.ask(`${root}/self/password`, { method: 'PUT', body: own, session });
  await net.ask(`${root}/sessions`, { session: fresh });
  await net.post(`${root}/claim`, first(access, { code }));
  const everything = [...net.texts, ...net.log, JSON.stringify(made.audit), await made.metrics.metrics()].join('\n');
  for (const secret of [code, session, fresh, 'kein-wort-davon', ...Object.values(passwords)])
    expect(everything).not.toContain(secret);
});

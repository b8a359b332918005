import { pino } from 'pino';
import { expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import type { UsersPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeUsers } from '#lan/http/port.fake.ts';

const log: string[] = [];
const logger = () => pino({ base: null, level: 'trace' }, { write: (line) => void log.push(line) });

/** One request to the app of the control socket, without a socket. */
async function ask(users: UsersPort, method: string, path = '', body?: unknown) {
  log.length = 0;
  const headers = { 'content-type': 'application/json' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = body === undefined ? { method } : { method, headers, body: text };
  const answer = await lanApp(fakeLanPort(0, { users }), { log: logger(), identify: identifyLocal }).request(
    `/api/v1/users${path}`,
    init,
  );
  const said = await answer.text();
  return { status: answer.status, said, json: JSON.parse(said) as Record<string, unknown> };
}
const ben = { id: 'ben', name: 'Ben Kurz', code: '40718362' };

test('a user is added as role user unless another is named, listed and removed', async () => {
  const users = fakeUsers();
  expect(await ask(users, 'POST', '', ben)).toMatchObject({
    status: 200,
    json: { id: 'ben', name: 'Ben Kurz', role: 'user', source: 'file', created_by: 'control socket' },
  });
  expect((await ask(users, 'GET')).json).toMatchObject({ items: [{ id: 'anna' }, { id: 'ben' }] });
  expect(await ask(users, 'DELETE', '/ben')).toMatchObject({ status: 200, json: { removed: 'ben' } });
  expect(await ask(users, 'DELETE', '/ben')).toMatchObject({ status: 404, json: { code: 'user_unknown' } });
});

test('the last owner is removed only when that is said', async () => {
  const users = fakeUsers();
  expect(await ask(users, 'DELETE', '/anna')).toMatchObject({ status: 409, json: { code: 'last_owner' } });
  expect(await ask(users, 'DELETE', '/anna?last_owner=false')).toMatchObject({ status: 409 });
  expect(await ask(users, 'DELETE', '/anna?last_owner=true')).toMatchObject({ status: 200 });
});

test.each([
  ['code_refused', 409, 'The code is not taken'],
  ['user_refused', 409, 'Refused'],
  ['users_unusable', 503, 'This cannot be answered at the moment'],
  ['queue_full', 503, 'This cannot be answered at the moment'],
] as const)('what is refused as %s is status %i with its reason', async (code, status, title) => {
  const users = fakeUsers({
    add: async () => {
      throw new SitewardError(code, 'for this reason');
    },
  });
  expect(await ask(users, 'POST', '', ben)).toMatchObject({ status, json: { code, title, detail: 'for this reason' } });
});

test.each<[string, unknown, string]>([
  ['code', { ...ben, code: 25_804_713 }, 'must be text: as a number it has lost its leading zeros'],
  ['duress_code', { ...ben, duress_code: 25_804_713 }, 'must be text: as a number it has lost its leading zeros'],
  ['code', { ...ben, code: '25804713 ' }, 'must be 4 to 12 digits'],
  ['code', { id: 'ben', name: 'Ben' }, 'must be text: as a number it has lost its leading zeros'],
  ['id', { ...ben, id: '25804713' }, 'must be 1 to 32 lower-case letters, digits, _ or -, the first a letter'],
  ['role', { ...ben, role: '25804713' }, 'must be one of owner, user, guard, installer, auditor'],
  [
    'valid_until',
    { ...ben, valid_until: '2026-12-01 25804713' },
    'must be a day such as 2026-12-01, or 2026-12-01T18:30',
  ],
  [
    'windows[0]',
    { ...ben, windows: [{ days: ['mon'], from: '08:00', to: '09:00', 25804713: 1 }] },
    'must be { days, from, to }',
  ],
  ['body', { ...ben, 25804713: 'code' }, 'must have the members of a user and no others'],
  ['body', '{"code":"25804713"', 'must be JSON'],
])('a wrong %s is refused by its name; neither answer nor log repeats what was given', async (field, body, detail) => {
  const users = fakeUsers();
  const { status, said, json } = await ask(users, 'POST', '', body);
  expect({ status, errors: json.errors }).toEqual({ status: 400, errors: [{ field, detail }] });
  expect(said + log.join('')).not.toMatch(/25804713|40718362/);
  expect(await users.list()).toHaveLength(1);
});

test('a failure inside is logged without what was given', async () => {
  const users = fakeUsers({
    add: async () => {
      throw new Error('something else');
    },
  });
  const { status, said } = await ask(users, 'POST', '', ben);
  expect(status).toBe(500);
  expect(log).toHaveLength(1);
  expect(said + log.join('')).not.toContain('40718362');
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { askSocket } from '../harness/control.ts';
import { type Site, startSite } from '../harness/site.ts';
import { ask } from '../lan/http/listener-rig.ts';
import { type Ran, siteward } from './run-cli.ts';

const password = 'zahnrad-tulpe-42';
let site: Site;
/** Of lives of the daemon that were ended. */
const logged: string[] = [];
const codes: string[] = [];
/** Beside them, what was given or made over HTTPS. */
const secrets: string[] = [];
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    httpYaml: ', listen: "127.0.0.1:0"',
    yaml: () => `
partitions: [ { id: p1, name: Shop } ]
log: { level: trace }
`,
  });
});
afterAll(() => site?.close());
afterEach(() => void logged.push(...site.daemon.lines()));

const run = (...args: string[]): Promise<Ran> => siteward([...args, '--socket', site.socket]);
const json = async (...args: string[]): Promise<Record<string, unknown>> =>
  JSON.parse((await run(...args, '--json')).out) as Record<string, unknown>;

const post = (path: string, body: object) => askSocket(site.socket, 'POST', path, body);

const portOf = ({ urls }: Record<string, unknown>): number => Number(new URL((urls as string[])[0] ?? '').port);

function fingerprintAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** Over HTTPS, as a page of the bridge does it; gives the cookie of the answer, too. */
async function page(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const port = portOf(await json('claim-code'));
  const origin = `https://127.0.0.1:${port}`;
  const own = { host: `127.0.0.1:${port}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const told = await ask({ port }, path, {
    ...{ method, headers: { ...own, ...(headers.authorization === undefined && { origin }), ...headers } },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { ...told, cookie: told.headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
}

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('a new bridge shows its claim code, the same each time and after a restart', async () => {
  const { code, out } = await run('claim-code');
  expect(code).toBe(0);
  expect(out).toMatch(
    /^claim code {2}[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\nopen {8}https:\/\/127\.0\.0\.1:\d+\/\nSHA-256 {5}(?:[0-9A-F]{2}:){31}[0-9A-F]{2}\n$/,
  );
  const shown = await json('claim-code');
  expect(shown).toMatchObject({ claimed: false, claim_code: expect.stringMatching(/^\w{8}$/) });
  expect(shown.fingerprint).toBe(await fingerprintAt(portOf(shown)));

  codes.push(String(shown.claim_code));
  logged.push(...site.daemon.lines());
  await site.daemon.restart();
  expect(await json('claim-code')).toMatchObject({ claim_code: shown.claim_code, fingerprint: shown.fingerprint });
  expect((await run('access', 'list')).out).toBe(
    'nobody has claimed this bridge; "siteward claim-code" shows the code\n',
  );
});

test('the code makes the first account; a claimed bridge shows none and says what to do', async () => {
  const claim = { code: codes[0], id: 'olga', name: 'Olga Example', role: 'owner', password };
  expect(await post('/api/v1/access/claim', claim)).toMatchObject({ status: 200 });
  const { code, out, err } = await run('claim-code');
  expect([code, out]).toEqual([65, '']);
  expect(err).toContain('siteward reset-access');
  expect(await json('claim-code')).toEqual({
    claimed: true,
    urls: [expect.any(String)],
    fingerprint: expect.any(String),
  });
});

test('accounts, keys and sessions are listed, and a session is ended', async () => {
  const { out } = await run('access', 'list');
  expect(out).toMatch(
    /^handed over 20\S+Z\naccounts\n {2}olga {2}owner {2}Olga Example\nAPI keys {2}none\nsessions\n {2}\w{12} {2}olga {2}from local {2}opened \S+ {2}used \S+\n$/,
  );
  const { sessions, people } = await json('access', 'list');
  expect(people).toMatchObject([{ id: 'olga', now: 'valid' }]);
  const [{ id }] = sessions as [{ id: string }];
  expect(await json('access', 'end-session', id)).toEqual({ ended: id });
  expect((await run('access', 'end-session', id)).code).toBe(66);
  expect((await run('access', 'end-session', password)).err).not.toContain(password);
  expect(await json('access', 'list')).toMatchObject({ sessions: [] });
});

test('over HTTPS the account logs in, changes what an owner may, and a key what it may; the audit log names both', async () => {
  const wrong = await page('POST', '/api/v1/access/login', { id: 'olga', password: 'kein-wort-davon' });
  expect([wrong.status, wrong.cookie]).toEqual([401, '']);
  const { status, cookie, text } = await page('POST', '/api/v1/access/login', { id: 'olga', password });
  expect([status, text.includes(cookie.slice(10))]).toEqual([200, false]);
  const asOlga = { cookie };
  const ben = { id: 'ben', name: 'Ben', code: '29041738' };
  expect((await page('POST', '/api/v1/users', ben, asOlga)).status).toBe(200);
  const made = await page('POST', '/api/v1/access/keys', { name: 'app', scopes: ['audio:play'] }, asOlga);
  const { token, key } = made.json() as { token: string; key: { id: string } };
  secrets.push(token, cookie.slice(10), 'kein-wort-davon', ben.code);
  const asKey = { authorization: `Bearer ${token}` };
  expect((await page('POST', '/api/v1/audio/cancel', { all: true }, asKey)).status).toBe(200);
  expect((await page('DELETE', '/api/v1/users/ben', undefined, asKey)).status).toBe(403);
  expect((await page('POST', '/api/v1/access/logout', undefined, asOlga)).status).toBe(200);
  expect((await page('DELETE', '/api/v1/users/ben', undefined, asOlga)).status).toBe(401);
  const entries = (await run('audit', 'show', '--json')).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const olga = { source: 'lan', client_id: '127.0.0.1', actor_ref: 'account:olga' };
  for (const entry of [
    { ...olga, action: 'login', kind: 'login' },
    { ...olga, action: 'login', kind: 'refusal', reason: 'password' },
    { ...olga, action: 'user_added', target: 'user ben' },
    { ...olga, action: 'key_added', target: `key ${key.id}`, after: 'audio:play' },
    { ...olga, action: 'audio_cancel', actor_ref: `key:${key.id}` },
    { ...olga, action: 'logout' },
  ])
    expect(entries).toContainEqual(expect.objectContaining(entry));
});

test('a reset asks, or is told --yes; it says what is gone, and another code makes an owner', async () => {
  const asked = await run('reset-access');
  expect(asked.code).toBe(2);
  expect(asked.err).toContain('1 account, 1 API key and 0 open sessions');
  expect(await json('access', 'list')).toMatchObject({ people: [{ id: 'olga' }] });
  const { code, out } = await run('reset-access', '--yes');
  expect(code).toBe(0);
  expect(out).toMatch(/^1 account, 1 API key and 0 open sessions removed\n\nclaim code {2}\w{4}-\w{4}\n/);
  const shown = await json('claim-code');
  codes.push(String(shown.claim_code));
  expect(codes[1]).not.toBe(codes[0]);
  const claim = { code: codes[1], id: 'ines', name: 'Ines', role: 'installer', password };
  expect(await post('/api/v1/access/claim', claim)).toMatchObject({ status: 409 });
  expect(await post('/api/v1/access/claim', { ...claim, role: 'owner' })).toMatchObject({ status: 200 });
});

test('a file of accounts that is damaged is set aside by a reset', async () => {
  logged.push(...site.daemon.lines());
  await site.daemon.stop();
  const file = join(site.folder, 'state', 'access.json');
  writeFileSync(file, 'damaged');
  await site.daemon.restart();
  const refused = await run('claim-code');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('reset-access');
  expect((await run('reset-access')).err).toContain('access.json.damaged');
  const done = await json('reset-access', '--yes');
  expect(done).toMatchObject({ lost: null });
  codes.push(String(done.claim_code));
  expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('damaged');
});

test('safety 10: no claim code and no password ever stood in the log of the daemon, nor in the audit log', async () => {
  const lines = [...logged, ...site.daemon.lines()].join('\n');
  const { out: audit } = await run('audit', 'show', '--json', '--limit', '200');
  for (const action of ['claim', 'access_reset', 'session_ended']) expect(audit).toContain(`"${action}"`);
  expect(lines).toContain('ready');
  expect(codes).toHaveLength(3);
  for (const secret of [...codes, ...codes.map((code) => `${code.slice(0, 4)}-${code.slice(4)}`), ...secrets, password])
    expect(lines + audit).not.toContain(secret);
});

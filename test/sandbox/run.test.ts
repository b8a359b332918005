import { createPrivateKey } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describe } from '#errors.ts';
import { runSandbox } from '../../src/sandbox/index.ts';
import { event, eventToken, postEvent, send } from './cloud/service.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-sandbox-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('makes a demo key once, readable by its owner only, and prints how to call it without any secret', async () => {
  const printed: string[] = [];
  const run = () =>
    runSandbox({ port: 0, control: true, stateDir: join(folder, 'state'), print: (line) => printed.push(line) });
  const keyFile = join(folder, 'state', 'bridge-1.key.pem');
  const first = await run();
  const pem = readFileSync(keyFile, 'utf8');
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  await first.close();
  const cloud = await run();
  expect(readFileSync(keyFile, 'utf8')).toBe(pem);
  const service = { cloud, privateKey: createPrivateKey(pem) };
  const token = await eventToken(service);
  expect((await postEvent(service, token, event())).status).toBe(200);
  const text = printed.join('\n');
  expect(text).toContain(`${cloud.url}/__sandbox/events`);
  expect(text).toContain('POST  /partner/v1/events');
  expect(text).not.toContain('PRIVATE KEY');
  expect(text).not.toContain(token);
  await cloud.close();
});

it('keeps its keys and tokens in files of their owner, shows tokens on a terminal only, and all of them work', async () => {
  const printed: string[] = [];
  const start = (terminal: boolean) =>
    runSandbox({ port: 0, control: false, stateDir: folder, terminal, print: (line) => printed.push(line) });
  const kept = (name: string) => readFileSync(join(folder, name), 'utf8').trim();
  const first = await start(false);
  for (const name of ['bridge-1.key.pem', 'partner-1.secret', 'api-key', 'user-tokens.json']) {
    expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
  }
  const [secret, key] = [kept('partner-1.secret'), kept('api-key')];
  const user = JSON.parse(kept('user-tokens.json'))['1'];
  for (const hidden of [secret, key, user]) expect(printed.join('\n')).not.toContain(hidden);
  const status = async (path: string, token: string, method = 'GET', body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await send(first.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).status;
  };
  const connect = { external_dealer_id: 'again', company_name: 'Again' };
  expect(await status('/partner/v1/dealers/connect', user, 'PUT', connect)).toBe(200);
  expect(await status('/ext/v1/sites/101/audio-messages', key)).toBe(200);
  await first.close();

  const second = await start(true);
  expect([kept('partner-1.secret'), kept('api-key')]).toEqual([secret, key]);
  const shown = /export TOKEN=(\S+) API_KEY=(\S+)/.exec(printed.join('\n'));
  expect(shown?.[2]).toBe(key);
  const sites = await send(`${second.url}/partner/v1/dealers/1/sites`, {
    headers: { authorization: `Bearer ${shown?.[1]}` },
  });
  expect(sites.json).toMatchObject([{ site_id: 101 }]);
  await second.close();
});

it('leaves no token on the disk and prints none when a program reads it', async () => {
  const printed: string[] = [];
  const clients = [{ clientId: 'x', clientSecret: 'not-to-be-seen' }];
  const options = { port: 0, control: true, stateDir: join(folder, 'state'), clients, json: true, terminal: true };
  const cloud = await runSandbox({ ...options, print: (line) => printed.push(line) });
  await cloud.close();
  expect(printed.map((line) => Object.keys(JSON.parse(line)))).toEqual([['url', 'listen']]);
  expect(existsSync(join(folder, 'state'))).toBe(false);
});

it('serves the profile it is told, whatever the seed says', async () => {
  const seed = join(folder, 'seed.json');
  writeFileSync(seed, JSON.stringify({ dialect: { profile: 'A' }, dealers: [{ external_dealer_id: 'x' }] }));
  const cloud = await runSandbox({
    ...{ port: 0, control: true, stateDir: folder, seed, json: true, print: () => undefined },
    profile: 'B',
  });
  const made = await send(`${cloud.url}/__sandbox/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"kind":"partner"}',
  });
  const dealer = await send(`${cloud.url}/partner/v1/dealers/1`, {
    headers: { authorization: `Bearer ${made.json.token}` },
  });
  expect(dealer).toMatchObject({ status: 403, json: { message: expect.stringContaining('profile B') } });
  await cloud.close();
});

it('registers the clients of a seed file, and keeps the control path shut unless asked', async () => {
  const seed = join(folder, 'seed.json');
  writeFileSync(
    seed,
    JSON.stringify({ clients: [{ client_id: 'partner-1', client_secret: 'xyz-secret' }], dealers: [] }),
  );
  const printed: string[] = [];
  const cloud = await runSandbox({
    port: 0,
    control: false,
    stateDir: folder,
    seed,
    print: (line) => printed.push(line),
  });
  const answer = await send(`${cloud.url}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&client_id=partner-1&client_secret=xyz-secret',
  });
  expect(answer.status).toBe(200);
  expect((await send(`${cloud.url}/__sandbox/events`)).status).toBe(404);
  expect(printed.join('\n')).not.toContain('xyz-secret');
  await cloud.close();
});

it.each([
  ['{', 'config_invalid'],
  ['{"clients":[{}]}', 'config_invalid'],
  ['{"dealers":[{"dealer_id":1},{"dealer_id":1}]}', 'config_invalid'],
  [undefined, 'config_unreadable'],
])('refuses the seed %j', async (text, code) => {
  const seed = join(folder, 'seed.json');
  if (text !== undefined) writeFileSync(seed, text);
  const options = { port: 0, control: false, stateDir: folder, seed, print: () => undefined };
  await expect(runSandbox(options)).rejects.toMatchObject({ code });
});

it('names the wrong place of a seed in words, and only once', async () => {
  const seed = join(folder, 'seed.json');
  writeFileSync(seed, '{"dealers":[{"dealer_id":"1"}]}');
  const options = { port: 0, control: false, stateDir: folder, seed, print: () => undefined };
  const told = await runSandbox(options).then(() => '', describe);
  expect(told).toContain('dealers[0].dealer_id');
  expect(told).not.toContain('"code"');
});

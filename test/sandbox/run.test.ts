import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
  [undefined, 'config_unreadable'],
])('refuses the seed %j', async (text, code) => {
  const seed = join(folder, 'seed.json');
  if (text !== undefined) writeFileSync(seed, text);
  const options = { port: 0, control: false, stateDir: folder, seed, print: () => undefined };
  await expect(runSandbox(options)).rejects.toMatchObject({ code });
});

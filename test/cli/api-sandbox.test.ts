import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main, siteward } from './run-cli.ts';

let sandbox: ChildProcess;
let dir: string;
let url: string;
let token: string;

/** `siteward sandbox` as a user starts it; its first line says where it answers. */
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-api-sandbox-'));
  sandbox = spawn(process.execPath, [main, 'sandbox', '--json', '--control', '--state-dir', dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (sandbox.stdout === null) throw new Error('the sandbox has no standard output');
  for await (const line of createInterface({ input: sandbox.stdout })) {
    url = JSON.parse(line).url;
    break;
  }
  sandbox.stdout.resume();
  const answer = await fetch(`${url}/__sandbox/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'partner', dealers: [1] }),
  });
  ({ token } = (await answer.json()) as { token: string });
  writeFileSync(join(dir, 'token'), `${token}\n`, { mode: 0o600 });
});
afterAll(() => {
  sandbox.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const api = (...args: string[]) =>
  siteward(['api', ...args, '--base-url', url, '--token-file', join(dir, 'token'), '--json']);
const given = async (...args: string[]) => {
  const ran = await api(...args);
  expect(ran).toMatchObject({ code: 0, err: '' });
  return JSON.parse(ran.out);
};

test('a site lives and dies from the command line', async () => {
  const set = (...pairs: string[]) => pairs.flatMap((pair) => ['--set', pair]);
  const site = await given('create-site', '1', ...set('external_site_id=shop', 'name=Shop', 'timezone=Europe/Berlin'));
  const at = ['1', String(site.site_id)];
  expect(await given('list-sites', '1', '--filter', 'external_site_id,shop,eq', '--fields', 'name')).toEqual([
    { name: 'Shop' },
  ]);
  const device = set('external_device_id=cam-1', 'device_type=camera', 'zone_number=1');
  expect(await given('create-devices', ...at, ...device)).toMatchObject({ success_count: 1, failure_count: 0 });
  // The same once more fails as an item, not as a call.
  expect(await api('create-devices', ...at, ...device)).toMatchObject({ code: 1 });
  expect(await given('update-site', ...at, ...set('name=Corner shop'))).toMatchObject({ name: 'Corner shop' });
  expect(await given('delete-site', ...at, '--yes')).toBeNull();
  expect(await api('get-site', ...at)).toMatchObject({ code: 66 });
});

test.each([
  ['a field that is wrong', 65, ['update-dealer', '1', '--set', 'company_name='], 'field: company_name'],
  ['what is not there', 66, ['get-dealer', '999'], 'cloud_not_found'],
  ['another interface than the token opens', 77, ['list-audio-messages', '1'], 'cloud_unauthorized'],
])('%s is exit code %i', async (_, code, args, said) => {
  expect(await api(...args)).toMatchObject({ code, err: expect.stringContaining(said) });
});

test('a token that others may read is refused before anything is sent', async () => {
  writeFileSync(join(dir, 'open'), token, { mode: 0o644 });
  const ran = await siteward(['api', 'get-dealer', '1', '--base-url', url, '--token-file', join(dir, 'open')]);
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('secret_unreadable') });
});

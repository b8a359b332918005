import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { main, siteward } from './run-cli.ts';

test('the sandbox says where it answers, logs what arrives and ends with SIGTERM', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-sandbox-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const key = join(dir, 'key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const child = spawn(process.execPath, [main, 'sandbox', '--json', '--control', '--client', `bridge-1=${key}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  const lines = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await vi.waitUntil(() => lines().length > 0, { timeout: 20_000 });
  const { url, listen } = lines()[0];
  expect(url).toBe(listen);
  expect((await fetch(`${url}/nothing`)).status).toBe(404);
  expect((await fetch(`${url}/__sandbox/events`)).status).toBe(200);
  await vi.waitUntil(() => lines().length > 1, { timeout: 20_000 });
  expect(lines()[1]).toMatchObject({ method: 'GET', path: '/nothing', status: 404 });
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
});

test('a simulated camera is let in by the login it names, and takes lines', async () => {
  const child = spawn(process.execPath, [main, 'sandbox', 'camera', '--listen', '127.0.0.1:0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  await vi.waitUntil(() => out.includes('"url"'), { timeout: 20_000 });
  const [, url = '', user = '', password = ''] =
    /^simulated camera (\S+) {2}user (\S+) {2}password (\S+)$/m.exec(out) ?? [];
  const tested = await siteward(['camera', 'test', url, '--user', user, '--password-stdin'], {}, `${password}\n`);
  expect(tested).toMatchObject({ code: 0, out: expect.stringContaining('Everything siteward needs works.') });
  child.stdin.write('person on\n');
  await vi.waitUntil(() => out.includes('"command":"person"'), { timeout: 20_000 });
  child.stdin.write('quit\n');
  expect((await once(child, 'exit'))[0]).toBe(0);
}, 60_000);

test('without a client it makes some, keeps their keys and tokens privately and tells how to call it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-sandbox-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const child = spawn(process.execPath, [main, 'sandbox', '--state-dir', join(dir, 'state')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  await vi.waitUntil(() => out.includes('control path: off'), { timeout: 20_000 });
  expect(out).toMatch(/sandbox cloud at http:\/\/127\.0\.0\.1:\d+/);
  const keys = readdirSync(join(dir, 'state'));
  expect(keys.toSorted()).toEqual(['api-key', 'bridge-1.key.pem', 'partner-1.secret', 'user-tokens.json']);
  for (const name of keys) expect(statSync(join(dir, 'state', name)).mode & 0o777, name).toBe(0o600);
  child.kill('SIGINT');
  expect((await once(child, 'exit'))[0]).toBe(0);
});

test.each([
  ['an address without a port', ['--listen', 'localhost'], 'is no HOST:PORT'],
  ['a key that cannot be read', ['--client', 'a=/nowhere'], '--client a: the key cannot be used'],
])('%s is 78 and says so', async (_name, args, expected) => {
  const { code, err } = await siteward(['sandbox', ...args]);
  expect(code).toBe(78);
  expect(err).toContain(expected);
});

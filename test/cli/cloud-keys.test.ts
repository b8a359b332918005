import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { siteward } from './run-cli.ts';

let dir: string;
let config: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-keys-'));
  config = join(dir, 'siteward.yaml');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const registration = (...more: string[]) => siteward(['cloud', 'registration', '--config', config, ...more]);
const keyFile = () => join(dir, 'secrets', 'cloud-events-private-key');
const privateText = () => readFileSync(keyFile(), 'utf8');

/** Neither the text nor any line of the private half. */
function withoutPrivateKey(text: string): void {
  expect(text).not.toMatch(/PRIVATE KEY/);
  expect(text).not.toContain(createPrivateKey(privateText()).export({ format: 'jwk' }).d);
  for (const line of privateText()
    .split('\n')
    .filter((one) => one.length > 40))
    expect(text).not.toContain(line);
}

test('before there is a configuration a pair is made, once, and only its public half is shown', async () => {
  const ran = await registration('--json', '--name', 'Shop <1>', '--events-per-day', '250');
  expect(ran.code).toBe(0);
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  const told = JSON.parse(ran.out);
  const half = createPublicKey(createPrivateKey(privateText()));
  expect(half.asymmetricKeyDetails?.modulusLength).toBeGreaterThanOrEqual(2048);
  expect(told).toMatchObject({
    application_name: 'Shop <1>',
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    signing_algorithm: 'RS256',
    public_key_pem: half.export({ type: 'spki', format: 'pem' }),
    event_types: ['alarm', 'trouble', 'arming'],
    expected_volume: { events_per_day: 250 },
    platform: { product: expect.stringContaining('siteward') },
  });
  expect(told.public_key_jwk).toEqual({
    ...half.export({ format: 'jwk' }),
    alg: 'RS256',
    use: 'sig',
    kid: told.key_id,
  });
  withoutPrivateKey(ran.out + ran.err);
  const before = privateText();
  const again = await registration();
  expect(again).toMatchObject({ code: 0, err: expect.stringContaining('the key is that of file') });
  expect(again.out).toContain(told.public_key_pem);
  expect(privateText()).toBe(before);
  withoutPrivateKey(again.out + again.err);
});

test('the key of the configuration is taken, and the text goes into a file', async () => {
  expect((await registration()).code).toBe(0);
  const own = join(dir, 'own.pem');
  writeFileSync(own, privateText(), { mode: 0o600 });
  rmSync(join(dir, 'secrets'), { recursive: true });
  writeFileSync(
    config,
    `site:   { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Shop } ]
cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { file: ${own} }, key_id: k7 }
`,
  );
  const out = join(dir, 'registration.txt');
  const ran = await registration('--out', out);
  expect(ran).toMatchObject({ code: 0, out: '' });
  expect(existsSync(keyFile())).toBe(false);
  const text = readFileSync(out, 'utf8');
  for (const part of ['siteward hq', 'bridge-1', 'k7', 'alarm, trouble, arming', 'sw-1', 'BEGIN PUBLIC KEY'])
    expect(text).toContain(part);
  expect(text).not.toContain('PRIVATE');
  expect((await registration('--out', out)).code).toBe(1);
  expect((await registration('--next')).code).toBe(78);
});

test('a file that is no key is neither used nor written over', async () => {
  expect((await registration()).code).toBe(0);
  writeFileSync(keyFile(), 'no key\n', { mode: 0o600 });
  expect(await registration()).toMatchObject({ code: 77, err: expect.stringContaining('not a private key in PEM') });
  expect(privateText()).toBe('no key\n');
  expect(readdirSync(join(dir, 'secrets'))).toEqual(['cloud-events-private-key']);
});

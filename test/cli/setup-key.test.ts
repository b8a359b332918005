import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { setup } from '#cli/setup/setup.ts';

let folder: string;
let config: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-setup-key-'));
  config = join(folder, 'siteward.yaml');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const keyFile = () => join(folder, 'secrets', 'cloud-events-private-key');
const cloud = {
  'cloud.base_url': 'http://127.0.0.1:9',
  'cloud.auth_url': 'http://127.0.0.1:9',
  'cloud.client_id': 'bridge-7',
};

/** The two steps alone; what the step of the key came to. */
async function key(pairs: Readonly<Record<string, string>> = {}) {
  const told: string[] = [];
  const spies = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')].map((one) =>
    one.mockImplementation((text: unknown) => void told.push(String(text))),
  );
  const code = await setup({
    ...{ config, socket: join(folder, 'control.sock'), set: Object.entries(pairs).map((pair) => pair.join('=')) },
    ...{
      isSocketNamed: true,
      nonInteractive: true,
      only: ['site', 'key'],
      again: false,
      dryRun: false,
      force: false,
      json: true,
    },
  });
  for (const spy of spies) spy.mockRestore();
  const steps = told.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const step = steps.find((one) => one.step === 'key') as { state: string; words: string; did: boolean };
  return { code, step, told: told.join('\n') };
}
const written = () => parse(readFileSync(config, 'utf8')).cloud;

test('the step of the key is done only with a key that signs and the cloud as the answers have it', {
  timeout: 120_000,
}, async () => {
  const site = {
    'site.external_id': 'shop',
    'site.timezone': 'Europe/Berlin',
    'settings.store.dir': join(folder, 'state'),
  };
  // A key is made and its registration shown; what the operator has to name is said.
  const first = await key({ ...site, 'cloud.base_url': cloud['cloud.base_url'] });
  expect(first.step).toMatchObject({
    state: 'open',
    words: expect.stringContaining('cloud.auth_url, cloud.client_id'),
  });
  expect(first.told).toContain('BEGIN PUBLIC KEY');
  expect(first.step.words).toContain(
    `a key for events was made (file ${keyFile()}), which the operator does not know yet`,
  );
  expect(first.step.words).toContain('"siteward cloud registration"');
  const made = readFileSync(keyFile(), 'utf8');
  expect((await key(cloud)).step).toMatchObject({ state: 'done', did: true });
  const done = await key(cloud);
  expect(done.step).toMatchObject({ state: 'done', did: false, words: expect.stringContaining('client bridge-7') });
  expect(done.step.words).toMatch(/thumbprint [\w-]{43}$/);

  // One that is made with a client id that is known already is said, and what comes next.
  const before = readFileSync(config, 'utf8');
  rmSync(keyFile());
  rmSync(config);
  const silent = await key({ ...site, ...cloud });
  expect(silent.step).toMatchObject({ state: 'done', did: true });
  expect(silent.step.words).toContain('"siteward cloud registration"');
  writeFileSync(config, before);
  writeFileSync(keyFile(), made, { mode: 0o600 });

  // Other answers are written; a key id that was changed with the key stays.
  const other = await key({ ...cloud, 'cloud.client_id': 'bridge-8', 'cloud.key_id': 'k1' });
  expect(other.step).toMatchObject({ state: 'done', did: true, words: 'changed: events of the cloud' });
  expect(written().events).toMatchObject({ client_id: 'bridge-8', key_id: 'k1', private_key: { file: keyFile() } });
  expect((await key({ 'cloud.key_id': 'k0' })).step).toMatchObject({ state: 'done', did: false });
  expect((await key()).step).toMatchObject({ state: 'done', did: false });

  const broken = async (reason: string | RegExp) => {
    const { code, step, told } = await key(cloud);
    expect(step).toMatchObject({ state: 'open', words: expect.stringMatching(reason) });
    expect(step.words).toContain('siteward cloud rotate-key');
    expect(code).toBe(1);
    for (const line of made.split('\n').filter((one) => one.length > 40)) expect(told).not.toContain(line);
  };
  chmodSync(keyFile(), 0o644);
  await broken('chmod 600');
  chmodSync(keyFile(), 0o600);
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  for (const [text, reason] of [
    ['', 'it is empty'],
    ['no key', 'not a private key'],
    [made.slice(0, 400), 'not a private key'],
    [String(small), '1024 bits'],
  ] as const) {
    writeFileSync(keyFile(), text);
    await broken(reason);
  }
  rmSync(keyFile());
  await broken('there is no such file');
  expect(written().events.client_id).toBe('bridge-8');

  writeFileSync(keyFile(), made, { mode: 0o600 });
  // What only root reads is none for the service. Nobody else can give a file away.
  if (process.getuid?.() === 0) {
    chownSync(join(folder, 'state'), 65534, 65534);
    await broken('chown 65534');
    chownSync(keyFile(), 65534, 65534);
  }
  expect((await key({ 'cloud.client_id': 'bridge-8' })).step).toMatchObject({ state: 'done', did: false });
});

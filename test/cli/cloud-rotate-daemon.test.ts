import { spawn } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { eventually } from '#sandbox/demo/processes.ts';
import { program } from '../harness/program.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    yaml: () => 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n',
  });
}, 120_000);
afterAll(() => site?.close());

const rotate = async (...more: string[]) => {
  const ran = await siteward([
    'cloud',
    'rotate-key',
    '--config',
    site.config,
    '--socket',
    site.socket,
    '--json',
    ...more,
  ]);
  expect(ran.out + ran.err).not.toMatch(/PRIVATE KEY/);
  return ran;
};
const keys = () => parse(readFileSync(site.config, 'utf8')).cloud.events;
const secrets = () => {
  const folder = join(site.folder, 'secrets');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const inForce = async () =>
  ((await site.api('/api/v1/config')) as { config: { cloud: { events: object } } }).config.cloud.events;
const register = (pem: string) =>
  site.cloud.control('clients', { method: 'POST', body: { client_id: 'bridge-1', public_key_pem: pem } });

/** Arms and disarms until it is stopped; each is an event. */
function flow() {
  let isOver = false;
  const turns = (async () => {
    let count = 0;
    for (; !isOver; count += 1) {
      await site.lan.ask('arm', { partition: 'p1', mode: 'away', code });
      await site.lan.ask('disarm', { partition: 'p1', code });
    }
    return count;
  })();
  return {
    async end() {
      isOver = true;
      return await turns;
    },
  };
}

/** Every event that this site made is at the cloud, once. */
async function allArrived(): Promise<number> {
  return await eventually(
    'all events at the cloud',
    async () => {
      const made = (await site.history()).filter(({ delivery }) => delivery !== 'local');
      if (made.some(({ delivery }) => delivery !== 'delivered')) return undefined;
      const accepted = (await site.cloud.events()).map(({ event_id: id }) => id);
      expect(new Set(accepted).size).toBe(accepted.length);
      expect(new Set(accepted)).toEqual(new Set(made.map(({ event }) => event.event_id)));
      return made.length;
    },
    { timeoutMs: 120_000 },
  );
}

test('a key is changed while events flow, and none is lost', { timeout: 400_000 }, async () => {
  const flowing = flow();
  const first = await rotate();
  expect(first).toMatchObject({ code: 0 });
  const { step, registration } = JSON.parse(first.out);
  expect(step).toBe('begun');
  const made = keys().next_private_key.file;
  expect(createPublicKey(createPrivateKey(readFileSync(made, 'utf8'))).export({ type: 'spki', format: 'pem' })).toBe(
    registration.public_key_pem,
  );
  expect(await inForce()).toEqual(keys());

  // The operator does not have it yet.
  const before = readFileSync(site.config, 'utf8');
  expect(await rotate()).toMatchObject({ code: 77, err: expect.stringContaining('nothing was changed') });
  expect(readFileSync(site.config, 'utf8')).toBe(before);

  await register(registration.public_key_pem);
  const old = keys().private_key.file;
  const second = await rotate();
  expect(second).toMatchObject({ code: 0 });
  // The key of the harness has no name of siteward's: it is not removed.
  expect(JSON.parse(second.out)).toEqual({ step: 'done', left: old });
  expect(keys()).toEqual({ client_id: 'bridge-1', private_key: { file: made } });
  expect(await inForce()).toEqual(keys());

  // A cloud that knows the new key alone, and no token of before.
  writeFileSync(old, readFileSync(made));
  await site.cloud.restart();
  await eventually('some more events', async () => {
    const sent = (await site.cloud.events()).filter(({ try_count: tries }) => tries > 0).length;
    return sent > 10 ? true : undefined;
  });
  expect(await flowing.end()).toBeGreaterThan(2);
  expect(await allArrived()).toBeGreaterThan(5);
});

test('a change can be taken back, and what was made for it is removed', { timeout: 120_000 }, async () => {
  const [before, files] = [keys(), secrets()];
  expect((await rotate()).code).toBe(0);
  expect(secrets()).toHaveLength(files.length + 1);
  const ran = await rotate('--cancel');
  expect(ran).toMatchObject({ code: 0 });
  expect(keys()).toEqual(before);
  expect(secrets()).toEqual(files);
  expect((await rotate('--cancel')).code).toBe(78);
});

test('a call that was killed before the daemon knew goes on where it stopped', { timeout: 200_000 }, async () => {
  const begun = JSON.parse((await rotate()).out);
  await register(begun.registration.public_key_pem);
  const { private_key: old, next_private_key: next } = keys();
  // As it stands when the file is written and nobody was told.
  const text = readFileSync(site.config, 'utf8');
  const changed = text.replace(old.file, next.file).replace(/, next_private_key: \{[^}]*\}/, '');
  expect(parse(changed).cloud.events).toEqual({ client_id: 'bridge-1', private_key: next });
  writeFileSync(site.config, changed);
  const ran = await rotate();
  expect(JSON.parse(ran.out)).toEqual({ step: 'done' });
  expect(await inForce()).toEqual({ client_id: 'bridge-1', private_key: next });
  expect(keys()).toEqual(await inForce());
});

test('a second call that was killed as soon as the file was written is gone on with, and no third key is begun', {
  timeout: 200_000,
}, async () => {
  const files = secrets();
  const begun = JSON.parse((await rotate()).out);
  await register(begun.registration.public_key_pem);
  const { private_key: old, next_private_key: next } = keys();
  const args = ['cloud', 'rotate-key', '--config', site.config, '--socket', site.socket, '--json'];
  const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const watcher = watch(site.folder, () => {
    if (!readFileSync(site.config, 'utf8').includes('next_private_key')) child.kill('SIGKILL');
  });
  expect(await ended).toEqual([null, 'SIGKILL']);
  watcher.close();
  expect(keys().private_key).toEqual(next);
  // Meanwhile the daemon has taken the file, whoever had it do so.
  expect(await siteward(['reload', '--config', site.config, '--socket', site.socket])).toMatchObject({ code: 0 });
  expect(await inForce()).toEqual(keys());

  expect(JSON.parse((await rotate('--dry-run')).out)).toEqual({ step: 'done', written: false });
  expect(JSON.parse((await rotate()).out)).toEqual({ step: 'done' });
  expect(keys()).toEqual({ client_id: 'bridge-1', private_key: next });
  expect(existsSync(old.file)).toBe(false);
  // Only now the next one begins.
  expect(JSON.parse((await rotate()).out).step).toBe('begun');
  expect((await rotate('--cancel')).code).toBe(0);
  expect(secrets()).toHaveLength(files.length);
});

test('without a daemon the files alone are changed', { timeout: 200_000 }, async () => {
  await site.daemon.stop();
  const old = keys().private_key.file;
  const begun = JSON.parse((await rotate()).out);
  await register(begun.registration.public_key_pem);
  const next = keys().next_private_key.file;
  expect(await rotate('--dry-run')).toMatchObject({ code: 0 });
  expect(keys().next_private_key.file).toBe(next);
  expect(await rotate()).toMatchObject({ code: 0, err: expect.stringContaining('no siteward runs here') });
  expect(keys().private_key.file).toBe(next);
  expect(existsSync(old)).toBe(false);
  await site.daemon.restart();
  await site.lan.ask('arm', { partition: 'p1', mode: 'away', code });
  await allArrived();
});

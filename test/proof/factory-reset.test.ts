import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkConfig } from '#config/index.ts';
import type { CrashPoint } from '#lib/crash-point.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { markReset, resetMarker } from '../../src/daemon/factory-reset.ts';
import { askSocket } from '../harness/control.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { withFile } from '../site/store/helpers.ts';
import { crashProgram } from './durable/crash-site.ts';
import { outboxIsEmpty } from './outbox.ts';

/** A factory reset is done as a whole or not at all, wherever siteward ends. */

/** What the customer has given it; after a reset nothing on the disk may say it. */
const secrets = ['Meier-Hallenstein', 'Olga Hallenstein', 'camera-secret-4711'] as const;
const owner = { id: 'olga', password: 'a long walk along the river' };
const systemd = { INVOCATION_ID: '5f3b2c0d' };

let site: Site;
let folder = '';
/** As everything lay when the daemon had ended in order: each test begins with it. */
let before = '';
let removeProgram: (() => void) | undefined;
beforeAll(async () => {
  const { program, remove } = await crashProgram();
  removeProgram = remove;
  site = await startSite({
    program,
    broker: 'embedded',
    httpYaml: ', listen: "127.0.0.1:0"',
    env: systemd,
    yaml: (at) => {
      const file = join(at.folder, 'secrets', 'camera-yard');
      mkdirSync(dirname(file), { mode: 0o700 });
      writeFileSync(file, `${secrets[2]}\n`, { mode: 0o600 });
      return `partitions: [ { id: p1, name: ${secrets[0]}, exit_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: panic_silent, name: Button, key: button, partition: p1 }
cameras: [ { id: yard, name: ${secrets[0]}, url: "http://127.0.0.1:9/", username: x, password: { file: ${file} } } ]
# Nothing is told of lost devices while a test runs.
supervision: { cloud: { report_after: 1h }, cameras: { report_after: 1h } }
`;
    },
  });
  folder = site.folder;
  await claim();
  await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
  await site.lan.ask('disarm', { partition: 'p1', code });
  await outboxIsEmpty(site, { timeoutMs: 20_000 });
  writeFileSync(`${site.config}.bak`, `# ${secrets[0]}\n`);
  await site.daemon.stop();
  before = join(folder, 'before');
  for (const name of parts) cpSync(join(folder, name), join(before, name), { recursive: true });
}, 120_000);
afterAll(async () => {
  await site?.close();
  removeProgram?.();
});

const parts = ['state', 'secrets', 'siteward.yaml', 'siteward.yaml.bak'];

/** The daemon has ended, and all is as it was in the beginning. */
async function lay(): Promise<void> {
  await site.daemon.stop();
  for (const name of parts) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(before, name), join(folder, name), { recursive: true });
  }
}

/** The daemon runs over that, and reaches the cloud. */
async function begin(env: Readonly<Record<string, string>> = {}): Promise<void> {
  await lay();
  await site.daemon.restart(env);
  await eventually('the cloud', async () => {
    const { links } = (await site.api('/api/v1/status')) as { links: { kind: string; up: boolean | null }[] };
    return links.some(({ kind, up }) => kind === 'cloud' && up === true) ? true : undefined;
  });
}

async function post(path: string, given: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const { status, body } = await askSocket(site.socket, 'POST', path, given);
  return { status, body };
}
const restart = (confirm = 'proof') => post('/api/v1/danger/restart', { confirm });
const reset = (more: object = {}) => post('/api/v1/danger/factory-reset', { confirm: 'proof', ...more });

const claimCode = async () =>
  ((await site.api('/api/v1/access/claim-code')) as { claim_code?: string }).claim_code ?? '';

async function claim(): Promise<void> {
  const { status, body } = await post('/api/v1/access/claim', {
    ...{ ...owner, code: await claimCode(), name: secrets[1], role: 'owner' },
  });
  expect({ status, body }).toMatchObject({ status: 200 });
}

/** Over the network, as the owner who has claimed it. */
async function asOwner(path: string, body: unknown): Promise<number> {
  const origin = await eventually('the address', async () => {
    const { parts: found } = (await site.api('/api/v1/status')) as {
      parts: { name: string; facts?: { listen?: string } }[];
    };
    const { listen } = found.find(({ name }) => name === 'http')?.facts ?? {};
    return listen === undefined ? undefined : `https://${listen}`;
  });
  const client = new Client(origin, { connect: { rejectUnauthorized: false } });
  try {
    const ask = (to: string, what: unknown, cookie = '') =>
      client.request({
        ...{ method: 'POST', path: to, body: JSON.stringify(what) },
        headers: { 'content-type': 'application/json', origin, cookie },
      });
    const login = await ask('/api/v1/access/login', owner);
    await login.body.dump();
    const cookie = String(login.headers['set-cookie']).split(';')[0];
    const answer = await ask(path, body, cookie);
    await answer.body.dump();
    return answer.statusCode;
  } finally {
    await client.destroy();
  }
}

/** Files of the site that still say something of the customer. */
function left(): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => !name.startsWith('before'));
  return names.filter((name) => {
    const path = join(folder, name);
    try {
      const bytes = statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
      return secrets.some((secret) => bytes.includes(secret));
    } catch {
      // A new file that has found its place meanwhile, or a socket.
      return false;
    }
  });
}

/** Ends the daemon, which lets nobody else look into its files. */
async function audit(): Promise<string[]> {
  await site.daemon.stop();
  return withFile(join(folder, 'state', 'site.db'), (db) =>
    db.prepare<[], Record<string, unknown>>('SELECT * FROM audit ORDER BY n').all(),
  ).map((row) => JSON.stringify(row));
}

async function isAsOnTheFirstDay(by: string): Promise<void> {
  expect(left()).toEqual([]);
  expect(readdirSync(join(folder, 'state')).filter((name) => name.startsWith('factory-reset'))).toEqual([]);
  expect(existsSync(`${site.config}.bak`)).toBe(false);
  expect(existsSync(join(folder, 'secrets', 'camera-yard'))).toBe(false);
  // Not of its own folder: whoever else needs it still has it.
  expect(existsSync(join(folder, 'event-key.pem'))).toBe(true);
  const { loaded, problems } = checkConfig(site.config);
  expect(problems).toEqual([]);
  expect(loaded?.settings).toMatchObject({
    site: { id: '4711', external_id: 'proof', timezone: 'Europe/Berlin' },
    bridge: { external_id: 'sw-proof' },
    store: { dir: join(folder, 'state') },
    http: { control_socket: site.socket, listen: '127.0.0.1:0' },
    mqtt: { broker: 'embedded' },
    ...{ panels: [], cameras: [], users: [] },
  });
  expect(loaded?.settings.cloud).toBeUndefined();
  await claim();
  const [first] = await audit();
  expect(first).toContain(by);
  expect(first).toContain('factory_reset');
}

const isUntouched = () => {
  expect(readFileSync(site.config, 'utf8')).toBe(readFileSync(join(before, 'siteward.yaml'), 'utf8'));
  expect(readdirSync(join(folder, 'state')).filter((name) => name.startsWith('factory-reset'))).toEqual([]);
};

describe('a restart', { timeout: 120_000 }, () => {
  it('takes the name of the site, and ends in order', async () => {
    await begin();
    expect(await restart('prof')).toMatchObject({
      status: 400,
      body: { code: 'request_invalid', errors: [{ field: 'confirm', detail: expect.stringContaining('type proof') }] },
    });
    expect(await restart()).toEqual({ status: 202, body: { restarting: true } });
    await site.daemon.ended(20_000);
    expect(site.daemon.lines().some((line) => line.includes('"msg":"stopping"'))).toBe(true);
    expect(site.daemon.exitCode()).toBe(0);
    expect((await audit()).some((row) => row.includes('restart'))).toBe(true);
  });

  it('is refused where nothing would start it again', async () => {
    await begin({ INVOCATION_ID: '' });
    for (const refused of [await restart(), await reset()])
      expect(refused).toMatchObject({
        status: 409,
        body: { code: 'danger_refused', detail: expect.stringContaining('systemd') },
      });
    expect((await site.api('/readyz')) as object).toMatchObject({ ready: true });
  });
});

describe('a factory reset that is refused', { timeout: 120_000 }, () => {
  it('wants the name of the site, partitions that are known to be disarmed, and nothing that waits for the cloud', async () => {
    await begin();
    expect(await reset({ confirm: 'Proof' })).toMatchObject({ status: 400, body: { code: 'request_invalid' } });

    await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
    expect(await reset({ even_undelivered: true })).toMatchObject({
      status: 409,
      body: { code: 'danger_refused', detail: `partition ${secrets[0]} (p1) is not disarmed; disarm it first` },
    });
    await site.lan.ask('disarm', { partition: 'p1', code });
    await outboxIsEmpty(site, { timeoutMs: 20_000 });

    await site.line.cut();
    try {
      await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
      await site.lan.ask('disarm', { partition: 'p1', code });
      expect(await reset()).toMatchObject({
        status: 409,
        body: { code: 'danger_refused', detail: expect.stringMatching(/^\d+ events? waits? for the cloud/) },
      });
    } finally {
      await site.line.restore();
    }
    expect((await audit()).filter((row) => row.includes('factory_reset')).length).toBeGreaterThan(2);
    isUntouched();
  });

  it('is called off by an arming that comes while it waits', async () => {
    await begin();
    expect(await reset()).toMatchObject({ status: 202 });
    expect(await reset()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('under way') } });
    expect(await restart()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('under way') } });
    await site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });
    expect(await calledOff()).toContain('not disarmed');
    expect(await reset()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('not disarmed') } });
    await site.daemon.stop();
    isUntouched();
  });

  it('is not done by a start after a kill while it still sends', async () => {
    await begin();
    expect(await reset()).toMatchObject({ status: 202 });
    await site.daemon.kill();
    await site.daemon.restart();
    isUntouched();
    expect(await claimCode()).toBe('');
  });
});

describe('a factory reset', { timeout: 120_000 }, () => {
  it('asked for by the owner over the network forgets all, says who asked, and begins with a claim code', async () => {
    await begin();
    expect(await asOwner('/api/v1/danger/factory-reset', { confirm: 'proof' })).toBe(202);
    await site.daemon.ended(40_000);
    expect(site.daemon.exitCode()).toBe(0);
    expect(left()).not.toEqual([]);
    await site.daemon.restart();
    const said = site.daemon.lines().find((line) => line.includes('a factory reset was done'));
    expect(JSON.parse(said ?? '{}')).toMatchObject({ actor: `account:${owner.id}`, level: 'warn' });
    // The log of the process that asked is not on this disk, but the id stands in the first entry of the new audit log.
    await isAsOnTheFirstDay(`account:${owner.id}`);
  });

  it('sends a silent call that waits before it ends, and says nothing of it', async () => {
    await begin();
    await site.lan.publish('zigbee2mqtt/button', JSON.stringify({ contact: true }));
    await outboxIsEmpty(site, { timeoutMs: 20_000 });
    await site.line.cut();
    const lines = site.daemon.lines().length;
    await site.lan.publish('zigbee2mqtt/button', JSON.stringify({ contact: false }));
    // Nobody can tell by the answer that it waits; the line is looked at meanwhile, and is a reason that everybody sees.
    expect(await reset()).toEqual({ status: 202, body: { restarting: true } });
    expect(await calledOff()).toContain('the cloud cannot be reached');
    expect(await reset()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('the cloud cannot be reached') },
    });
    const asked = await reset({ even_undelivered: true });
    expect(asked).toEqual({ status: 202, body: { restarting: true } });
    await site.line.restore();
    await site.daemon.ended(40_000);
    expect((await site.cloud.events()).map(({ body }) => body.payload.kind)).toContain('panic_silent');
    expect(site.daemon.lines().slice(lines).join('\n')).not.toContain('silent');
  });

  it.each<[CrashPoint, number]>([
    ['file.part', 1],
    ['file.renamed', 1],
    ['reset.config', 1],
    ['reset.secret', 1],
    ['reset.removed', 1],
    ['reset.removed', 3],
    ['file.part', 2],
    ['reset.noted', 1],
    ['reset.finished', 1],
  ])('that ends at %s, time %i, is whole after the next start', async (point, nth) => {
    await lay();
    await mark();
    await site.daemon.restart({ SITEWARD_CRASH_AT: `${point}:${nth}` }).catch(() => undefined);
    await site.daemon.ended(20_000);
    expect(site.daemon.exitCode()).toBeNull();
    await site.daemon.restart();
    await isAsOnTheFirstDay('control socket');
  });

  it('that ends as soon as it is marked is done by the next start', async () => {
    await begin({ SITEWARD_CRASH_AT: 'reset.marked' });
    expect(await reset()).toMatchObject({ status: 202 });
    await site.daemon.ended(40_000);
    expect(site.daemon.exitCode()).toBeNull();
    expect(left()).not.toEqual([]);
    await site.daemon.restart();
    await isAsOnTheFirstDay('control socket');
  });

  it.each<[string, (path: string) => void]>([
    ['is damaged', (path) => writeFileSync(path, '{')],
    ['is of another site', (path) => change(path, { site: 'other' })],
    ['is of another configuration', (path) => change(path, { config: '/etc/other.yaml' })],
  ])('whose marker %s is not done, at no later start either', async (_, spoil) => {
    await lay();
    await mark();
    spoil(join(folder, 'state', 'factory-reset.json'));
    await site.daemon.restart();
    expect(site.daemon.lines().some((line) => line.includes('the factory reset was NOT done'))).toBe(true);
    isUntouched();
  });
});

/** What the log says of a reset that is not done. */
const calledOff = () =>
  eventually(
    'the word that it is not done',
    () => site.daemon.lines().findLast((line) => line.includes('the factory reset is not done')),
    { timeoutMs: 40_000 },
  );

/** As the daemon leaves it. */
const mark = () =>
  markReset(
    join(folder, 'state'),
    resetMarker(
      {
        configPath: site.config,
        text: readFileSync(site.config, 'utf8'),
        dir: join(folder, 'state'),
        site: 'proof',
      },
      { by: 'control socket', at: '2026-11-29T21:00:00.000Z' },
    ),
  );

function change(path: string, more: object): void {
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...more }));
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Scope, scopes } from '#lan/access/index.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { startDeafHost } from '../harness/deaf-host.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

const cloudKey = 'api-key-which-nobody-sees';
const password = 'zahnrad-tulpe-42';
/** The code of another user, and what they type under duress. */
const duress = ['369147', '369148'];
const root = join(import.meta.dirname, '..', '..');
let sandbox: SandboxCloud;
let siteId: string;
let site: Site;
let url: string;
let ca: string;
let session: string;
beforeAll(async () => {
  sandbox = await startCloud({ listen: { host: '127.0.0.1', port: 0 }, clients: [], dealers: defaultSeed().dealers });
  siteId = String(sandbox.sites()[0]?.site_id);
  sandbox.issueToken('api_key', { lifetimeS: 3600, token: cloudKey });
  site = await startSite({
    broker: 'embedded',
    cameras: ['7'],
    siteYaml: `id: "${siteId}", account_reference_id: "0815"`,
    cloudYaml: '  api_key: { env: CLOUD_KEY }\n  dialect: { public_paths: true }\n',
    env: { CLOUD_KEY: cloudKey },
    httpYaml: ', listen: "127.0.0.1:0"',
    armingYaml: ', disarm_code: optional',
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
cameras:
${camera('"7"', cameras['7'], 'name: Yard, zone: "21", pictures: always')}
speakers: [ { id: "7", name: Yard, driver: "null" } ]
log: { level: trace }
`,
  });
  await site.line.connect(sandbox.url);
  const port = await eventually('the LAN API, and a partition that can be armed', ready, { timeoutMs: 60_000 });
  url = `https://127.0.0.1:${port}`;
  ca = readFileSync(caFile(), 'utf8');
  session = await claim();
}, 120_000);
afterAll(async () => {
  await site?.close();
  await sandbox?.close();
});

const caFile = () => join(site.folder, 'state', 'tls', 'ca.crt');

async function ready(): Promise<string | undefined> {
  const { parts, cameras } = (await site.api('/api/v1/status')) as StatusDocument;
  const { state, facts } = parts.find(({ name }) => name === 'http') ?? {};
  return state === 'ok' && cameras[0]?.up === true ? String(facts?.listen).split(':').at(-1) : undefined;
}

async function post(path: string, body?: object, headers: Record<string, string> = {}) {
  const dispatcher = new Agent({ connect: { ca } });
  try {
    const answer = await request(`${url}${path}`, {
      ...{ dispatcher, method: 'POST', body: body === undefined ? null : JSON.stringify(body) },
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    });
    // biome-ignore lint/suspicious/noExplicitAny: whatever comes is looked at by whoever asks.
    const json = (await answer.body.json()) as any;
    return { status: answer.statusCode, json, cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' };
  } finally {
    await dispatcher.destroy();
  }
}

/** The first account, as a person makes it in a browser. */
async function claim(): Promise<string> {
  const { out } = await siteward(['claim-code', '--json', '--socket', site.socket]);
  const { claim_code } = JSON.parse(out) as { claim_code: string };
  const claim = { code: claim_code, id: 'olga', name: 'Olga', role: 'owner', password };
  const { status, cookie } = await post('/api/v1/access/claim', claim, { origin: url });
  expect(status).toBe(200);
  return cookie;
}

async function newKey(of: readonly Scope[] = scopes): Promise<string> {
  const body = { name: `of ${of.length}`, scopes: of };
  const { status, json } = await post('/api/v1/access/keys', body, { cookie: session, origin: url });
  expect(status).toBe(200);
  return json.token;
}

interface Conformed {
  readonly status: number;
  readonly out: string;
  /** Titles of failed rules with their reason, and of skipped ones. */
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

/** A disarm without a code so soon after another client's arming has met it, and gives way (safety 5), milliseconds. */
const meetMs = 2_000;

/** Each run has a key of its own, so it is another client than the one before, which ended with an arming. */
async function lastArmingIsOver(): Promise<true | undefined> {
  const { partitions } = (await site.api('/api/v1/status')) as StatusDocument;
  return partitions.every(({ since }) => Date.now() - Date.parse(since) >= meetMs) || undefined;
}

/** `npm run conformance` as anybody runs it against a service, with a new key of the bridge. */
async function conformance(): Promise<Conformed> {
  await eventually('the arming of the last run is over', lastArmingIsOver);
  // What is left of the last run must not be heard in this one, which is told whether it plays.
  await siteward(['audio', 'stop', '--all', '--alarms', '--socket', site.socket]);
  const key = await newKey();
  const child = spawn(
    process.execPath,
    [
      ...[join(root, 'tools', 'conformance.ts'), '--base-url', url, '--only', 'L', '--no-control', '--allow-actions'],
      ...['--site', siteId, '--account-reference', '0815', '--device', '7', '--partition', 'p1'],
      ...['--api-key-env', 'BRIDGE_KEY'],
    ],
    {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_EXTRA_CA_CERTS: caFile(), BRIDGE_KEY: key },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 200_000,
    },
  );
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  const [status] = (await once(child, 'close')) as [number];
  const titles = (word: string) =>
    [...out.matchAll(new RegExp(`^${word} +(S-.*)\n +(.*)$`, 'gm'))].map(([, title, reason]) => `${title}: ${reason}`);
  return { status, out, failed: titles('failed'), skipped: titles('skipped') };
}

const bypass = 'S-179 zones of a partition are bypassed: needs a control path';
const guard = 'S-179 a guard is asked for, and the request is taken with 202';

test('with the line up every rule of sections L passes: 11 numbers, 0 failed', async () => {
  const { status, out, failed, skipped } = await conformance();
  expect({ failed, skipped }).toEqual({ failed: [], skipped: [bypass] });
  expect(out).toContain('\n11 passed, 0 failed, 0 skipped\n');
  expect(status).toBe(0);
}, 240_000);

test.each(['nobody listens', 'a black hole'])(
  'with the line cut (%s) every rule passes but that a guard is called, which is 503: 10 numbers, 1 failed',
  async (how) => {
    const deaf = await startDeafHost();
    const there = `http://${deaf.host}`;
    if (how === 'nobody listens') await site.line.cut();
    else await reload(site.line.url, there);
    try {
      const { status, out, failed, skipped } = await conformance();
      expect(failed).toEqual([expect.stringContaining(guard)]);
      expect(failed[0]).toMatch(/cloud_offline.*Nobody was called.*expected 503 to be 202/);
      expect(skipped).toEqual([bypass]);
      expect(out).toContain('\n10 passed, 1 failed, 0 skipped\n');
      expect(status).toBe(1);
    } finally {
      if (how === 'nobody listens') await site.line.restore();
      else await reload(there, site.line.url);
      await deaf.stop();
    }
  },
  240_000,
);

test('where disarming needs a code, a key disarms with one and never without; a duress code looks like any other', async () => {
  const users = await siteward(
    ['user', 'add', 'bert', '--name', 'Bert', '--duress', '--code-stdin', '--socket', site.socket],
    {},
    duress.join('\n'),
  );
  expect(users.code).toBe(0);
  await reload('disarm_code: optional', 'disarm_code: required');
  const authorization = `Bearer ${await newKey(['commands'])}`;
  const give = async (verb: string, json?: object) => {
    const answer = await post(`/v1/partitions/p1/${verb}`, json, { authorization });
    return [answer.status, answer.json.data?.status ?? answer.json.error.code];
  };
  expect(await give('arm', { code })).toEqual([200, 'armed']);
  expect(await give('disarm')).toEqual([403, 'code_required']);
  expect(await give('disarm', { code: '999999' })).toEqual([403, 'bad_code']);
  expect(await give('bypass', { zones: ['21'] })).toEqual([403, 'code_required']);
  await site.lan.shows('partition/p1/state', 'armed_away');
  const [berts = '', forced = ''] = duress;
  for (const [one, other] of [
    [code, code],
    [berts, berts],
    [berts, forced],
  ]) {
    expect(await give('arm', { code: one })).toEqual([200, 'armed']);
    await site.lan.shows('partition/p1/state', 'armed_away');
    expect(await give('disarm', { code: other })).toEqual([200, 'disarmed']);
    await site.lan.shows('partition/p1/state', 'disarmed');
  }
  // Another scope opens nothing of it.
  const wrong = `Bearer ${await newKey(['audio', 'state'])}`;
  const refused = await post('/v1/partitions/p1/disarm', { code }, { authorization: wrong });
  expect([refused.status, refused.json.error.code]).toEqual([403, 'forbidden']);
});

test('no key and no password stands in a line of the log', () => {
  const said = site.daemon.lines().join('\n');
  expect(said).not.toMatch(/sw_[0-9a-z]{8}_/);
  for (const secret of [cloudKey, password, ...duress]) expect(said).not.toContain(secret);
});

async function reload(from: string, to: string): Promise<void> {
  const text = readFileSync(site.config, 'utf8');
  expect(text).toContain(from);
  const read = () => site.daemon.lines().filter((line) => line.includes('configuration read again')).length;
  const before = read();
  writeFileSync(site.config, text.replaceAll(from, to));
  site.daemon.reload();
  await eventually('the reload', async () => (read() > before ? true : undefined), { timeoutMs: 30_000 });
}

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { connectAsync } from 'mqtt';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloudOperations, lanOperations } from '#lan/http/index.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { camera, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

/** Whoever searches everything a running bridge says and writes finds none of its secrets (safety 4 and 10). */

const unlike = (what: string) => `${what}-${randomBytes(9).toString('hex')}`;
const digits = () => String(10 ** 11 + (randomBytes(4).readUInt32BE() % 10 ** 9) * 7);

/** By name, so that a failure says what leaked and not the secret. */
const planted: Record<string, string> = {
  camera: 'harness-camera-password',
  speaker: unlike('speaker'),
  broker: unlike('broker'),
  client: unlike('client'),
  api_key: unlike('cloud-key'),
  receiver: randomBytes(16).toString('hex'),
  code: digits(),
  wrong_code: digits(),
  added: digits(),
  added_duress: digits(),
  password: unlike('pass'),
  wrong_password: unlike('wrong'),
};
const secret = (name: string): string => planted[name] ?? '';

let site: Site;
/** Everything that was said, by where. */
const said: { readonly where: string; readonly text: string }[] = [];
const note = (where: string, text: string) => void said.push({ where, text });

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

let network: { readonly origin: string; readonly agent: Agent };
let local: Agent;
let cookie = '';

/** Asks, and notes what came, its head without the session in it. */
async function ask(
  way: 'network' | 'local',
  method: string,
  path: string,
  more: { body?: string | object; headers?: Record<string, string>; unnoted?: true } = {},
): Promise<Asked> {
  const origin = way === 'network' ? network.origin : 'http://localhost';
  const body = typeof more.body === 'object' ? JSON.stringify(more.body) : more.body;
  const answer = await request(`${origin}${path}`, {
    dispatcher: way === 'network' ? network.agent : local,
    method: method as 'GET',
    signal: AbortSignal.timeout(20_000),
    headers: {
      ...(way === 'network' && { origin, ...(cookie !== '' && { cookie }) }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...more.headers,
    },
    ...(body !== undefined && { body }),
  });
  const text = await answer.body.text();
  const { 'set-cookie': _, ...head } = answer.headers;
  if (more.unnoted !== true) note(`${way} ${method} ${path}: ${answer.statusCode}`, JSON.stringify(head) + text);
  return { status: answer.statusCode, text, headers: answer.headers };
}

beforeAll(async () => {
  site = await startSite({
    broker: 'mosquitto',
    cameras: ['yard'],
    mqttYaml: ', username: siteward, password: { env: PLANTED_BROKER }',
    httpYaml: ', listen: "127.0.0.1:0"',
    cloudYaml: `
  ext_base_url: http://127.0.0.1:9
  api_key: { env: PLANTED_API_KEY }
  partner: { client_id: partner-1, client_secret: { env: PLANTED_CLIENT } }
`,
    siteYaml: 'id: "4711", dealer_id: "17", account_reference_id: "0815"',
    env: {
      HARNESS_CODE: secret('code'),
      ...Object.fromEntries(Object.entries(planted).map(([name, text]) => [`PLANTED_${name.toUpperCase()}`, text])),
    },
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
dc09: { listen: "127.0.0.1:0" }
panels:
  - { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1 } } }
  - { id: caller, profile: sia-dc09, dc09: { account: "1234", key: { env: PLANTED_RECEIVER } } }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
speakers:
  - id: gate
    driver: http
    username: sounder
    password: { env: PLANTED_SPEAKER }
    auth: digest
    push: { url: "http://127.0.0.1:9/play" }
    stop: { url: "http://127.0.0.1:9/stop" }
log: { level: trace }
`,
  });
  planted.event_key = readFileSync(join(site.folder, 'event-key.pem'), 'utf8').split('\n')[3] ?? '';
  local = new Agent({ connect: { socketPath: site.socket } });
  const listen = await eventually(
    'the LAN API listens',
    async () => {
      const { parts } = (await site.api('/api/v1/status')) as {
        parts: { name: string; state: string; facts?: { listen?: string } }[];
      };
      return parts.find(({ name, state }) => name === 'http' && state === 'ok')?.facts?.listen;
    },
    { timeoutMs: 60_000 },
  );
  const ca = readFileSync(join(site.folder, 'state/tls/ca.crt'), 'utf8');
  network = {
    origin: `https://127.0.0.1:${String(listen).split(':').at(-1)}`,
    agent: new Agent({ connect: { ca } }),
  };
});
afterAll(async () => {
  await network?.agent.destroy();
  await local?.destroy();
  await site?.close();
});

/** Later tests go on where earlier ones stop. */
test('the claim code, the session and an API key are each shown once, where they are asked for', async () => {
  const shown = JSON.parse((await siteward(['claim-code', '--json', '--socket', site.socket])).out);
  planted.claim_code = String(shown.claim_code);
  const claim = {
    code: planted.claim_code,
    id: 'olga',
    name: 'Olga Example',
    role: 'owner',
    password: secret('password'),
  };
  const claimed = await ask('network', 'POST', '/api/v1/access/claim', { body: claim });
  expect(claimed.status).toBe(200);
  cookie = String(claimed.headers['set-cookie']).split(';')[0] ?? '';
  planted.session = cookie.split('=')[1] ?? '';
  const key = await ask('network', 'POST', '/api/v1/access/keys', {
    body: { name: 'integrator', scopes: ['state'], expires_at: '2027-01-01T00:00:00.000Z' },
    unnoted: true,
  });
  expect(key.status, key.text).toBe(200);
  planted.api_token = /sw_\w{8}_([\w-]{43})/.exec(key.text)?.[1] ?? '';
  for (const [name, text] of Object.entries(planted)) expect(text.length, name).toBeGreaterThan(7);
  const byKey = { headers: { authorization: `Bearer ${JSON.parse(key.text).token}`, cookie: '' } };
  expect((await ask('network', 'GET', '/api/v1/status', byKey)).status).toBe(200);
});

test('what goes wrong does not repeat what was sent', async () => {
  const added = {
    id: 'ben',
    name: 'Ben Example',
    role: 'user',
    code: secret('added'),
    duress_code: secret('added_duress'),
  };
  expect((await ask('network', 'POST', '/api/v1/users', { body: added })).status).toBe(200);
  const { password, wrong_password: wrong, code } = planted;
  const token = String(planted.api_token);
  const tries: readonly [method: string, path: string, body: string | object][] = [
    ['POST', '/api/v1/access/login', { id: 'olga', password: wrong }],
    ['POST', '/api/v1/access/login', { id: wrong, password }],
    ['POST', '/api/v1/access/login', `{"id":"olga","password":"${password}"`],
    ['POST', '/api/v1/access/login', { id: 'olga', password, [String(password)]: 1 }],
    ['POST', '/api/v1/access/claim', { code: planted.claim_code, id: 'x', name: 'x', role: 'owner', password }],
    ['POST', '/api/v1/users', { ...added, id: 'kim' }],
    ['POST', '/api/v1/users', { ...added, code: Number(code) }],
    ['POST', '/api/v1/commands', { id: 'x', verb: 'disarm', partition: 'p1', code }],
    ['POST', '/api/v1/config/check', { yaml: `cameras: [ { id: yard, password: ${secret('camera')} } ]` }],
    ['POST', '/api/v1/config/check', { yaml: `users: [ { id: a, code: "${code}" }\n ${secret('added')}: *x` }],
  ];
  for (const [method, path, body] of tries) await ask('network', method, path, { body });
  await ask('network', 'GET', `/api/v1/status?api_key=${token}`);
  await ask('network', 'GET', '/api/v1/status', {
    headers: { authorization: `Bearer sw_00000000_${token}`, cookie: '' },
  });
  await site.lan.ask('disarm', { partition: 'p1', code: secret('wrong_password') });
  const done = { outcome: 'done' };
  expect(await site.lan.ask('arm', { partition: 'p1', mode: 'away', code: secret('added') })).toMatchObject(done);
  expect(await site.lan.ask('disarm', { partition: 'p1', code: secret('wrong_code') })).toMatchObject({
    error: { code: 'BAD_CODE' },
  });
  expect(await site.lan.ask('disarm', { partition: 'p1', code: secret('added_duress') })).toMatchObject(done);
  await site.lan.ask('clear_memory', { partition: 'p1', code: secret('code') });
});

/** A stream does not end. */
const apart: ReadonlySet<string> = new Set(['streamEvents']);
const places: Readonly<Record<string, string>> = {
  partition_id: 'p1',
  site_id: '4711',
  account_reference_id: '0815',
  key: 'siren',
  seq: '1',
};

test('every answer to a question, asked by an owner and on the box', { timeout: 120_000 }, async () => {
  const questions = Object.values<Operation>({ ...lanOperations, ...cloudOperations }).filter(
    ({ method, id }) => method === 'GET' && !apart.has(id),
  );
  expect(questions.length).toBeGreaterThan(30);
  let answered = 0;
  for (const { path } of questions) {
    const ids = path.includes('/cameras/') ? ['yard'] : path.includes('partitions') ? ['p1'] : ['olga'];
    const asked = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => places[name] ?? ids[0] ?? '');
    for (const way of ['network', 'local'] as const) if ((await ask(way, 'GET', asked)).status === 200) answered += 1;
  }
  expect(answered).toBeGreaterThan(40);
  for (const way of ['network', 'local'] as const) {
    expect((await ask(way, 'POST', '/api/v1/support-bundle')).status).toBe(200);
    for (let after = 0, more = true; more; ) {
      const page = JSON.parse((await ask(way, 'GET', `/api/v1/log?limit=1000&after=${after}`)).text);
      more = page.items.length === 1000;
      after = page.next_after;
    }
  }
  expect((await ask('local', 'POST', '/api/v1/audit/entries', { body: { limit: 200 } })).status).toBe(200);
});

test('a stream of events and state from the beginning', async () => {
  const answer = await request(`${network.origin}/api/v1/stream?topics=events,status&after=0`, {
    dispatcher: network.agent,
    headers: { cookie },
  });
  expect(answer.statusCode).toBe(200);
  let text = '';
  for await (const chunk of answer.body) {
    text += String(chunk);
    if (text.includes('armed_away') && text.includes('\n\n')) break;
  }
  note('stream', text);
});

test('who had more logged, and who took a bundle, stands in the audit log', async () => {
  const wish = { body: { parts: { mqtt: 'trace' }, minutes: 5 } };
  expect((await ask('network', 'PUT', '/api/v1/log/levels', wish)).status).toBe(200);
  const { items } = JSON.parse((await ask('local', 'POST', '/api/v1/audit/entries', { body: { limit: 200 } })).text);
  const of = { source: 'lan', actor_ref: 'account:olga', client_id: '127.0.0.1' };
  expect(items).toContainEqual(expect.objectContaining({ ...of, kind: 'export', target: 'support bundle' }));
  expect(items).toContainEqual(
    expect.objectContaining({ ...of, action: 'log_level', after: 'mqtt trace for 5 minutes' }),
  );
});

test('what the broker keeps, and the journal', async () => {
  const mqtt = await connectAsync(site.mqttUrl);
  mqtt.on('message', (topic, payload) => note(`topic ${topic}`, `${topic} ${payload}`));
  await mqtt.subscribeAsync(['#', 'homeassistant/#']);
  await eventually('the retained state', () =>
    said.some(({ where }) => where.startsWith(`topic ${site.root}/partition`)) ? true : undefined,
  );
  await mqtt.endAsync();
  note('journal', site.daemon.lines().join('\n'));
});

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
  });

test('what lies in the state directory, closed to everybody else', () => {
  const folder = join(site.folder, 'state');
  const files = filesBelow(folder);
  expect(files.map((path) => relative(folder, path))).toEqual(expect.arrayContaining(['access.json', 'site.db']));
  for (const path of files) {
    const name = relative(folder, path);
    // Certificates are shown to everybody.
    if (!name.endsWith('.crt')) expect(statSync(path).mode & 0o007, name).toBe(0);
    if (/\.json$|key$|\.last-good\.yaml$/.test(name)) expect(statSync(path).mode & 0o077, name).toBe(0);
    note(`file ${name}`, readFileSync(path, 'latin1'));
  }
});

test('none of it holds a secret', () => {
  // What may be told stands where it is looked for.
  const has = (where: RegExp, text: string) => said.some((one) => where.test(one.where) && one.text.includes(text));
  expect(has(/network GET .*users/, 'Ben Example')).toBe(true);
  expect(has(/local GET .*log\?/, '"level":"debug"')).toBe(true);
  expect(has(/POST .*support-bundle/, '"PLANTED_BROKER"')).toBe(true);
  expect(has(/file access\.json/, 'olga')).toBe(true);
  expect(has(/file site\.db/, 'disarmed')).toBe(true);
  expect(has(/journal/, '"part"')).toBe(true);
  const found = said.flatMap(({ where, text }) =>
    Object.entries(planted)
      .filter(([, value]) => text.includes(value))
      .map(([name]) => `${name} in ${where}`),
  );
  expect(found).toEqual([]);
});

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lanDocument, type StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { root } from './markdown.ts';

/** A client that a generator makes of the document a running bridge serves, as an integrator would make one. */

let site: Site;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-client-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  site = await startSite({
    broker: 'embedded',
    httpYaml: ', listen: "127.0.0.1:0"',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1 } } } ]
`,
  });
});
afterAll(async () => {
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});

const node = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: 120_000, env: { PATH: process.env.PATH, ...env } };
    execFile(process.execPath, args, options, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(`${out}\n${err}`)),
    );
  });

const port = () =>
  eventually(
    'the LAN API listens',
    async () => {
      const { parts } = (await site.api('/api/v1/status')) as StatusDocument;
      const found = parts.find(({ name, state }) => name === 'http' && state === 'ok');
      return found?.facts === undefined ? undefined : String(found.facts.listen).split(':').at(-1);
    },
    { timeoutMs: 60_000 },
  );

test('the served document is the one in docs/openapi', async () => {
  const served = await site.api('/api/v1/openapi.json');
  expect(served).toEqual(JSON.parse(JSON.stringify(lanDocument())));
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(served));
});

test('a generator makes a client of it, which TypeScript takes', { timeout: 180_000 }, async () => {
  await node([join(root, 'node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'client.ts']);
  writeFileSync(join(folder, 'drive.ts'), drive);
  mkdirSync(join(folder, 'types'));
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2024', lib: ['es2024', 'dom'] },
    ...{ types: ['node'], skipLibCheck: true, allowImportingTsExtensions: true },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await node([join(root, 'node_modules/.bin/tsc'), '-p', '.']);
});

test('the client drives the bridge over HTTPS: claim, status, a command, events, errors as problems, a key', {
  timeout: 120_000,
}, async () => {
  const claimed = (await site.api('/api/v1/access/claim-code')) as { claim_code: string };
  const env = {
    ORIGIN: `https://127.0.0.1:${await port()}`,
    CA: join(site.folder, 'state/tls/ca.crt'),
    CLAIM: claimed.claim_code,
    CODE: code,
  };
  expect(JSON.parse(await node(['drive.ts'], env))).toEqual({
    before: { status: 401, code: 'access_needed' },
    role: 'owner',
    ready: true,
    state: 'disarmed',
    outcome: 'done',
    after: 'armed_away',
    events: ['armed_away'],
    refused: 'BAD_CODE',
    missing: { status: 404, code: 'partition_unknown', title: 'No such partition' },
    wrong: { status: 400, fields: ['limit'] },
    byKey: 200,
    beyondKey: { status: 403, code: 'access_denied' },
  });
});

/** Written against the generated functions and types alone, but for the way: whom to trust, and a jar for the cookie. */
const drive = `
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, fetch as fetchOver, type RequestInit as Init } from 'undici';
import * as bridge from './client.ts';

const { ORIGIN: origin = '', CA: ca = '', CLAIM: claim = '', CODE: code = '' } = process.env;
const dispatcher = new Agent({ connect: { ca: readFileSync(ca) } });
let cookie = '';
async function page(url: string, init: Init) {
  const headers = new Headers(init.headers as Record<string, string>);
  headers.set('origin', origin);
  if (cookie !== '' && !headers.has('authorization')) headers.set('cookie', cookie);
  const answer = await fetchOver(url, { ...init, headers: Object.fromEntries(headers), dispatcher });
  const [session] = answer.headers.getSetCookie();
  if (session !== undefined) cookie = session.split(';')[0] ?? '';
  return answer;
}
bridge.defaults.baseUrl = origin;
bridge.defaults.fetch = page as unknown as typeof fetch;

const need = (is: boolean, what: string): void => {
  if (!is) throw new Error(what);
};
const before = await bridge.getStatus();
if (before.status !== 401) throw new Error('asked without an account');
const self = await bridge.claim({ code: claim, id: 'olga', name: 'Olga', role: 'owner', password: 'rather-Unlike-4711' });
if (self.status !== 200) throw new Error('not claimed');
const status = await bridge.getStatus();
if (status.status !== 200) throw new Error('no status');
const command = { id: randomUUID(), issued_at: new Date().toISOString(), partition: 'p1', code };
const done = await bridge.giveCommand({ ...command, verb: 'arm', mode: 'away' });
if (done.status !== 200) throw new Error('no answer');
const partition = await bridge.getPartition('p1');
if (partition.status !== 200) throw new Error('no partition');
const refused = await bridge.giveCommand({ ...command, id: randomUUID(), verb: 'disarm', code: '999999' });
if (refused.status !== 200) throw new Error('no answer');
const events = await bridge.listEvents({ limit: 10, $class: 'arming' });
if (events.status !== 200) throw new Error('no events');
const missing = await bridge.getPartition('p9');
if (missing.status !== 404) throw new Error('a partition that is not there');
const wrong = await bridge.listEvents({ limit: 0 });
if (wrong.status !== 400) throw new Error('a limit that is none');
const key = await bridge.addKey({ name: 'integrator', scopes: ['state'] });
if (key.status !== 200) throw new Error('no key');
const bearer = { headers: { authorization: 'Bearer ' + key.data.token } };
const byKey = await bridge.listZones(bearer);
const beyondKey = await bridge.getLog({}, bearer);
if (beyondKey.status !== 403) throw new Error('a key that may too much');
need((await bridge.logout()).status === 200, 'not logged out');
need((await bridge.getStatus()).status === 401, 'still logged in');
console.log(
  JSON.stringify({
    before: { status: before.data.status, code: before.data.code },
    role: self.data.role,
    ready: status.data.ready,
    state: status.data.partitions[0]?.state,
    outcome: done.data.outcome,
    after: partition.data.state,
    events: events.data.items.map(({ event }) => event.kind),
    refused: refused.data.error?.code,
    missing: { status: missing.data.status, code: missing.data.code, title: missing.data.title },
    wrong: { status: wrong.data.status, fields: wrong.data.errors?.map(({ field }) => field) },
    byKey: byKey.status,
    beyondKey: { status: beyondKey.data.status, code: beyondKey.data.code },
  }),
);
await dispatcher.close();
`;

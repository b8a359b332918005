import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { namesOf } from '#lib/certificates.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';
import { ask, expectDressed } from '../lan/http/listener-rig.ts';
import { siteward } from './run-cli.ts';

const slow = { timeoutMs: 60_000 };

let site: Site | undefined;
/** Of a program that may read the state. */
let key: { authorization: string } | undefined;
function running(): Site {
  if (site === undefined) throw new Error('the site did not start');
  return site;
}

beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "47110815"',
    httpYaml: ', listen: "127.0.0.1:0", names: [gate.example.net]',
    yaml: () => 'partitions: [ { id: p1, name: Shop } ]\n',
  });
});
afterAll(() => site?.close());

async function part(): Promise<StatusDocument['parts'][number] | undefined> {
  const { parts } = (await running().api('/api/v1/status')) as StatusDocument;
  return parts.find(({ name }) => name === 'http');
}

/** Where it listens, and the fingerprint it says. */
const listening = () =>
  eventually(
    'the LAN API listens',
    async () => {
      const found = await part();
      if (found?.state !== 'ok' || found.facts === undefined) return undefined;
      const { listen, fingerprint } = found.facts;
      return { port: Number(String(listen).split(':').at(-1)), fingerprint: String(fingerprint) };
    },
    slow,
  );

const certificate = () => new X509Certificate(readFileSync(join(running().folder, 'state/tls/http.crt')));
const authority = () => readFileSync(join(running().folder, 'state/tls/ca.crt'), 'utf8');

/** The configuration with one text in the place of another, read again. */
async function reload(before: string, after: string): Promise<readonly string[]> {
  const { config, daemon } = running();
  const seen = daemon.lines().filter((line) => line.includes('configuration read again')).length;
  writeFileSync(config, readFileSync(config, 'utf8').replace(before, after));
  daemon.reload();
  return eventually(
    'the reload',
    () => {
      const lines = daemon.lines().filter((line) => line.includes('configuration read again'));
      return lines.length > seen ? (JSON.parse(lines.at(-1) ?? '{}').swapped as string[]) : undefined;
    },
    slow,
  );
}

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('the daemon serves the LAN API with a certificate that the authority it hands out has signed', async () => {
  const { port, fingerprint } = await listening();
  const handed = await ask({ port }, '/ca.crt');
  expect(handed.text).toBe(authority());
  const to = { port, ca: handed.text };
  expect((await ask(to, '/healthz')).json()).toEqual({ status: 'ok' });
  expect((await ask(to, '/readyz')).json()).toEqual({ ready: true, reasons: [] });
  expect((await ask(to, '/.well-known/siteward')).json()).toMatchObject({ model: 'siteward', claimed: 'no' });
  expect(fingerprint).toBe(certificate().fingerprint256);
  expect(running().daemon.lines().join('\n')).toContain(fingerprint);
  const { out } = await siteward(['status', '--socket', running().socket]);
  expect(out).toMatch(new RegExp(`^ +http +ok +https://127\\.0\\.0\\.1:${port}, SHA-256 ${fingerprint}$`, 'm'));
});

test('nobody gets at the site without an account, under another name, or past the paths there are', async () => {
  const to = { port: (await listening()).port, ca: authority() };
  const answers = [
    await ask(to, '/api/v1/status'),
    await ask(to, '/metrics'),
    await ask(to, '/api/v1/users'),
    await ask(to, '/healthz', { headers: { host: 'evil.test' } }),
    await ask(to, '/healthz', { headers: { host: 'gate.example.net:8443' } }),
    await ask(to, '/../../etc/passwd'),
    await ask(to, '/tls/ca.key'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 421, 200, 404, 404]);
  for (const answer of answers) expectDressed(answer);
  expect(answers.map(({ text }) => text).join('')).not.toMatch(/root:|PRIVATE|47110815|sw-proof/);
});

test('who has the claim code becomes the owner, and a key of theirs reads the state', async () => {
  const { port } = await listening();
  const shown = await siteward(['claim-code', '--json', '--socket', running().socket]);
  const { claim_code: code, urls } = JSON.parse(shown.out) as { claim_code: string; urls: string[] };
  expect(urls).toEqual([`https://127.0.0.1:${port}/`]);
  const to = { port, ca: authority() };
  const page = { 'content-type': 'application/json', origin: `https://127.0.0.1:${port}` };
  const who = { code, id: 'olga', name: 'Olga', role: 'owner', password: 'zahnrad-tulpe-42' };
  const post = (path: string, body: object, headers: Record<string, string>) =>
    ask(to, path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect((await post('/api/v1/access/claim', who, { ...page, origin: 'https://evil.test' })).status).toBe(403);
  const claimed = await post('/api/v1/access/claim', who, page);
  expect(claimed.status).toBe(200);
  const cookie = String(claimed.headers['set-cookie']).split(';')[0] ?? '';
  expect((await ask(to, '/api/v1/status', { headers: { cookie } })).status).toBe(200);
  const made = await post('/api/v1/access/keys', { name: 'wall', scopes: ['state', 'events'] }, { ...page, cookie });
  const authorization = `Bearer ${made.json().token}`;
  key = { authorization };
  expect((await ask(to, '/api/v1/status', { headers: { authorization } })).json()).toMatchObject({ ready: true });
  expect((await ask(to, '/api/v1/users', { headers: { authorization } })).status).toBe(403);
  expect((await ask(to, '/.well-known/siteward')).json()).toMatchObject({ claimed: 'yes' });
  const log = running().daemon.lines().join('');
  for (const secret of [code, who.password, String(made.json().token), cookie.slice(10)])
    expect(log).not.toContain(secret);
});

test('the certificate outlives a restart', async () => {
  const before = await listening();
  await running().daemon.restart();
  expect((await listening()).fingerprint).toBe(before.fingerprint);
});

test('a reload swaps the listener for one with other names, under the same key', async () => {
  await listening();
  const before = certificate();
  expect(namesOf(before)).toContain('gate.example.net');
  expect(await reload('names: [gate.example.net]', 'names: [door.example.net]')).toEqual(['http']);
  const { port, fingerprint } = await listening();
  expect(fingerprint).not.toBe(before.fingerprint256);
  expect(namesOf(certificate())).toContain('door.example.net');
  expect(certificate().publicKey.equals(before.publicKey)).toBe(true);
  const to = { port, ca: authority() };
  expect((await ask(to, '/healthz', { headers: { host: 'gate.example.net' } })).status).toBe(421);
});

test('without http.listen nothing listens, and a stream that was followed ends', async () => {
  const { port } = await listening();
  const stream = request({ host: '127.0.0.1', port, ca: authority(), path: '/api/v1/stream', headers: { ...key } });
  stream.end();
  const [response] = (await once(stream, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await once(response, 'data');
  response.on('error', () => undefined).resume();
  const closed = once(response, 'close');
  expect(await reload(', listen: "127.0.0.1:0"', '')).toEqual(['http']);
  await closed;
  expect(await part()).toBeUndefined();
  await expect(ask({ port, ca: authority() }, '/healthz')).rejects.toThrow();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createControlSocket, type LanPort } from '#lan/http/index.ts';
import { fakeEvent, fakeLanPort, fakeStatus } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { nodeProblem } from '../../src/cli/node-guard.ts';
import { formatSpan, table } from '../../src/cli/table.ts';
import { main, siteward } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-cli-'));
  socket = join(dir, 'control.sock');
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  rmSync(dir, { recursive: true, force: true });
});

async function serve(port: LanPort): Promise<void> {
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
}

test('status says so when the outbox cannot be counted', async () => {
  const port = fakeLanPort();
  await serve({ ...port, status: async () => ({ ...(await port.status()), outbox: null }) });
  const { code, out } = await siteward(['status', '--socket', socket]);
  expect([code, out.includes('outbox: cannot be counted now')]).toEqual([0, true]);
});

test('status shows the site on a page', async () => {
  await serve(fakeLanPort());
  const { code, out } = await siteward(['status', '--socket', socket]);
  expect(code).toBe(0);
  expect(out).toContain('siteward 0.0.0, up 2 h 3 min, ready');
  expect(out).toContain('p1  Offices  armed_away  since 2026-11-27T22:00:00.000Z  exit delay 12 s');
  expect(out).toContain('3 zones; open: 2; low battery: 3');
  expect(out).toContain('outbox: 3 waiting (1 alarm, 2 activity), oldest 2026-11-27T21:59:00.000Z');
  expect(out).toContain('yard  DOWN  No connection to the camera.');
  expect(out).toContain('main  its bridge has not told its state yet');
});

test('zones whose panel never says whether they are open are not called closed', async () => {
  const zones = { ...fakeStatus.zones, total: 2, open: [], low_battery: [], reports_only: ['1', '2'] };
  await serve(fakeLanPort(0, { status: async () => ({ ...fakeStatus, zones }) }));
  const { out } = await siteward(['status', '--socket', socket]);
  expect(out.split('\n')).toContain('2 zones; by reports only: 1 2');
});

test('status says loudly that the daemon runs on the last good copy', async () => {
  const config = { path: '/etc/siteward/siteward.yaml', last_good: true, error: 'line 4' };
  await serve(fakeLanPort(0, { status: async () => ({ ...fakeStatus, config }) }));
  const { out } = await siteward(['status', '--socket', socket]);
  expect(out).toContain('configuration /etc/siteward/siteward.yaml HAS ERRORS, running on the last good copy: line 4');
});

test('reload of a file that is not there says with which one the daemon on the socket runs', async () => {
  const theirs = join(dir, 'theirs.yaml');
  await serve(fakeLanPort(0, { status: async () => ({ ...fakeStatus, config: { path: theirs, last_good: false } }) }));
  const args = ['reload', '--config', join(dir, 'none.yaml'), '--socket'];
  const { code, err } = await siteward([...args, socket]);
  expect(code).toBe(78);
  expect(err).toMatch(/none\.yaml cannot be read: there is no such file/);
  expect(err).toContain(`the siteward that answers on ${socket} runs with ${theirs}, not with`);
  expect(err).toContain(`--config ${theirs}`);
  // Where none answers, the file alone is said.
  const alone = await siteward([...args, join(dir, 'none.sock')]);
  expect(alone).toMatchObject({ code: 78, err: expect.not.stringContaining('runs with') });
});

test('status --json is the status document', async () => {
  await serve(fakeLanPort());
  expect(JSON.parse((await siteward(['status', '--json', '--socket', socket])).out)).toEqual(fakeStatus);
});

test('the socket can be named by SITEWARD_SOCKET', async () => {
  await serve(fakeLanPort());
  expect((await siteward(['status'], { SITEWARD_SOCKET: socket })).code).toBe(0);
});

test('events come newest first, as a table or as JSON lines', async () => {
  await serve(fakeLanPort(30));
  const human = (await siteward(['events', '--limit', '2', '--socket', socket])).out.trimEnd().split('\n');
  expect(human).toHaveLength(2);
  expect(human[0]).toBe('30  2026-11-27T22:01:00.000Z  alarm  burglary  p1 zone 2 Front door  waiting, after 2 tries');
  const json = (await siteward(['events', '--json', '--limit', '2', '--socket', socket])).out.trimEnd().split('\n');
  expect(json.map((line) => JSON.parse(line))).toEqual([fakeEvent(30), fakeEvent(29)]);
});

test('events --follow prints what is new, oldest first, each once, and ends with SIGINT', async () => {
  let newest = 2;
  await serve(fakeLanPort(0, { events: (query) => fakeLanPort(newest).events(query) }));
  const child = spawn(process.execPath, [main, 'events', '--follow', '--json', '--socket', socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  const seqs = () => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).seq]));
  await vi.waitUntil(() => seqs().length === 2, { timeout: 20_000 });
  newest = 300;
  await vi.waitUntil(() => seqs().length >= 300, { timeout: 20_000 });
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  expect(seqs()).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
});

test('no socket is 69, and says what to do', async () => {
  const { code, err } = await siteward(['status', '--socket', socket]);
  expect(code).toBe(69);
  expect(err).toContain('there is no such socket. Is siteward running?');
  expect(err).toContain('(control_unreachable)');
});

test('a socket that speaks no HTTP is 69', async () => {
  const other = createServer((peer) => peer.end('hello\n'));
  other.listen(socket);
  await once(other, 'listening');
  const { code } = await siteward(['status', '--socket', socket]);
  other.close();
  expect(code).toBe(69);
});

test('a file that is no socket is 69', async () => {
  writeFileSync(socket, '');
  expect((await siteward(['events', '--socket', socket])).code).toBe(69);
});

test('a refusal of the daemon is 1, with its reason', async () => {
  const events = () => Promise.reject(new SitewardError('store_unavailable', 'the database is being repaired'));
  await serve(fakeLanPort(0, { events }));
  const { code, err } = await siteward(['events', '--socket', socket]);
  expect(code).toBe(1);
  expect(err).toContain('the database is being repaired');
});

test('a Node that is too old is named with what is needed', () => {
  expect(nodeProblem('20.20.2')).toMatch(/^node_too_old: siteward needs Node 24 or newer, this is 20\.20\.2/);
  expect(nodeProblem('24.0.0')).toBeUndefined();
  expect(nodeProblem('26.1.0')).toBeUndefined();
});

test('a name with control characters cannot move the cursor', () => {
  expect(table([['\u001b[2Jyard\n\u0007', 'x']])).toBe('yard  x');
});

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [3725, '1 h 2 min'],
  [3605, '1 h 5 s'],
  [277_200, '3 d 5 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatSpan(seconds)).toBe(text);
});

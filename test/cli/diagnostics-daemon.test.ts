import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditEntryBody, configChecked, configShown, deviceList, partitionList } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { camera, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

const cameraPassword = 'harness-camera-password';
/** So long that it stands in no number by chance. */
const userCode = '803174962851';

let site: Site;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-diagnostics-'));
  site = await startSite({
    broker: 'embedded',
    cameras: ['yard'],
    env: { HARNESS_CODE: userCode },
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s }, { id: p2, name: Store } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Door, key: door, partition: p1 }
      "2": { type: panic_silent, name: Under the desk, key: desk, partition: p1 }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
speakers: [ { id: gate, driver: "null", enabled: false } ]
`,
  });
});
afterAll(async () => {
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});

const cli = async (...args: readonly string[]) => siteward([...args, '--socket', site.socket]);

const ask = (method: string, path: string, body?: unknown) => askSocket(site.socket, method, path, body);

/** The part that refuses it says so at debug, by a logger that was made at the start. */
const refusedCommand = () => site.lan.ask('arm', { partition: 'p1', mode: 'nonsense' });

async function audited(): Promise<AuditEntryBody[]> {
  const { body } = await ask('POST', '/api/v1/audit/entries', { limit: 50 });
  return (body as { items: AuditEntryBody[] }).items;
}

test('"siteward log" shows the newest lines, those of a level or a part', async () => {
  const { out, code } = await cli('log', '--json', '--limit', '1000');
  expect(code).toBe(0);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toContain('ready');
  expect(lines.every(({ level }) => level !== 'debug')).toBe(true);
  expect(lines.map(({ seq }) => seq)).toEqual([...lines.keys()].map((index) => index + 1));
  const some = (await cli('log', '--part', 'cameras', '--json')).out.trim().split('\n');
  expect(some.map((line) => JSON.parse(line).part)).toEqual(some.map(() => 'cameras'));
  expect((await cli('log', '--level', 'error')).out).toBe('');
  const unknown = await cli('log', '--part', 'bogus');
  expect(unknown).toMatchObject({ code: expect.any(Number), out: '' });
  expect(unknown.err).toMatch(/no part bogus writes to the log; there is .*cameras, .*mqtt.*\(log_part_unknown\)/);
  expect(unknown.code).not.toBe(0);
});

test('more is logged for a time, of one part too, by loggers that were made long before; it is recorded', async () => {
  const debugs = async () => (await cli('log', '--json', '--limit', '1000')).out.match(/"level":"debug"/g)?.length ?? 0;
  expect(await debugs()).toBe(0);
  expect((await cli('log', 'level', 'debug', '--for', '5m', '--part', 'cameras,mqtt')).out).toMatch(
    /configured info; more for another (5 min|4 min \d+ s)\n[\s\S]*cameras +debug\n[\s\S]*control +info/,
  );
  await refusedCommand();
  await eventually('a debug line of mqtt', async () => ((await debugs()) > 0 ? true : undefined));
  expect(await audited()).toContainEqual(
    expect.objectContaining({
      kind: 'config',
      source: 'cli',
      action: 'log_level',
      after: 'cameras debug, mqtt debug for 5 minutes',
    }),
  );
  expect((await cli('log', 'level', 'configured')).out).toMatch(/^all parts log at info\n/);
  const before = await debugs();
  await refusedCommand();
  await site.lan.ask('ping', {});
  expect(await debugs()).toBe(before);
});

test('a part that does not exist, and more than four hours, are refused; a level that is none with those there are', async () => {
  const loud = await cli('log', 'level', 'loud');
  expect(loud).toMatchObject({ code: 2, err: expect.stringContaining('error, warn, info, debug, trace, configured') });
  const { status, body } = await ask('PUT', '/api/v1/log/levels', { parts: { cameras: 'loud' } });
  expect(status).toBe(400);
  for (const level of ['error', 'warn', 'info', 'debug', 'trace']) expect(JSON.stringify(body)).toContain(level);
  expect(await cli('log', 'level', 'debug', '--part', 'camerass')).toMatchObject({ code: 66 });
  expect(await cli('log', 'level', 'debug', '--for', '5h')).toMatchObject({ code: 2 });
  expect(await ask('PUT', '/api/v1/log/levels', { level: 'debug', minutes: 241 })).toMatchObject({ status: 400 });
});

test('a reload with another level reaches loggers that were made at the start', async () => {
  const text = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, `${text}log: { level: debug }\n`);
  site.daemon.reload();
  const level = async (name: string) =>
    ((await ask('GET', '/api/v1/log/levels')).body as { parts: { name: string; level: string }[] }).parts.find(
      (part) => part.name === name,
    )?.level;
  await eventually('the reload', async () => ((await level('mqtt')) === 'debug' ? true : undefined));
  await refusedCommand();
  await eventually('a debug line', async () =>
    (await cli('log', '--part', 'mqtt', '--json')).out.includes('"level":"debug"') ? true : undefined,
  );
  writeFileSync(site.config, text);
  site.daemon.reload();
  await eventually('the reload', async () => ((await level('mqtt')) === 'info' ? true : undefined));
});

test('the devices in one list; nothing of a silent button is in it', async () => {
  await eventually('the camera', async () =>
    deviceList.parse((await ask('GET', '/api/v1/devices')).body).items.some(({ kind, up }) => kind === 'camera' && up)
      ? true
      : undefined,
  );
  const { items } = deviceList.parse((await ask('GET', '/api/v1/devices')).body);
  expect(items).toMatchObject([
    { kind: 'camera', id: 'yard', up: true, tests: ['picture'] },
    { kind: 'panel', id: 'sensors', up: null, tests: ['walk'] },
    { kind: 'speaker', id: 'gate', reason: 'not enabled', tests: [] },
  ]);
});

test('the partitions with what is in the way of arming', async () => {
  const { items } = partitionList.parse((await ask('GET', '/api/v1/partitions')).body);
  expect(items).toMatchObject([
    { id: 'p1', state: 'disarmed', ready: false, zones: ['1'], not_ready: ['1'] },
    { id: 'p2', state: 'disarmed', ready: true, zones: [], not_ready: [] },
  ]);
  expect(await ask('GET', '/api/v1/partitions/p2')).toMatchObject({ status: 200, body: { id: 'p2', name: 'Store' } });
  expect(await ask('GET', '/api/v1/partitions/p9')).toMatchObject({
    status: 404,
    body: { code: 'partition_unknown' },
  });
});

test('the configuration in force, without names of people and with secrets as references', async () => {
  const { body } = await ask('GET', '/api/v1/config');
  const { config, last_good: lastGood } = configShown.parse(body);
  expect(lastGood).toBe(false);
  expect(config).toMatchObject({
    users: [{ id: 'anna' }],
    cameras: [{ id: 'yard', username: 'siteward', password: { env: 'CAMERA_PASSWORD' } }],
  });
  expect(JSON.stringify(body)).not.toMatch(/Anna|803174962851|harness-camera-password|panic_silent|Under the desk/);
});

test('a text is checked without a look at what it names, and told what a reload would change', async () => {
  const check = async (yaml: string) => configChecked.parse((await ask('POST', '/api/v1/config/check', { yaml })).body);
  const text = readFileSync(site.config, 'utf8');
  expect(await check(text)).toEqual({ ok: true, problems: [], changes: [] });
  // Whether a file or variable is there makes no difference.
  const answers = [];
  for (const ref of ['{ file: /etc/passwd }', '{ file: /no/such/file }', '{ env: PATH }', '{ env: NO_SUCH }'])
    answers.push(await check(text.replace('{ env: HARNESS_CODE }', ref)));
  expect(answers).toEqual(answers.map(() => ({ ok: true, problems: [], changes: ['users'] })));
  const wrong = await check(text.replace('name: Shop,', 'nmae: Shop,').replace('name: Anna', 'name: 17'));
  expect(wrong.ok).toBe(false);
  expect(wrong.changes).toBeUndefined();
  expect(wrong.problems).toContainEqual(
    expect.objectContaining({ severity: 'error', path: 'users[0].name', line: expect.any(Number) }),
  );
  expect(wrong.problems).toContainEqual(expect.objectContaining({ message: expect.stringContaining('"name"') }));
  const moved = await check(text.replace('external_id: proof', 'external_id: other'));
  expect(moved).toMatchObject({
    ok: true,
    changes: ['site'],
    problems: [{ severity: 'warning', path: 'site.external_id' }],
  });
  for (const yaml of ['', '[', 'a: &a [*a]', '\u0000', 'site: !!binary x'])
    expect((await check(yaml)).ok, JSON.stringify(yaml)).toBe(false);
});

test('what is taken at a start only is refused by a reload, as the check said', async () => {
  const text = readFileSync(site.config, 'utf8');
  const error = async () => configShown.parse((await ask('GET', '/api/v1/config')).body).error;
  writeFileSync(site.config, text.replace('external_id: proof', 'external_id: other'));
  site.daemon.reload();
  expect(await eventually('the refusal', error)).toMatch(/^site\.external_id cannot change while siteward runs/);
  const { config } = configShown.parse((await ask('GET', '/api/v1/config')).body);
  expect(config).toMatchObject({ site: { external_id: 'proof' } });
  writeFileSync(site.config, text);
  site.daemon.reload();
  await eventually('the reload', async () => ((await error()) === undefined ? true : undefined));
});

test('a text made to take long holds up nothing, and comes to an end; one is checked at a time', async () => {
  const keys = Array.from({ length: 9000 }, (_, index) => index.toString(36)).join(',');
  const slow = `{${keys}}`;
  const first = ask('POST', '/api/v1/config/check', { yaml: slow });
  const meanwhile = await ask('POST', '/api/v1/config/check', { yaml: slow });
  expect(await ask('GET', '/healthz')).toMatchObject({ status: 200 });
  expect(meanwhile).toMatchObject({ status: 503, body: { code: 'queue_full' } });
  const { ok, problems } = configChecked.parse((await first).body);
  expect(ok).toBe(false);
  expect(problems.length).toBeLessThanOrEqual(201);
  for (const yaml of ['['.repeat(50_000), '{a: '.repeat(12_000), '"'.repeat(25_000), '- '.repeat(25_000)]) {
    const found = configChecked.parse((await ask('POST', '/api/v1/config/check', { yaml })).body);
    expect(found.ok).toBe(false);
    expect(found.problems.length).toBeLessThanOrEqual(201);
  }
  expect(await ask('POST', '/api/v1/config/check', { yaml: 'x'.repeat(60_001) })).toMatchObject({ status: 400 });
});

test('a support bundle is one private file; it holds the parts it names and is recorded', async () => {
  const file = join(folder, 'bundle.json');
  const { code, out } = await cli('support-bundle', file);
  expect(code).toBe(0);
  expect(out).toContain('Read it before you send it');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  const bundle = JSON.parse(text);
  expect(bundle).toMatchObject({
    format: 1,
    missing: {},
    parts: {
      versions: { node: process.version },
      config: { config: { users: [{ id: 'anna' }] } },
      status: { ready: true },
      audit: { done: true, broken: null },
      outbox: { lanes: expect.any(Array) },
    },
  });
  expect(Object.keys(bundle.parts).sort()).toEqual(bundle.contents.map(({ name }: { name: string }) => name).sort());
  expect(bundle.parts.log.length).toBeGreaterThan(5);
  expect(bundle.parts.metrics).toContain('siteward_log_lines_total{level="info"}');
  for (const secret of [cameraPassword, userCode, 'Anna', 'BEGIN PRIVATE KEY', 'panic_silent'])
    expect(text).not.toContain(secret);
  expect(await audited()).toContainEqual(expect.objectContaining({ kind: 'export', target: 'support bundle' }));
  const both = await Promise.all([1, 2].map(() => ask('POST', '/api/v1/support-bundle')));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 503]);
  const before = (await audited()).length;
  expect(await cli('support-bundle', file)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/is there already; name another file(?!.*--force)/),
  });
  expect(readFileSync(file, 'utf8')).toBe(text);
  // None was made for it, and none is in the audit log.
  expect(await audited()).toHaveLength(before);
  const listed = (await cli('support-bundle', '--contents')).out;
  for (const { name } of bundle.contents) expect(listed).toContain(name);
  expect(JSON.parse((await cli('support-bundle', '-')).out).format).toBe(1);
});

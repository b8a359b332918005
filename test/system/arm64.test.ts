import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { startProcess } from '#sandbox/demo/processes.ts';
import { versions } from './versions.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-arm64-'));
  execFileSync('dpkg-deb', [
    '-x',
    join(inject('packages'), `siteward_${versions.now}_arm64.deb`),
    join(dir, 'package'),
  ]);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const lib = () => join(dir, 'package/usr/lib/siteward');
const emulated = (...args: readonly string[]) => [
  '-L',
  '/usr/aarch64-linux-gnu',
  join(lib(), 'bin/node'),
  join(lib(), 'app/cli.js'),
  ...args,
];

test('the package is for arm64 alone: its Node and its database module', () => {
  for (const path of ['bin/node', 'app/node_modules/better-sqlite3/prebuilds/linux-arm64.node']) {
    const head = readFileSync(join(lib(), path)).subarray(0, 20);
    // ELF, 64 bit, and the machine: AArch64.
    expect([...head.subarray(0, 5), head.readUInt16LE(18)]).toEqual([0x7f, 0x45, 0x4c, 0x46, 2, 183]);
  }
});

test('its daemon starts, opens its database, and delivers an event', async () => {
  const key = join(dir, 'key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const cli = join(import.meta.dirname, '../../src/cli/main.ts');
  const cloud = startProcess({ name: 'cloud', args: [cli, 'sandbox', '--json', '--client', `bridge-1=${key}`] });
  onTestFinished(cloud.stop);
  const url = await cloud.until((line) => /"listen":"(http[^"]+)"/.exec(line)?.[1], 'start', 60_000);
  writeFileSync(
    join(dir, 'siteward.yaml'),
    `site:   { id: "101", external_id: arm, timezone: Europe/Berlin }
bridge: { external_id: sw-arm }
cloud:  { base_url: "${url}", auth_url: "${url}", events: { client_id: bridge-1, private_key: { file: ${key} } } }
mqtt:   { broker: embedded, listen: 127.0.0.1:0 }
http:   { control_socket: ${dir}/control.sock }
store:  { dir: ${dir}/state }
partitions: [ { id: p1, name: House } ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: fire, key: smoke_1, partition: p1 } } } ]
`,
  );
  const daemon = spawn('qemu-aarch64-static', emulated('run', '--config', join(dir, 'siteward.yaml')), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    const ended = once(daemon, 'exit');
    daemon.kill('SIGKILL');
    await ended;
  });
  let said = '';
  daemon.stdout.on('data', (bytes) => {
    said += bytes;
  });
  await vi.waitUntil(() => said.includes('"msg":"ready"'), { timeout: 200_000, interval: 200 });
  expect(readFileSync(join(dir, 'state/site.db')).subarray(0, 15).toString()).toBe('SQLite format 3');
  const port = /"port":(\d+),"msg":"embedded MQTT broker listens"/.exec(said)?.[1];
  const panel = await connectAsync(`mqtt://127.0.0.1:${port}`);
  onTestFinished(() => panel.endAsync());
  await panel.publishAsync('zigbee2mqtt/bridge/state', '{"state":"online"}', { qos: 1, retain: true });
  await panel.publishAsync('zigbee2mqtt/smoke_1', '{"smoke":true,"battery":97}', { qos: 1 });
  await cloud.until((line) => (/event \S+ alarm, accepted/.test(line) ? true : undefined), 'accept', 120_000);
});

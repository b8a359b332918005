import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { launch } from './process.ts';
import { cli, openLan, planted, type Rig, startRig } from './rig.ts';

/** Listens as any program may, and keeps what it is told. */
async function stranger() {
  const told: Buffer[] = [];
  let callers = 0;
  const server: Server = createServer((socket) => {
    callers += 1;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => void told.push(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, close, callers: () => callers, told: () => Buffer.concat(told).toString('latin1') };
}

const retries = (rig: Rig) => rig.daemon.stdout.filter((line) => line.includes('does not listen; trying again')).length;
const mqttLink = async (rig: Rig) => (await rig.status()).links.find(({ id }) => id === 'mqtt');

describe('the port of the embedded broker that another program has', () => {
  let other: Awaited<ReturnType<typeof stranger>>;
  let rig: Rig;
  let ended = false;

  beforeAll(async () => {
    other = await stranger();
    const clients = 'clients: [ { id: bridge-1, role: bridge, password: { env: BRIDGE_PASSWORD } } ]';
    rig = await startRig({
      broker: 'embedded',
      cloud: false,
      lan: false,
      mqtt: `broker: embedded, listen: "127.0.0.1:${other.port}", ${clients}`,
      env: { BRIDGE_PASSWORD: planted.mqttPassword },
    });
  }, 90_000);
  afterAll(async () => {
    await rig?.close();
    if (!ended) await other?.close();
  });

  function learn() {
    const env = {
      BRIDGE_PASSWORD: planted.mqttPassword,
      SITEWARD_MQTT_USERNAME: 'bridge-1',
      SITEWARD_MQTT_PASSWORD: planted.mqttPassword,
    };
    return launch(process.execPath, [cli, 'panel', 'learn', '--seconds', '2', '--config', rig.configFile], { env });
  }

  test('is told in the status with what to do, and no part of siteward connects to that program', async () => {
    await eventually('a second try to listen', () => (retries(rig) >= 2 ? true : undefined), { timeoutMs: 30_000 });
    expect(await mqttLink(rig)).toMatchObject({ up: false });
    const page = await rig.statusText();
    expect(page).toMatch(/broker +down .*Another program has the port.*give mqtt\.listen a free port/);
    expect(page).toMatch(/mqtt +DOWN/);
    expect(other.callers()).toBe(0);
  }, 60_000);

  test('is given no password by the command line either, which says why', async () => {
    const ran = learn();
    expect(await ran.exited).toBe(69);
    expect(ran.stderr.join('\n')).toMatch(/name and password were not sent: .*Another program has the port/);
    expect(other.told()).toBe('');
  }, 60_000);

  test('is given no password where the running daemon has its broker elsewhere, or does not run', async () => {
    const elsewhere = join(rig.folder, 'elsewhere.yaml');
    const config = (socket: string) => `site: { id: "1", external_id: hq, timezone: UTC }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: A } ]
mqtt: { broker: embedded, listen: "localhost:${other.port}" }
http: { control_socket: ${socket} }
`;
    for (const socket of [rig.socket, join(rig.folder, 'none.sock')]) {
      writeFileSync(elsewhere, config(socket));
      const env = { SITEWARD_MQTT_USERNAME: 'bridge-1', SITEWARD_MQTT_PASSWORD: planted.mqttPassword };
      const ran = launch(process.execPath, [cli, 'panel', 'learn', '--seconds', '2', '--config', elsewhere], { env });
      expect(await ran.exited).toBe(69);
    }
    expect(other.told()).toBe('');
  }, 60_000);

  test('when it is free the broker comes up, and siteward, panels and the command line use it by themselves', async () => {
    await other.close();
    ended = true;
    const up = async () => ((await mqttLink(rig))?.up === true ? true : undefined);
    await eventually('the link to the broker', up, { timeoutMs: 90_000, everyMs: 500 });
    const lan = await openLan(rig.mqttUrl.replace(/\d+$/, String(other.port)));
    rig.also(lan.close);
    await lan.shows('status', 'online');
    await eventually(
      'the panels on the broker',
      async () => /^siteward_panel_broker_connected 1$/m.test(await rig.metrics()) || undefined,
      { timeoutMs: 60_000, everyMs: 500 },
    );
    await lan.publish('zigbee2mqtt/smoke_1', '{"smoke":true}');
    await lan.shows('partition/p1/state', 'triggered');
    await lan.publish('zigbee2mqtt/smoke_2', '{"smoke":false}', true);
    const ran = learn();
    expect(await ran.exited).toBe(0);
    expect(ran.stdout.join('\n')).toContain('zigbee2mqtt');
  }, 240_000);
});

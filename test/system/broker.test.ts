import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { commission, config, eventIds, events, newBox, property, tell } from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

let box: Machine;
beforeEach(async () => {
  box = await newBox();
});
afterEach(() => box.remove());

/** As a technician does it: with what apt brings beside it. */
const apt = (...packages: readonly string[]) =>
  box.sh(`apt-get --quiet --yes -o APT::Install-Recommends=true install ${packages.join(' ')} 2>&1`);
const siteward = `/packages/siteward_${versions.now}_amd64.deb`;

/** Who listens on a port of the box. */
async function listener(port: number): Promise<string> {
  const line = (await box.sh('ss -Htlnp')).split('\n').find((one) => one.includes(`127.0.0.1:${port} `));
  const [, name, pid] = /users:\(\("([^"]+)",pid=(\d+)/.exec(line ?? '') ?? [];
  return pid === (await property(box, 'MainPID')) ? 'siteward' : (name ?? 'nobody');
}

interface Report {
  readonly checks: readonly {
    id: string;
    findings: readonly { state: string; subject?: string; seen: string; advice?: string[] }[];
  }[];
}

const broker = async () => {
  const { out } = await box.run('siteward', 'doctor', 'broker', '--json');
  return (JSON.parse(out) as Report).checks.flatMap(({ findings }) => findings);
};
const isWell = () =>
  vi.waitUntil(async () => (await broker()).every(({ state }) => state === 'ok'), { timeout: 60_000, interval: 500 });

describe('an installation by apt', () => {
  test('has a broker that works at once, and mosquitto is not brought', async () => {
    await apt(siteward);
    expect((await box.run('dpkg-query', '-s', 'mosquitto')).code).not.toBe(0);
    expect(await listener(1883)).toBe('siteward');
    expect(await broker()).toMatchObject([{ state: 'ok' }]);
    expect(await box.sh('siteward status')).toMatch(/broker +ok/);
    await commission(box);
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    await vi.waitUntil(async () => (await eventIds(box)).length > 0, { timeout: 30_000 });
  });

  test('beside a mosquitto that has the port says what to do, and that helps', async () => {
    await apt('mosquitto');
    expect(await listener(1883)).toBe('mosquitto');
    await apt(siteward);
    const [found] = await broker();
    expect(found).toMatchObject({ state: 'failed', seen: expect.stringContaining('127.0.0.1:1883') });
    expect(found?.advice?.join('\n')).toContain('systemctl disable --now mosquitto');
    await box.sh('systemctl disable --now mosquitto 2>&1');
    await isWell();
    expect(await listener(1883)).toBe('siteward');
    await box.reboot();
    await isWell();
    expect(await listener(1883)).toBe('siteward');
  });

  test('uses mosquitto where somebody wants that, with accounts and TLS', async () => {
    await apt(siteward);
    await apt('mosquitto');
    await commission(box);
    expect(await broker()).toMatchObject([{ state: 'ok' }, { state: 'warning', subject: '[::1]:1883' }]);
    const text = await box.sh(`cat ${config}`);
    const mqtt =
      'mqtt: { broker: "mqtts://127.0.0.1:8884", clients: [ { id: zigbee, role: bridge, panels: [ sensors ] } ] }';
    await box.write(config, `${text}\n${mqtt}\n`);
    // Made by root for its key alone: siteward could not read a password in it.
    const closed = await box.run('siteward', 'mqtt', 'provision', '--json', '--with-passwords');
    expect(closed.err).toMatch(
      /\/etc\/siteward\/secrets does not let siteward in.*chown \d+:\d+ \/etc\/siteward\/secrets/,
    );
    await box.sh('chown siteward: /etc/siteward/secrets; test ! -e /etc/mosquitto/siteward');
    const said = await box.sh('siteward mqtt provision --json --with-passwords');
    const { clients } = JSON.parse(said.split('\n').at(-1) ?? '') as {
      clients: readonly { id: string; new_password: string | null }[];
    };
    const password = clients.find(({ id }) => id === 'zigbee')?.new_password;
    await box.sh('systemctl restart mosquitto && systemctl reload siteward');
    await vi.waitUntil(async () => (await listener(1883)) === 'nobody', { timeout: 30_000, interval: 200 });
    await isWell();
    const known = (await events(box)).length;
    const publish = `mosquitto_pub -h localhost -p 8883 --cafile /etc/mosquitto/siteward/ca.crt -u zigbee -P '${password}' -i zigbee -q 1`;
    await box.sh(`${publish} -r -t zigbee2mqtt/bridge/state -m '{"state":"online"}'`);
    await box.sh(`${publish} -t zigbee2mqtt/smoke_1 -m '{"smoke":true}'`);
    await vi.waitUntil(async () => (await events(box)).length > known, { timeout: 30_000 });
    expect(await box.sh('siteward status')).toContain('IN ALARM: fire');
    await box.reboot();
    await isWell();
  });
});

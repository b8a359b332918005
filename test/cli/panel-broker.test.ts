import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { brokerAccess } from '../../src/cli/panel/broker.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-access-'));
  writeFileSync(join(folder, 'secret'), 'of-the-site', { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

const secret = () => `{ file: ${join(folder, 'secret')} }`;
function access(mqtt: string, broker?: string) {
  const config = join(folder, 'siteward.yaml');
  writeFileSync(
    config,
    `site: { id: "1", external_id: hq, timezone: UTC }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: A } ]
mqtt: ${mqtt}
`,
  );
  const { url, username, password } = brokerAccess({ config, ...(broker !== undefined && { broker }) }).connect;
  return { url, username, password: password?.reveal() };
}
const mosquitto = () => `{ broker: "mqtt://192.0.2.1:1883", username: siteward, password: ${secret()} }`;

describe('the way to the broker', () => {
  it('is that of the configuration with its name and password', () => {
    expect(access(mosquitto())).toEqual({
      url: 'mqtt://192.0.2.1:1883',
      username: 'siteward',
      password: 'of-the-site',
    });
  });

  it('never takes the password of the configuration to another broker', () => {
    expect(access(mosquitto(), 'mqtt://192.0.2.9:1883')).toEqual({ url: 'mqtt://192.0.2.9:1883' });
    expect(access(mosquitto(), 'mqtt://192.0.2.1:1883')).toMatchObject({ password: 'of-the-site' });
  });

  it('takes name and password from the environment first', () => {
    vi.stubEnv('SITEWARD_MQTT_USERNAME', 'technician');
    vi.stubEnv('SITEWARD_MQTT_PASSWORD', 'of-the-van');
    const own = { username: 'technician', password: 'of-the-van' };
    expect(access(mosquitto())).toMatchObject(own);
    expect(access('{ broker: embedded, listen: "0.0.0.0:1883" }')).toEqual({ url: 'mqtts://127.0.0.1:1883', ...own });
    expect(access('{ broker: embedded, tls: false, listen: "0.0.0.0:1883" }')).toEqual({
      ...{ url: 'mqtt://127.0.0.1:1883', ...own },
    });
  });

  it('needs no name for an embedded broker on loopback, and a client of role bridge beyond it', () => {
    expect(access('{ broker: embedded, listen: "127.0.0.1:1884" }')).toEqual({ url: 'mqtt://127.0.0.1:1884' });
    const clients = `[ { id: kp, role: keypad, password: ${secret()} }, { id: pai, role: bridge, password: ${secret()} } ]`;
    expect(access(`{ broker: embedded, listen: "0.0.0.0:1883", clients: ${clients} }`)).toEqual({
      ...{ url: 'mqtts://127.0.0.1:1883', username: 'pai', password: 'of-the-site' },
    });
    expect(() => access('{ broker: embedded, listen: "0.0.0.0:1883" }')).toThrow('add a client of role bridge');
  });
});

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject, vi } from 'vitest';
import { systemIn } from './build.ts';
import { Machine } from './machine.ts';

/** A box with Debian, switched on. It is gone with the test file. */
export async function newBox(): Promise<Machine> {
  const machines = inject('machines');
  const folder = mkdtempSync(join(machines, 'box-'));
  const box = new Machine({ folder, lower: systemIn(machines), packages: inject('packages') });
  try {
    await box.boot();
    return box;
  } catch (error) {
    await box.remove();
    throw error;
  }
}

/** A fire that burns on is no reason to wait. */
export const install = (box: Machine, version: string) =>
  box.run('env', 'SITEWARD_UPGRADE_ANYWAY=1', 'dpkg', '-i', `/packages/siteward_${version}_amd64.deb`);

/** Throws with all that was said where the installation fails. */
export async function installed(box: Machine, version: string): Promise<string> {
  const { code, out, err } = await install(box, version);
  if (code !== 0) throw new Error(`dpkg ended with ${code}: ${out}${err}`);
  return err;
}

export const config = '/etc/siteward/siteward.yaml';
export const cloudPort = 8099;

/** A site with smoke detectors and a window, and a cloud on the box itself, which is not there at first. */
const siteText = `site:   { id: "101", external_id: shop, timezone: Europe/Berlin }
bridge: { external_id: sw-shop }
cloud:
  base_url: http://127.0.0.1:${cloudPort}
  auth_url: http://127.0.0.1:${cloudPort}
  events: { client_id: bridge-1, private_key: { credential: event-key } }
http:   { listen: "127.0.0.1:8443" }
partitions: [ { id: p1, name: Shop } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: fire, name: Kitchen, key: smoke_1, partition: p1 }
      "2": { type: fire, name: Store, key: smoke_2, partition: p1 }
      "3": { type: perimeter, name: Window, key: window, partition: p1 }
`;

const credential = `[Service]
LoadCredential=event-key:/etc/siteward/secrets/event-key
SetCredential=event-key:none
`;

/** Makes the box that of a site: its key lies where only root may read it, as docs/users.md says. */
export async function commission(box: Machine): Promise<void> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await box.sh('install -d -m 0700 /etc/siteward/secrets');
  await box.write('/etc/siteward/secrets/event-key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  await box.sh('chmod 0600 /etc/siteward/secrets/event-key');
  await authorise(box);
  await box.write(config, siteText);
  await box.sh('systemctl restart siteward');
}

/** Has systemd hand the key to the service. */
export async function authorise(box: Machine): Promise<void> {
  await box.sh('install -d /etc/systemd/system/siteward.service.d');
  await box.write('/etc/systemd/system/siteward.service.d/key.conf', credential);
  await box.sh('systemctl daemon-reload');
}

/** The stand-in for the cloud starts on the box. */
export const startCloud = (box: Machine): Promise<string> =>
  box.sh(
    `systemd-run --quiet --unit=cloud siteward sandbox --control --json --listen 127.0.0.1:${cloudPort} --client bridge-1=/etc/siteward/secrets/event-key`,
  );

/** A detector tells its state; the broker of the daemon takes it. */
export async function tell(box: Machine, detector: string, state: object): Promise<void> {
  await box.sh(`mosquitto_pub -h 127.0.0.1 -q 1 -r -t zigbee2mqtt/bridge/state -m '{"state":"online"}'`);
  await box.sh(`mosquitto_pub -h 127.0.0.1 -q 1 -t zigbee2mqtt/${detector} -m '${JSON.stringify(state)}'`);
}

/** Events as `siteward events --json` has them, newest first. */
export async function events(box: Machine): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const lines = await box.sh('siteward events --json --limit 200');
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]));
}

export const eventIds = async (box: Machine): Promise<string[]> =>
  (await events(box)).map(({ event }) => (event as { event_id: string }).event_id);

export const property = (box: Machine, name: string): Promise<string> =>
  box.sh(`systemctl show siteward --property=${name} --value`);

/** Waits until the service is ready, in another process than `before` was. */
export async function back(box: Machine, before = ''): Promise<void> {
  await vi.waitUntil(
    async () =>
      (await property(box, 'ActiveState')) === 'active' && ![before, '0'].includes(await property(box, 'MainPID')),
    { timeout: 90_000, interval: 100 },
  );
}

/** The last lines of its journal, for the text of a failure. */
export const journal = (box: Machine): Promise<string> =>
  box.sh('journalctl -u siteward -o cat --no-pager | tail -n 40');

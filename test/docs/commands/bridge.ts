import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StatusDocument } from '#lan/http/index.ts';
import { eventually, freePort, member, type Running, startProcess } from '#sandbox/demo/processes.ts';
import { program } from '../../harness/program.ts';
import { camera, cameraPassword, code, type Site, startSite } from '../../harness/site.ts';
import { withStore } from '../../harness/store.ts';
import type { Place } from './line.ts';

/** A whole site for the commands of the pages: cloud, cameras, sensors, a speaker, users, an alarm with its picture. */
export interface Bridge {
  readonly site: Site;
  readonly place: Place;
  readonly sensors: Running;
  /** The number of the alarm that has a picture. */
  readonly alarm: number;
  /** Where the camera of the configuration is at first: `host:port`. */
  readonly yard: string;
  /** Numbers of alarms that the cloud has refused for good. */
  readonly parked: readonly string[];
  close(): Promise<void>;
}

export const passphrase = 'four words of a passphrase';
const secret = 'correct horse battery';
const dealer = {
  ...{ dealer_id: 17, external_dealer_id: 'aurora' },
  sites: [
    {
      ...{ site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' },
      ...{ is_activated: 1, security_type: 3 },
      contacts: [
        {
          ...{ contact_id: 7, external_contact_id: 'contact-7', first_name: 'Ada', last_name: 'Byron' },
          phone_number: '+49 30 5550100',
        },
      ],
      devices: [{ device_type: 'camera', external_device_id: 'old-gate', name: 'Old gate', zone_number: '41' }],
    },
  ],
};

export async function startBridge(): Promise<Bridge> {
  const port = await freePort();
  const site = await startSite({
    broker: 'embedded',
    cameras: ['yard', 'spare', 'third'],
    siteYaml: 'id: "4711", dealer_id: "17", name: Shop',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    httpYaml: `, listen: "127.0.0.1:${port}"`,
    env: { PARTNER: secret },
    async prepare(cloud) {
      await cloud.control('dealers', { method: 'POST', body: dealer });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
    yaml: ({ cameras }) => `
partitions: [ ${[1, 2, 3, 4].map((n) => `{ id: p${n}, name: Part ${n}, exit_delay: 0s }`).join(', ')} ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1, cameras: [yard] } }
cameras:
${camera('yard', cameras.yard, 'name: Yard, zone: "21", partition: p1, pictures: always')}
nvrs: [ { id: rec, name: Recorder, url: "http://127.0.0.1:9/onvif/device_service", channels: [ { id: door, position: 1 } ] } ]
speakers: [ { id: gate, driver: "null" } ]
media: { snapshots: 1, keep: 7d }
schedules: [ { id: night, days: [daily], at: "${inHours(3)}", arm: { partitions: [p1] } } ]
verification: { contacts: [ { user: anna, contact_id: 7 } ] }
`,
  });
  try {
    return await furnish(site, port);
  } catch (error) {
    await site.close();
    throw error;
  }
}

const alarmsOf = async (site: Site) => (await site.history()).filter(({ event }) => event.class === 'alarm');

/** Makes two alarms that the cloud has refused: by itself that takes two tries, a minute apart (docs/outbox.md). */
async function park(site: Site, press: () => void): Promise<readonly string[]> {
  const known = (await alarmsOf(site)).length;
  await site.line.cut();
  press();
  // The alarm, and its end.
  const alarms = await eventually('two alarms', async () => {
    const made = (await alarmsOf(site)).slice(known);
    return made.length >= 2 ? made : undefined;
  });
  const refused = { lane: 'alarm', verdict: 'parked', at: Date.now(), tries: 2, status: 422 } as const;
  const reason = '422 refused as invalid: camera_id unknown';
  await withStore(site, (store) => store.settle(alarms.map(({ seq }) => ({ ...refused, seq, reason }))));
  await site.line.restore();
  await site.daemon.restart();
  return alarms.map(({ seq }) => String(seq));
}

/** By the clocks of the site. */
const inHours = (hours: number): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit' }).format(
    Date.now() + hours * 3_600_000,
  );

async function furnish(site: Site, port: number): Promise<Bridge> {
  const { folder, socket, config } = site;
  const status = async () => (await site.api('/api/v1/status')) as StatusDocument;
  const sensors = await site.panel('sensors', ['--kind', 'zigbee', '--device', 'button:contact']);
  for (const name of ['stick', 'backups', 'root']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'root/backup-passphrase'), `${passphrase}\n`, { mode: 0o600 });
  const deviceOf = async (id: string) =>
    new URL((await site.cameras[id]?.until((line) => member(line, 'device_url'), 'start')) ?? '').host;
  const [yard = '', spare = '', third = ''] = await Promise.all(['yard', 'spare', 'third'].map(deviceOf));
  const practicePort = await freePort();
  const practice = startProcess({
    name: 'practice',
    args: [program, 'sandbox', 'camera', '--listen', `127.0.0.1:${practicePort}`],
  });
  await eventually('the cameras, the LAN API and the devices in the cloud', async () => {
    const { cameras, cloud, parts } = await status();
    const listens = parts.find(({ name }) => name === 'http')?.state === 'ok';
    const sees = cameras.some(({ id, up }) => id === 'yard' && up === true);
    if (listens && sees && cloud?.devices?.state === 'in_step') return true;
    throw new Error(JSON.stringify({ cameras, listens, devices: cloud?.devices }));
  });
  const press = () => {
    sensors.send('open button');
    sensors.send('close button');
  };
  press();
  const alarm = await eventually(
    'an alarm with its picture in the cloud',
    async () =>
      (await alarmsOf(site)).find(
        ({ delivery, media }) =>
          delivery === 'delivered' && media.length > 0 && media.every(({ state }) => state === 'uploaded'),
      )?.seq,
  );

  const parked = await park(site, press);
  await site.lan.ask('disarm', { partition: 'p1', code });
  const request = { dealer_id: 17, site_id: 4711, contact_id: 7, expires_in: 3600 };
  const asked = await site.cloud.control('verifications', { method: 'POST', body: request });

  return {
    ...{ site, sensors, alarm, parked, yard },
    place: {
      ...{ folder, config },
      env: { SITEWARD_SOCKET: socket, PARTNER: secret, HARNESS_CODE: code, CAMERA_PASSWORD: cameraPassword },
      names: {
        '/run/siteward/control.sock': socket,
        '/media/stick': join(folder, 'stick'),
        '/srv/backups': join(folder, 'backups'),
        '/root/': join(folder, 'root/'),
        '/tmp/': `${folder}/`,
        'https://192.0.2.10:8443': `https://127.0.0.1:${port}`,
        '192.0.2.10': spare,
        '192.0.2.77': third,
        '127.0.0.1:18080': `127.0.0.1:${practicePort}`,
        '--config siteward.yaml': `--config ${config}`,
        '0a0a0a0a-1111-4222-8333-444444444444': (asked as { verification_id: string }).verification_id,
        'http://127.0.0.1:8080': site.cloud.url,
        '-p 1883': `-p ${new URL(site.mqttUrl).port}`,
        'siteward/1/hq': site.root,
      },
    },
    async close() {
      await practice.stop();
      await site.close();
    },
  };
}

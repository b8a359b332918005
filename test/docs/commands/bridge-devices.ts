import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '#sandbox/demo/processes.ts';
import { siteward } from '../../cli/run-cli.ts';
import { encoded, wavOf } from '../../devices/audio/library/fixtures.ts';
import { askSocket } from '../../harness/control.ts';
import { cameraPassword } from '../../harness/site.ts';
import type { Bridge } from './bridge.ts';
import type { Row } from './line.ts';

const password = () => [['password of user siteward', cameraPassword]] as const;
/** docs/sandbox.md tells it. */
const practising = () => [['password of user siteward', 'camera-password']] as const;

export const cameras: readonly Row<Bridge>[] = [
  {
    command: 'npm run -s siteward -- sandbox camera --listen 127.0.0.1:18080',
    before: async () => ({ '127.0.0.1:18080': `127.0.0.1:${await freePort()}` }),
    serves: { input: 'quit' },
    says: /onvif\/device_service[\s\S]*camera-password/,
  },
  {
    command: 'npm run -s siteward -- camera test 127.0.0.1:18080 --user siteward',
    typed: practising,
    says: /Everything siteward needs works/,
  },
  {
    command:
      'npm run -s siteward -- camera add 127.0.0.1:18080 --id yard --user siteward --zone 21 --config siteward.yaml --reload',
    // The stage has a yard, and more than one partition.
    before: async () => ({ '--id yard': '--id practice', '--zone 21': '--zone 24 --partition p1' }),
    typed: practising,
    says: /camera practice is added .*, and siteward has taken it/,
  },
  {
    command: 'siteward camera test 192.0.2.10 --user siteward',
    typed: password,
    says: /Everything siteward needs works/,
  },
  {
    command: 'siteward camera add 192.0.2.10 --id yard --name Yard --user siteward --zone 21',
    before: async () => ({
      '--id yard --name Yard': '--id court --name Court',
      '--zone 21': '--zone 23 --partition p1',
    }),
    typed: password,
    says: /camera court is added/,
  },
  {
    command: 'siteward camera replace yard 192.0.2.77 --user siteward --reload',
    typed: password,
    says: /yard is replaced/,
  },
  {
    command: 'siteward camera replace yard 192.0.2.77 --user siteward',
    // Back to where it was.
    before: async ({ yard }) => ({ '192.0.2.77': yard }),
    typed: password,
    says: /yard is replaced/,
  },
];

export const sound: readonly Row<Bridge>[] = [
  {
    command: 'siteward audio import gate.mp3 --name "Front gate" --language en-US --category announcement',
    async before({ place }) {
      writeFileSync(join(place.folder, 'gate.mp3'), encoded('mp3', wavOf({ seconds: 1 })));
      return undefined;
    },
    says: /front-gate: Front gate, announcement, /,
  },
];

const inFolder = ({ place }: Bridge, name: string) => join(place.folder, name);

export const network: readonly Row<Bridge>[] = [
  { command: 'curl --insecure -o siteward-ca.crt https://192.0.2.10:8443/ca.crt', says: /100/ },
  { command: 'curl --cacert siteward-ca.crt https://192.0.2.10:8443/.well-known/siteward', says: /"claimed":"no"/ },
  {
    command:
      "curl --cacert siteward-ca.crt -H 'Origin: https://192.0.2.10:8443' -c cookies --json @claim.json https://192.0.2.10:8443/api/v1/access/claim",
    async before(stage) {
      const { out } = await siteward(['claim-code', '--json', '--socket', stage.site.socket]);
      const { claim_code } = JSON.parse(out) as { claim_code: string };
      const claim = { code: claim_code, id: 'olga', name: 'Olga', role: 'owner', password: 'zahnrad-tulpe-42' };
      writeFileSync(inFolder(stage, 'claim.json'), JSON.stringify(claim));
      return undefined;
    },
    says: /"role":"owner"/,
  },
  {
    command:
      'curl --cacert siteward-ca.crt -H \'Origin: https://192.0.2.10:8443\' -b cookies --json \'{"name": "wall tablet", "scopes": ["state", "events", "commands", "audio:play"]}\' -o key.json https://192.0.2.10:8443/api/v1/access/keys',
    says: /100/,
    after(stage) {
      const { token } = JSON.parse(readFileSync(inFolder(stage, 'key.json'), 'utf8')) as { token: string };
      writeFileSync(inFolder(stage, 'key'), `Authorization: Bearer ${token}\n`, { mode: 0o600 });
    },
  },
  { command: 'curl --cacert siteward-ca.crt -H @key https://192.0.2.10:8443/api/v1/status', says: /"ready":true/ },
  {
    command: "curl --cacert siteward-ca.crt -H @key 'https://192.0.2.10:8443/api/v1/events?limit=20'",
    says: /"kind":"panic"/,
  },
  {
    command:
      "curl --cacert siteward-ca.crt -H @key -N 'https://192.0.2.10:8443/api/v1/stream?topics=events,partitions'",
    serves: 'SIGTERM',
    code: 'signal',
    says: /^event: /m,
  },
  {
    command: 'curl --cacert siteward-ca.crt -H @key --json @arm.json https://192.0.2.10:8443/api/v1/commands',
    async before(stage) {
      const command = {
        id: randomUUID(),
        issued_at: new Date().toISOString(),
        verb: 'arm',
        partition: 'p4',
        mode: 'away',
      };
      writeFileSync(inFolder(stage, 'arm.json'), JSON.stringify(command));
      return undefined;
    },
    says: /"outcome":"done"/,
  },
  {
    command:
      'curl --cacert siteward-ca.crt -H @key --json \'{"audio_message_id": "announcement.chime"}\' https://192.0.2.10:8443/api/v1/audio/playbacks',
    says: /"audio_message_id":"announcement.chime"/,
  },
];

const inPartition3 = { '\\"p1\\"': '\\"p3\\"' };

/** Line by line as on the page: with the continuation of the second. */
export const mqtt: readonly Row<Bridge>[] = [
  {
    command: [
      "mosquitto_sub -p 1883 -v -t 'siteward/1/hq/reply/keypad-1/#' -t 'siteward/1/hq/partition/#' &",
      `mosquitto_pub -p 1883 -q 1 -i keypad-1 -t siteward/1/hq/cmd/arm \\
  -m "{\\"id\\":\\"$(cat /proc/sys/kernel/random/uuid)\\",\\"issued_at\\":\\"$(date -u +%FT%TZ)\\",\\"partition\\":\\"p1\\",\\"mode\\":\\"away\\"}"`,
    ],
    before: async () => inPartition3,
    serves: 'SIGTERM',
    says: /reply\/keypad-1\/\S+ .*"outcome":"done"/,
  },
  {
    command: [
      "mosquitto_sub -p 1883 -v -t 'siteward/1/hq/reply/pa/#' -t 'siteward/1/hq/audio/playback/#' &",
      `mosquitto_pub -p 1883 -q 1 -i pa -t siteward/1/hq/cmd/play \\
  -m "{\\"id\\":\\"$(cat /proc/sys/kernel/random/uuid)\\",\\"issued_at\\":\\"$(date -u +%FT%TZ)\\",\\"audio_message_id\\":\\"announcement.chime\\"}"`,
    ],
    // One that is shown, so that a person sees that the first line listens.
    async before({ site }) {
      const body = { audio_message_id: 'announcement.chime' };
      await askSocket(site.socket, 'POST', '/api/v1/audio/playbacks', body);
      return undefined;
    },
    serves: 'SIGTERM',
    says: /reply\/pa\/\S+ .*"outcome":"done"/,
  },
];

/** What changes the configuration of the whole site. */
export const whole: readonly Row<Bridge>[] = [
  {
    command: 'chown siteward /etc/siteward /etc/siteward/siteward.yaml',
    // There is no such user where nothing is installed.
    before: async ({ place }) => ({
      'chown siteward': `chown --verbose ${userInfo().username}`,
      '/etc/siteward/siteward.yaml': place.config,
      '/etc/siteward': place.folder,
    }),
    says: /siteward\.yaml/,
  },
  {
    command: 'siteward cloud rotate-key',
    says: /BEGIN PUBLIC KEY/,
    // The page has it twice: once more when the operator knows the new key.
    async after({ site, place }, { shown }) {
      const [pem] = /-----BEGIN PUBLIC KEY-----[\s\S]*-----END PUBLIC KEY-----/.exec(shown) ?? [];
      const body = { client_id: 'bridge-1', public_key_pem: pem };
      await site.cloud.control('clients', { method: 'POST', body });
      const again = await siteward(['cloud', 'rotate-key', '--config', site.config], { ...place.env });
      expect(again).toMatchObject({ code: 0, out: expect.stringContaining('new key') });
    },
  },
];

/** Of partition 1, which nothing needs any more. */
export const arming: readonly Row<Bridge>[] = [{ command: 'siteward arm p1 --mode night', says: /night/ }];

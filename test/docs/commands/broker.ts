import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, member, startProcess } from '#sandbox/demo/processes.ts';
import { askSocket } from '../../harness/control.ts';
import { program } from '../../harness/program.ts';
import { type Provisioned, provisioned } from '../../lan/mqtt/provisioned.ts';
import type { Place, Row } from './line.ts';

/** A site on a mosquitto as `siteward mqtt provision` sets it up: with names, passwords and TLS. */
export interface BrokerSite {
  readonly site: Provisioned;
  readonly place: Place;
  close(): Promise<void>;
}

export async function startBrokerSite(): Promise<BrokerSite> {
  const site = await provisioned(['{ id: kp1, role: keypad }', '{ id: pa, role: audio }']);
  const { folder, config, dir, ports } = site;
  const socket = join(folder, 'control.sock');
  // The partition is siteward's own here, as on the page.
  const text = readFileSync(config, 'utf8').replace(/^panels: .*$/m, 'speakers: [ { id: gate, driver: "null" } ]');
  writeFileSync(config, `${text}http: { control_socket: ${socket} }\n`);
  copyFileSync(join(dir, 'ca.crt'), join(folder, 'ca.crt'));
  const daemon = startProcess({ name: 'siteward', args: [program, 'run', '--config', config] });
  const close = async () => {
    await daemon.stop();
    await site.stop();
  };
  try {
    await daemon.until((line) => (member(line, 'msg') === 'ready' ? true : undefined), 'start');
    await eventually('it is at the broker', async () => {
      const { body } = await askSocket(socket, 'GET', '/api/v1/status');
      return body.parts.some((part: { name: string; state: string }) => part.name === 'mqtt' && part.state === 'ok')
        ? true
        : undefined;
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...{ site, close },
    place: { ...{ folder, config, env: {} }, names: { BRIDGE: '127.0.0.1', '-p 8883': `-p ${ports.lan}` } },
  };
}

const passwordOf = (id: string) => async (stage: BrokerSite) => ({ PASSWORD: stage.site.passwords.get(id) ?? '' });

export const accounts: readonly Row<BrokerSite>[] = [
  {
    command: `mosquitto_rr -h BRIDGE -p 8883 --cafile ca.crt -u kp1 -P PASSWORD -q 1 -W 5 \\
  -e siteward/1/hq/reply/kp1/1 -t siteward/1/hq/cmd/arm \\
  -m "{\\"id\\":\\"$(cat /proc/sys/kernel/random/uuid)\\",\\"issued_at\\":\\"$(date -u +%FT%TZ)\\",\\"partition\\":\\"p1\\",\\"mode\\":\\"away\\"}"`,
    before: passwordOf('kp1'),
    says: /"outcome":"done"/,
  },
  {
    command: `mosquitto_rr -h BRIDGE -p 8883 --cafile ca.crt -u pa -P PASSWORD -q 1 -W 5 \\
  -e siteward/1/hq/reply/pa/1 -t siteward/1/hq/cmd/play \\
  -m "{\\"id\\":\\"$(cat /proc/sys/kernel/random/uuid)\\",\\"issued_at\\":\\"$(date -u +%FT%TZ)\\",\\"reply_to\\":\\"siteward/1/hq/reply/pa/1\\",\\"audio_message_id\\":\\"announcement.chime\\"}"`,
    before: passwordOf('pa'),
    says: /"outcome":"accepted"/,
  },
  {
    command:
      "mosquitto_sub -h BRIDGE -p 8883 --cafile ca.crt -u pa -P PASSWORD -W 2 -v -t 'siteward/1/hq/audio/playback/#'",
    before: passwordOf('pa'),
    // So mosquitto_sub says that its two seconds are over.
    code: 27,
    says: /audio\/playback\/\S+ .*"audio_message_id":"announcement\.chime"/,
  },
];

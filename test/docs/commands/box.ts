import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '#sandbox/demo/processes.ts';
import { cameraPassword, ownerCode, partnerSecret, type SetupRig, setupRig } from '../../cli/setup-rig.ts';
import { type ScriptedCamera, startCamera } from '../../devices/onvif/scripted-camera.ts';
import { recorderChannel, recorderModel } from '../../devices/onvif/scripted-nvr.ts';
import { blocks, read } from '../markdown.ts';
import type { Names, Place, Row } from './line.ts';

/** A box to be commissioned, with what the answers of docs/commissioning.md name. */
export interface Box {
  readonly rig: SetupRig;
  readonly recorder: ScriptedCamera;
  readonly place: Place;
  close(): Promise<void>;
}

export async function startBox(): Promise<Box> {
  const rig = await setupRig();
  const recorder = await startCamera(
    recorderModel({ channels: [1, 2, 3, 4].map((number) => recorderChannel(number)) }).script,
  );
  mkdirSync(join(rig.folder, 'etc/secrets'), { recursive: true });
  const close = async () => {
    await rig.close();
    await recorder.close();
  };
  return {
    ...{ rig, recorder, close },
    place: {
      ...{ folder: rig.folder, config: rig.config, names: {} },
      env: { SITEWARD_SOCKET: rig.socket },
    },
  };
}

/** The answers of the page, with the addresses and files of this box; paths where no test may write are said by `settings`. */
async function answers({ rig, recorder }: Box): Promise<string> {
  const page = blocks(read('docs/commissioning.md')).find(
    ({ info, text }) => info === 'yaml' && text.includes('shop-7'),
  );
  const names: Names = {
    'dealer_id: "17"': 'dealer_id: "1"',
    '  http: { listen: "0.0.0.0:8443" }': `  http: { listen: "127.0.0.1:${await freePort()}", control_socket: ${rig.socket} }
  mqtt: { broker: embedded, listen: "127.0.0.1:${rig.mqttPort}" }
  store: { dir: ${join(rig.folder, 'state')} }`,
    'https://api.example.net': rig.url,
    'https://auth.example.net': rig.url,
    '  key_id: bridge-7-2026': '  # key_id: bridge-7-2026',
    'partner_client_id: partner-1': 'partner_client_id: partner-9',
    '/etc/siteward/secrets/partner': rig.secret('partner', partnerSecret),
    '192.0.2.10': `"${rig.camera}"`,
    '192.0.2.11': `"${recorder.url}"`,
    '/root/yard': rig.secret('yard', cameraPassword),
    '/root/rec': rig.secret('rec', 'rig-nvr-password'),
    '/root/horn': rig.secret('horn', 'rig-horn-password'),
    '/root/anna': rig.secret('anna', ownerCode),
    '/root/ines-password': rig.secret('ines-password', 'rig gate wall password'),
    '/root/ines': rig.secret('ines', '48613907'),
    '/root/wall-tablet.key': join(rig.folder, 'wall-tablet.key'),
    // Whoever reads the page a year later writes another day, too.
    '2026-12-24': new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10),
    'http://192.0.2.30/play': 'http://127.0.0.2:9/play',
  };
  const text = Object.entries(names).reduce((so, [name, here]) => so.replaceAll(name, here), page?.text ?? '');
  expect(text).not.toMatch(/192\.0\.2|example\.net|\/root\/|\/etc\//);
  return text;
}

export const commissioning: readonly Row<Box>[] = [
  {
    command: 'siteward setup',
    typed: () => [
      ['your own id of the site', 'shop-7'],
      ['time zone of the site', 'Europe/Berlin'],
      ['name of the site', '\u0003'],
    ],
    code: 1,
    says: /goes on where it stopped/,
  },
  {
    command: 'siteward setup --answers shop-7.yaml --non-interactive --json --report shop-7.html',
    async before(box) {
      const { rig } = box;
      writeFileSync(join(rig.folder, 'shop-7.yaml'), await answers(box));
      // The first run makes the key; what it shows is told to the operator, and the service is started.
      const first = await rig.run([
        ...['setup', '--config', rig.config, '--socket', rig.socket, '--non-interactive', '--json'],
        ...['--answers', join(rig.folder, 'shop-7.yaml')],
      ]);
      expect(first.code, first.out + first.err).toBe(1);
      await rig.register('bridge-7');
      await rig.startDaemon();
      return undefined;
    },
    says: /"step":"activation",.*"state":"done"[\s\S]*Nothing is open\./,
    after({ rig }) {
      expect(parse(readFileSync(rig.config, 'utf8'))).toMatchObject({
        site: { external_id: 'shop-7' },
        cloud: { events: { client_id: 'bridge-7' } },
        cameras: [{ id: 'yard' }],
      });
      expect(readFileSync(join(rig.folder, 'shop-7.html'), 'utf8')).toContain('Shop 7');
    },
  },
  {
    command:
      'siteward setup --answers shops.yaml --set site.external_id=shop-8 --set cloud.client_id=bridge-8 --set cameras.0.zone=22',
    async before(box) {
      const { rig } = box;
      writeFileSync(join(rig.folder, 'shops.yaml'), await answers(box));
      return { 'siteward setup': `siteward setup --config ${join(rig.folder, 'shop-8.yaml')}` };
    },
    typed: () => [
      ['do it now', ''],
      ['do it now', '\u0003'],
    ],
    code: 1,
    says: /goes on where it stopped/,
    after({ rig }) {
      expect(parse(readFileSync(join(rig.folder, 'shop-8.yaml'), 'utf8'))).toMatchObject({
        site: { external_id: 'shop-8' },
      });
    },
  },
];

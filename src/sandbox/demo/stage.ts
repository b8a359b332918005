import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKeypad, type Keypad } from './keypad.ts';
import { type Line, openLine, type Plant } from './line.ts';
import { freePort, member, type Running, startProcess } from './processes.ts';
import { type CloudRecord, cloudRecord } from './record.ts';

/** Everything the story needs, each part a process of its own, as on a real site. */
export interface Stage {
  readonly line: Line;
  readonly cloud: CloudRecord;
  readonly cloudUrl: string;
  readonly mqttUrl: string;
  /** Address of the LAN API. */
  readonly apiUrl: string;
  readonly root: string;
  readonly folder: string;
  readonly keypad: Keypad;
  /** Door sensors of the shop, behind zigbee2mqtt. */
  readonly sensors: Running;
  /** The warehouse's own alarm panel, behind PAI. */
  readonly panel: Running;
  /** The camera inside the shop. */
  readonly camera: Running;
  readonly siteward: Running;
  close(): Promise<void>;
}

const cameraPassword = 'demo-camera-password';
export const code = '2580';
/** What the speaker of the shop has played lies here, below the folder of the demo. */
export const heardFolder = join('state', 'speakers', 'shop-speaker');
const main = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const simulator = (name: string) => join(import.meta.dirname, '..', name, 'main.ts');

export async function setStage(options: {
  plant?: Plant;
  onStep: (text: string) => void;
  /** Makes another configuration of the demo's. */
  edit?: (yaml: string) => string;
}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-demo-'));
  const open: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const end of open.reverse()) await end().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
  const process = (name: string, args: readonly string[], env: Record<string, string> = {}) => {
    const started = startProcess({ name, args, env });
    open.push(started.stop);
    return started;
  };

  try {
    const mqttPort = await freePort();
    const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
    const httpPort = await freePort();
    const line = await openLine(options.plant === undefined ? {} : { plant: options.plant });
    open.push(line.close);
    const keyFile = join(folder, 'event-key.pem');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });

    options.onStep('the cloud sandbox');
    const sandbox = process('sandbox', [
      ...[main, 'sandbox', '--listen', '127.0.0.1:0', '--control', '--json'],
      ...['--client', `bridge-1=${keyFile}`, '--public-url', line.url],
    ]);
    const cloudUrl = await sandbox.until((text) => member(text, 'listen'), 'start');
    await line.connect(cloudUrl);

    options.onStep('two cameras, shop and yard');
    const cameraArgs = (id: string) => [simulator('cameras'), '--id', id, '--password-env', 'CAMERA_PASSWORD'];
    const cameraEnv = { CAMERA_PASSWORD: cameraPassword };
    const camera = process('camera-shop', cameraArgs('shop'), cameraEnv);
    const yard = process('camera-yard', cameraArgs('yard'), cameraEnv);
    const shopUrl = await camera.until((text) => member(text, 'device_url'), 'start');
    const yardUrl = await yard.until((text) => member(text, 'device_url'), 'start');

    options.onStep('siteward with its embedded broker');
    const config = join(folder, 'siteward.yaml');
    const yaml = configuration({ folder, mqttPort, httpPort, cloudUrl: line.url, keyFile, shopUrl, yardUrl });
    writeFileSync(config, options.edit?.(yaml) ?? yaml);
    mkdirSync(join(folder, 'state'), { mode: 0o700 });
    const siteward = process('siteward', [main, 'run', '--config', config], {
      CAMERA_PASSWORD: cameraPassword,
      DEMO_CODE: code,
    });
    await siteward.until((text) => (member(text, 'msg') === 'ready' ? true : undefined), 'start', 60_000);

    options.onStep('door sensors and the warehouse panel');
    const sensors = process('sensors', [
      simulator('panel'),
      '--kind',
      'zigbee',
      '--url',
      mqttUrl,
      '--device',
      'front_door:contact',
    ]);
    const panel = process('panel', [
      ...[simulator('panel'), '--kind', 'pai', '--url', mqttUrl],
      ...['--partition', 'Warehouse:300:1000', '--zone', 'Loading_gate:Warehouse:instant'],
    ]);
    await sensors.until((text) => member(text, 'kind'), 'connect');
    await panel.until((text) => member(text, 'kind'), 'connect');

    const root = 'siteward/1/demo';
    const keypad = await connectKeypad({ url: mqttUrl, root });
    open.push(keypad.close);
    const cloud = cloudRecord(cloudUrl);
    const apiUrl = `https://127.0.0.1:${httpPort}`;
    return { line, cloud, cloudUrl, mqttUrl, apiUrl, root, folder, keypad, sensors, panel, camera, siteward, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function configuration(of: {
  folder: string;
  mqttPort: number;
  httpPort: number;
  cloudUrl: string;
  keyFile: string;
  shopUrl: string;
  yardUrl: string;
}): string {
  return `site:   { id: "4711", external_id: demo, name: Demo shop, timezone: Europe/Berlin }
bridge: { external_id: sw-demo }
cloud:
  base_url: ${of.cloudUrl}
  auth_url: ${of.cloudUrl}
  events: { client_id: bridge-1, private_key: { file: ${of.keyFile} } }
mqtt:  { broker: embedded, listen: 127.0.0.1:${of.mqttPort} }
http:  { control_socket: ${of.folder}/control.sock, listen: 127.0.0.1:${of.httpPort} }
store: { dir: ${of.folder}/state }
partitions:
  - { id: p1, name: Shop, exit_delay: 1s, entry_delay: 4s }
  - { id: p2, name: Warehouse }
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: entry_exit_1, name: Front door, key: front_door, partition: p1, cameras: [shop] } }
  - id: warehouse
    profile: pai
    partitions: { p2: Warehouse }
    zones: { "11": { type: perimeter, name: Loading gate, key: Loading_gate, partition: p2, cameras: [yard] } }
cameras:
  - { id: shop, url: "${of.shopUrl}", username: siteward, password: { env: CAMERA_PASSWORD }, name: Shop camera, zone: "21", zone_type: video_person_interior, partition: p1 }
  - { id: yard, url: "${of.yardUrl}", username: siteward, password: { env: CAMERA_PASSWORD }, name: Yard camera, partition: p2 }
users: [ { id: anna, name: Anna, code: { env: DEMO_CODE } } ]
speakers: [ { id: shop-speaker, driver: capture, name: Shop speaker, partitions: [p1] } ]
rules: [ { id: intruder, on: { class: alarm, kinds: [burglary_entry_exit] }, play: { message: alarm.siren, repeat: 5 } } ]
media: { snapshots: 2, interval: 500ms }
`;
}

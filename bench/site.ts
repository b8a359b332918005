import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, member, type Running, startProcess } from '#sandbox/demo/processes.ts';

const root = join(import.meta.dirname, '..');
const sources = join(root, 'src', 'cli', 'main.ts');
export const cameraPassword = 'bench-camera-password';

/** A folder with a configuration, and the processes that run in it. Nothing stands between daemon and sandbox. */
export interface BenchSite {
  readonly mqttUrl: string;
  readonly cloudUrl: string;
  /** Device services of the simulated cameras. */
  readonly cameraUrls: readonly string[];
  /** The daemon's control socket. */
  readonly socket: string;
  /** Starts the daemon; resolves with it and the milliseconds from exec to its line `ready`. */
  daemon(): Promise<{ running: Running; readyMs: number }>;
  /** Requests the simulated cameras have answered so far. */
  cameraRequests(): Promise<number>;
  /** Ends the cloud and the cameras, as where the line and the switch are dead. */
  silence(): Promise<void>;
  close(): Promise<void>;
}

export async function openSite(options: {
  /** Where its folder is made; by default in that for temporary files. */
  within?: string;
  /** Also the partner interface: the site is in the cloud, with a contact and a station, and is kept told of its devices. */
  partner?: boolean;
  /** Simulated cameras, all in one process of their own. */
  cameras?: number;
  /** How long each of them takes for a picture. */
  pictureMs?: number;
  /** Further members of each camera's line, as YAML. */
  camera?: string;
  /** Further members of the section `mqtt`, as YAML. */
  mqtt?: string;
  /** Further members of the section `http`, as YAML. */
  http?: string;
  /** The list of partitions as YAML; default one, p1. */
  partitions?: string;
  /** Sections `panels` and others, as YAML. */
  yaml?: string;
  /** The program to run; the sources by default. */
  program?: string;
  /** Whether it runs as the unit runs it: with its flags of Node and its environment; what bin/warm-up keeps is kept by its first run. */
  asUnit?: boolean;
}): Promise<BenchSite> {
  const folder = mkdtempSync(join(options.within ?? tmpdir(), 'siteward-bench-'));
  const open: (() => Promise<void>)[] = [];
  const launch = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const running = startProcess({ name, args, env: { CAMERA_PASSWORD: cameraPassword, ...env } });
    open.push(running.stop);
    return running;
  };
  const close = async () => {
    for (const end of open.reverse()) await end().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const keyFile = join(folder, 'event-key.pem');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const isPartner = options.partner === true;
    const seed = isPartner ? ['--seed', partnerSeed(folder)] : [];
    const client = ['--client', `bridge-1=${keyFile}`];
    const sandbox = launch('sandbox', [sources, 'sandbox', '--control', '--json', ...seed, ...client]);
    const cloudUrl = await sandbox.until((line) => member(line, 'listen'), 'start');
    const cameras =
      options.cameras === undefined || options.cameras === 0
        ? undefined
        : startCameras(launch, options.cameras, options.pictureMs ?? 0);
    const cameraUrls = (await cameras?.urls) ?? [];
    const mqttPort = await freePort();
    mkdirSync(join(folder, 'state'), { mode: 0o700 });
    const config = join(folder, 'siteward.yaml');
    writeFileSync(config, configuration({ ...options, folder, cloudUrl, keyFile, mqttPort, cameraUrls }));
    return {
      mqttUrl: `mqtt://127.0.0.1:${mqttPort}`,
      cloudUrl,
      cameraUrls,
      socket: join(folder, 'control.sock'),
      async daemon() {
        const began = performance.now();
        const { flags, environment } = options.asUnit === true ? inUnit(join(folder, 'cache')) : alone;
        const args = [...flags, options.program ?? sources, 'run', '--config', config];
        const running = launch('siteward', args, environment);
        await running.until((line) => (member(line, 'msg') === 'ready' ? true : undefined), 'start', 30_000);
        return { running, readyMs: performance.now() - began };
      },
      cameraRequests: async () => (await cameras?.requests()) ?? 0,
      async silence() {
        await Promise.all([sandbox.stop(), cameras?.stop()]);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface HowToRun {
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const alone: HowToRun = { flags: [], environment: {} };

/** How the unit runs the program, so that what is measured is what a box would see. `cache` takes the place of the one of the package. */
export function inUnit(cache: string): HowToRun {
  const text = readFileSync(join(import.meta.dirname, '..', 'systemd', 'siteward.service'), 'utf8');
  const flags = /^ExecStart=.*?\/node (.*?) \S+\.js /m.exec(text)?.[1] ?? '';
  const variables = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  const environment = Object.fromEntries(variables.map((one) => one.split('=', 2) as [string, string]));
  return { flags: flags.split(' '), environment: { ...environment, NODE_COMPILE_CACHE: cache } };
}

function startCameras(launch: (name: string, args: readonly string[]) => Running, count: number, pictureMs: number) {
  const script = join(import.meta.dirname, 'cameras.ts');
  const running = launch('cameras', [script, String(count), String(pictureMs)]);
  const urls = running.until((line) => (line.startsWith('[') ? (JSON.parse(line) as string[]) : undefined), 'start');
  const countOf = (line: string) => /^requests (\d+)$/.exec(line)?.[1];
  const requests = async () => Number(await running.ask('requests', countOf, 'requests'));
  return { urls, requests, stop: running.stop };
}

/** A dealer with the site, and a client of the partner interface whose secret lies beside it. */
function partnerSeed(folder: string): string {
  const secret = randomBytes(16).toString('hex');
  writeFileSync(join(folder, 'partner-secret'), secret, { mode: 0o600 });
  const contacts = [
    {
      external_contact_id: 'keyholder',
      first_name: 'Ada',
      last_name: 'Byron',
      phone_number: '+49 30 5550100',
      email: 'ada@acme.example',
    },
  ];
  const site = { external_site_id: 'bench', name: 'Bench', timezone: 'Europe/Berlin', contacts };
  const stations = [{ external_monitoring_station_id: 'central', name: 'Central station' }];
  const dealer = {
    external_dealer_id: 'acme',
    company_name: 'Acme',
    company_email: 'office@acme.example',
    monitoring_stations: stations,
    sites: [site],
  };
  const file = join(folder, 'seed.json');
  const clients = [{ client_id: 'partner-1', client_secret: secret }];
  writeFileSync(file, JSON.stringify({ clients, dealers: [dealer] }), { mode: 0o600 });
  return file;
}

function configuration(of: {
  folder: string;
  partner?: boolean;
  cloudUrl: string;
  keyFile: string;
  mqttPort: number;
  cameraUrls: readonly string[];
  camera?: string;
  mqtt?: string;
  http?: string;
  partitions?: string;
  yaml?: string;
}): string {
  const members = ['username: siteward, password: { env: CAMERA_PASSWORD }, partition: p1', of.camera ?? []]
    .flat()
    .join(', ');
  const cameras = of.cameraUrls.map((url, index) => `  - { id: cam${index + 1}, url: "${url}", ${members} }`);
  // The ids the sandbox gives to the first dealer and site.
  const site = of.partner === true ? 'id: "101", dealer_id: "1"' : 'id: "4711"';
  const partner = `  partner: { client_id: partner-1, client_secret: { file: ${of.folder}/partner-secret } }\n`;
  return `site:   { ${site}, external_id: bench, timezone: Europe/Berlin }
bridge: { external_id: sw-bench }
cloud:
  base_url: ${of.cloudUrl}
  auth_url: ${of.cloudUrl}
  events: { client_id: bridge-1, private_key: { file: ${of.keyFile} } }
${of.partner === true ? partner : ''}mqtt:  { broker: embedded, listen: 127.0.0.1:${of.mqttPort}${of.mqtt ?? ''} }
http:  { control_socket: ${of.folder}/control.sock${of.http ?? ''} }
store: { dir: ${of.folder}/state }
partitions: ${of.partitions ?? '[ { id: p1, name: House } ]'}
${cameras.length === 0 ? '' : `cameras:\n${cameras.join('\n')}\n`}${of.yaml ?? ''}`;
}

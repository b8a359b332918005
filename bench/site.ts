import { generateKeyPairSync } from 'node:crypto';
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
  close(): Promise<void>;
}

export async function openSite(options: {
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
  const folder = mkdtempSync(join(tmpdir(), 'siteward-bench-'));
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
    const sandbox = launch('sandbox', [sources, 'sandbox', '--control', '--json', '--client', `bridge-1=${keyFile}`]);
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
  return { urls, requests: async () => Number(await running.ask('requests', countOf, 'requests')) };
}

function configuration(of: {
  folder: string;
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
  return `site:   { id: "4711", external_id: bench, timezone: Europe/Berlin }
bridge: { external_id: sw-bench }
cloud:
  base_url: ${of.cloudUrl}
  auth_url: ${of.cloudUrl}
  events: { client_id: bridge-1, private_key: { file: ${of.keyFile} } }
mqtt:  { broker: embedded, listen: 127.0.0.1:${of.mqttPort}${of.mqtt ?? ''} }
http:  { control_socket: ${of.folder}/control.sock${of.http ?? ''} }
store: { dir: ${of.folder}/state }
partitions: ${of.partitions ?? '[ { id: p1, name: House } ]'}
${cameras.length === 0 ? '' : `cameras:\n${cameras.join('\n')}\n`}${of.yaml ?? ''}`;
}

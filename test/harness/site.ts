import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFailed } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import { type Line, openLine, type Plant } from '#sandbox/demo/line.ts';
import { eventually, freePort, member, type Running, startProcess } from '#sandbox/demo/processes.ts';
import { certificate } from './certificate.ts';
import { type CloudProcess, startCloudProcess } from './cloud.ts';
import { askSocket } from './control.ts';
import { type Lan, watchLan } from './lan.ts';
import { type BrokerProcess, startMosquitto } from './mosquitto.ts';
import { program } from './program.ts';

/** The code of the one user of the site, `anna`: so long that no time, number or id in a text has its digits by chance. */
export const code = '73914628';
export const cameraPassword = 'harness-camera-password';
const root = join(import.meta.dirname, '..', '..');
export const main = program;
const simulator = (name: string) => join(root, 'src', 'sandbox', name, 'main.ts');

export interface Addresses {
  /** Device service addresses by camera id. */
  readonly cameras: Readonly<Record<string, string>>;
  readonly folder: string;
}

export interface SiteOptions {
  /** Default `mosquitto`. */
  readonly broker?: 'mosquitto' | 'embedded';
  /** Ids of the simulated cameras; `camera(id, address)` writes their line of configuration. */
  readonly cameras?: readonly string[];
  /** The sections `partitions`, `panels`, `cameras` and whatever else differs from the defaults, as YAML. */
  readonly yaml: (at: Addresses) => string;
  /** Keys of the section `cloud` beside the addresses and the client, indented by two, as YAML. */
  readonly cloudYaml?: string;
  /** Members of the section `site` beside `external_id` and `timezone`; default an id. */
  readonly siteYaml?: string;
  /** Members of the section `bridge`; default an external id. */
  readonly bridgeYaml?: string;
  /** Of another bridge: this one has the same cloud and event client, with a line of its own. Closed before it. */
  readonly beside?: Pick<Site, 'cloud' | 'folder'>;
  /** Done when the cloud runs and nothing speaks to it yet. */
  readonly prepare?: (cloud: CloudProcess) => Promise<unknown>;
  /** Further members of the section `arming`. */
  readonly armingYaml?: string;
  /** Further members of the section `http`, such as `, listen: 127.0.0.1:0`. */
  readonly httpYaml?: string;
  /** Further members of the section `mqtt`. */
  readonly mqttYaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Script of the daemon; default the sources. */
  readonly program?: string;
  /** What the daemon is started under, see `startProcess`; it is then given more time to start. */
  readonly under?: readonly string[];
  /** Of the daemon's Node. */
  readonly nodeFlags?: readonly string[];
  /** Default a folder of the site's own. */
  readonly stateDir?: string;
  /** The line to the cloud speaks TLS: only then does siteward believe what time it is there. */
  readonly tls?: boolean;
  /** A defect of that line. */
  readonly plant?: Plant;
  /** Told each line of the daemon's log. */
  readonly onLog?: (line: string) => void;
}

/** The daemon as a process that can be ended and started again over the same state. */
export interface Daemon {
  /** SIGKILL, as a power cut. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL after five seconds. */
  stop(): Promise<void>;
  /** Ends it in order if it runs, starts it, and resolves when it is ready and has tried the broker once. `env` is for this life only. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves when it has ended by itself. */
  ended(timeoutMs: number): Promise<void>;
  /** Of its last life; see `Running`. */
  exitCode(): number | null | undefined;
  /** Sends SIGHUP. */
  reload(): void;
  /** Its last 200 log lines. */
  lines(): readonly string[];
  readonly pid: number;
}

/** A whole site of processes in a folder of its own. */
export interface Site {
  readonly folder: string;
  readonly config: string;
  readonly socket: string;
  readonly stateDir: string;
  /** Root of the site's MQTT topics. */
  readonly root: string;
  readonly mqttUrl: string;
  readonly daemon: Daemon;
  /** Undefined with the embedded broker. */
  readonly broker: BrokerProcess | undefined;
  /** Between the daemon and the cloud; can be cut. */
  readonly line: Line;
  readonly cloud: CloudProcess;
  readonly cameras: Readonly<Record<string, Running>>;
  readonly lan: Lan;
  /** Starts a panel simulator (`src/sandbox/panel/main.ts`) on the site's broker, without `--url`. */
  panel(name: string, args: readonly string[]): Promise<Running>;
  /** Another LAN client. */
  watch(clientId?: string): Promise<Lan>;
  /** What the daemon keeps of its events, oldest first, as `siteward events --json` shows it. */
  history(): Promise<readonly EventEntry[]>;
  /** A path of the control socket as JSON. */
  api(path: string): Promise<unknown>;
  /** Ends everything, also what failed to start, and removes the folder. Never throws. */
  close(): Promise<void>;
}

export async function startSite(options: SiteOptions): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-site-'));
  const open: (() => Promise<unknown>)[] = [];
  const pids: (() => number | undefined)[] = [];
  const onExit = () => killAll(pids.map((pid) => pid()));
  process.once('exit', onExit);
  const close = async () => {
    for (const end of open.splice(0).reverse()) await end().catch(() => undefined);
    process.off('exit', onExit);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const site = await build(options, { folder, open, pids, close });
    tellIfFailed(site);
    return site;
  } catch (error) {
    await close();
    throw error;
  }
}

/** A site made for a whole file, or a group, of tests has no test of its own. */
function tellIfFailed(site: Site): void {
  if (expect.getState().currentTestName === undefined) return;
  try {
    onTestFailed(() => {
      process.stderr.write(`The daemon's last log lines:\n${site.daemon.lines().slice(-60).join('\n')}\n`);
    });
  } catch {
    // Made before a group that is not the first one of its file.
  }
}

interface Ends {
  readonly folder: string;
  /** What to end, in the order of its start. */
  readonly open: (() => Promise<unknown>)[];
  /** For a test process that dies without its clean-up. */
  readonly pids: (() => number | undefined)[];
  readonly close: () => Promise<void>;
}

async function build(options: SiteOptions, { folder, open, pids, close }: Ends): Promise<Site> {
  const launch = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const started = startProcess({ name, args, env });
    pids.push(() => started.pid);
    open.push(started.stop);
    return started;
  };
  const keyFile = join(options.beside?.folder ?? folder, 'event-key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  if (options.beside === undefined)
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const mqttPort = await freePort();
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const broker = options.broker === 'embedded' ? undefined : await startMosquitto({ folder, port: mqttPort });
  if (broker !== undefined) open.push(broker.stop);
  pids.push(() => broker?.pid);
  const tls = options.tls === true ? certificate(folder) : undefined;
  const line = await openLine({
    ...(tls !== undefined && { tls }),
    ...(options.plant !== undefined && { plant: options.plant }),
  });
  open.push(line.close);
  const cloud =
    options.beside?.cloud ??
    (await startCloudProcess({ main, port: await freePort(), keyFile, clientId: 'bridge-1', line }));
  if (options.beside === undefined) {
    open.push(cloud.stop);
    pids.push(() => cloud.pid);
  } else await line.connect(cloud.url);
  await options.prepare?.(cloud);

  const cameraEnv = { CAMERA_PASSWORD: cameraPassword };
  const cameras: Record<string, Running> = {};
  const addresses: Record<string, string> = {};
  for (const id of options.cameras ?? []) {
    const camera = launch(id, [simulator('cameras'), '--id', id, '--password-env', 'CAMERA_PASSWORD'], cameraEnv);
    cameras[id] = camera;
    addresses[id] = await camera.until((text) => member(text, 'device_url'), 'start');
  }

  const socket = join(folder, 'control.sock');
  const config = join(folder, 'siteward.yaml');
  const stateDir = options.stateDir ?? join(folder, 'state');
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeFileSync(
    config,
    `site:   { ${options.siteYaml ?? 'id: "4711"'}, external_id: proof, timezone: Europe/Berlin }
bridge: { ${options.bridgeYaml ?? 'external_id: sw-proof'} }
cloud:
  base_url: ${line.url}
  auth_url: ${line.url}
  events: { client_id: bridge-1, private_key: { file: ${keyFile} } }
${options.cloudYaml ?? ''}
mqtt:   { broker: ${broker === undefined ? 'embedded' : mqttUrl}${broker === undefined ? `, listen: 127.0.0.1:${mqttPort}` : ''}${options.mqttYaml ?? ''} }
http:   { control_socket: ${socket}${options.httpYaml ?? ''} }
store:  { dir: ${stateDir} }
users:  [ { id: anna, name: Anna, code: { env: HARNESS_CODE } } ]
# The stories make the same zone alarm many times, and count every alarm.
arming: { swinger_trips: 0${options.armingYaml ?? ''} }
${options.yaml({ cameras: addresses, folder })}
`,
  );
  const siteward = options.program ?? main;
  const daemon = await startDaemon({
    program: siteward,
    config,
    env: {
      ...cameraEnv,
      ...(tls !== undefined && { NODE_EXTRA_CA_CERTS: tls.file }),
      HARNESS_CODE: code,
      ...options.env,
    },
    ...(options.onLog !== undefined && { onLine: options.onLog }),
    ...(options.under !== undefined && { under: options.under }),
    ...(options.nodeFlags !== undefined && { nodeFlags: options.nodeFlags }),
  });
  open.push(daemon.stop);
  pids.push(() => daemon.pid);
  const topics = 'siteward/1/proof';
  const watch = async (clientId?: string) => {
    const lan = await watchLan({ url: mqttUrl, root: topics, ...(clientId !== undefined && { clientId }) });
    open.push(lan.close);
    return lan;
  };

  return {
    ...{ folder, config, socket, stateDir, root: topics, mqttUrl, daemon, broker, line, cloud, cameras, close, watch },
    lan: await watch(),
    async panel(name, args) {
      const panel = launch(name, [simulator('panel'), '--url', mqttUrl, ...args]);
      await panel.until((text) => member(text, 'kind'), 'connect');
      return panel;
    },
    history: () => wholeHistory(socket),
    api: (path) => readApi(socket, path),
  };
}

/** A line of the section `cameras`. `more` is further keys, such as `zone: "21", partition: p1`. */
export function camera(id: string, url: string | undefined, more = ''): string {
  const login = 'username: siteward, password: { env: CAMERA_PASSWORD }';
  return `  - { id: ${id}, url: "${url ?? ''}", ${login}${more === '' ? '' : `, ${more}`} }`;
}

async function startDaemon(options: {
  program: string;
  config: string;
  env: Readonly<Record<string, string>>;
  onLine?: (line: string) => void;
  under?: readonly string[];
  nodeFlags?: readonly string[];
}): Promise<Daemon> {
  const startMs = options.under === undefined ? 30_000 : 180_000;
  let running: Running;
  async function run(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const args = [...(options.nodeFlags ?? []), options.program, 'run', '--config', options.config];
    running = startProcess({ ...options, name: 'siteward', args, env: { ...options.env, ...more } });
    await running.until((text) => (member(text, 'msg') === 'ready' ? true : undefined), 'start', startMs);
    // Ready waits for no broker: a command of before is heard by nobody. Where there is none, or the daemon ends meanwhile, nobody waits for it.
    await running.until(triedBroker, 'its first try at the broker', 5000).catch(() => undefined);
  }
  await run();
  return {
    kill: () => running.kill(),
    stop: () => running.stop(),
    async restart(env) {
      await running.stop();
      await run(env);
    },
    async ended(timeoutMs) {
      await eventually('the end of the daemon', () => (isRunning(running.pid) ? undefined : true), { timeoutMs });
    },
    exitCode: () => running.exitCode(),
    reload: () => void process.kill(running.pid, 'SIGHUP'),
    lines: () => running.lines(),
    get pid() {
      return running.pid;
    },
  };
}

const triedBroker = (text: string) =>
  ['MQTT connected', 'no MQTT connection'].includes(String(member(text, 'msg'))) ? true : undefined;

async function readApi(socket: string, path: string): Promise<unknown> {
  const { status, body, text } = await askSocket(socket, 'GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`);
  return body;
}

async function wholeHistory(socket: string): Promise<readonly EventEntry[]> {
  const found: EventEntry[] = [];
  for (let before: number | null | undefined; before !== null; ) {
    const query: string = before === undefined ? '' : `&before=${before}`;
    const page = (await readApi(socket, `/api/v1/events?limit=200${query}`)) as {
      items: EventEntry[];
      next_before: number | null;
    };
    found.push(...page.items);
    before = page.next_before;
  }
  return found.reverse();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function killAll(pids: readonly (number | undefined)[]): void {
  for (const pid of pids) {
    try {
      if (pid !== undefined && pid > 0) process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
}

/** Adds to an error what the daemon says of itself, for whoever reads the failed test. */
export async function withStatus(site: Site, error: unknown): Promise<Error> {
  const status = await site.api('/api/v1/status').catch((reason: unknown) => String(reason));
  const log = site.daemon.lines().slice(-40).join('\n');
  return new Error(`${String(error)}\nstatus: ${JSON.stringify(status)}\nlog:\n${log}`, { cause: error });
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { sleep } from '#lib/wait.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { memoryOf } from './machine.ts';
import { inUnit } from './site.ts';

const rounds = 3;
const settleMs = 15_000;
const startMs = 60_000;
const libraries = ['node-red@5.0.7', 'homebridge@1.11.2'];

interface Neighbour {
  readonly name: string;
  readonly command: readonly string[];
  /** The line by which it says that it can be used. */
  readonly ready: RegExp;
}

/** What else runs in such a cupboard: how long it takes to start, and what it weighs while nothing happens. */
export const neighbours: Measurement = {
  name: 'neighbours',
  title: 'Start and memory beside others',
  about: `Each as it comes, with its first configuration and nothing to do, in a network namespace of its own that has a loopback and nothing else: from
exec to the line by which it says that it runs (median of ${rounds}, in turns, after one that is not counted), and its resident memory ${settleMs / 1000} s later. The
programs of npm run on the Node of this repository; mosquitto and nats-server are Debian's. siteward is the bundle with the flags and the environment of the unit and the
configuration of the first day; each does something else, so that no figure is better for being smaller. zigbee2mqtt is not among them: it runs with a radio only.`,
  async run(tell) {
    if (spawnSync('unshare', ['-n', 'true']).status !== 0)
      return [{ name: 'skipped, no network namespaces here', value: 0, unit: '' }];
    const folder = mkdtempSync(join(tmpdir(), 'siteward-neighbours-'));
    try {
      tell('fetching');
      const hasRegistry = fetched(folder);
      return await withBundle((bundle) => measured(among(folder, bundle, hasRegistry), tell));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measured(chosen: readonly Neighbour[], tell: (progress: string) => void): Promise<Figure[]> {
  const took = chosen.map((): number[] => []);
  const memory = chosen.map(() => ({ rss: Number.NaN, anonymous: Number.NaN }));
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, neighbour] of chosen.entries()) {
      tell(`${neighbour.name}, ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`);
      const { child, readyMs } = await started(neighbour);
      try {
        if (round > 0) took[index]?.push(readyMs);
        if (round < rounds) continue;
        await sleep(settleMs, new AbortController().signal);
        // unshare and the shell become the program: its number is that of the child.
        memory[index] = memoryOf(child.pid ?? 0);
      } finally {
        await ended(child);
      }
    }
  const ours = { ms: median(took[0] ?? []), rss: memory[0]?.rss ?? Number.NaN };
  const ratio = (value: number, of: number) => (value === of ? {} : { ratio: rounded(value / of) });
  return chosen.flatMap(({ name }, index): Figure[] => {
    const ms = median(took[index] ?? []);
    const { rss = Number.NaN, anonymous = Number.NaN } = memory[index] ?? {};
    return [
      { name: `${name}, exec to running`, value: rounded(ms), unit: 'ms', ...ratio(ms, ours.ms) },
      { name: `${name}, RSS`, value: rounded(rss), unit: 'MiB', ...ratio(rss, ours.rss) },
      { name: `${name}, RssAnon`, value: rounded(anonymous), unit: 'MiB' },
    ];
  });
}

function among(folder: string, bundle: string, hasRegistry: boolean): Neighbour[] {
  const of = (name: string) => {
    const own = join(folder, name);
    mkdirSync(own);
    return own;
  };
  const node = process.execPath;
  const bin = (name: string) => join(folder, 'node_modules', '.bin', name);
  const write = (path: string, text: string) => {
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const state = of('siteward');
  const config = write(
    join(state, 'siteward.yaml'),
    `site: { id: first-day, external_id: first-day, timezone: Etc/UTC }
bridge: { external_id: first-day }
mqtt: { broker: embedded, listen: 127.0.0.1:1883 }
http: { control_socket: ${state}/control.sock }
store: { dir: ${state}/state }
partitions: [ { id: p1, name: First } ]
`,
  );
  mkdirSync(join(state, 'state'), { mode: 0o700 });
  const broker = write(
    join(of('mosquitto'), 'mosquitto.conf'),
    'listener 1883 127.0.0.1\nallow_anonymous true\nuser root\n',
  );
  const { flags, environment } = inUnit(join(state, 'cache'));
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const siteward = ['env', ...variables, node, ...flags, bundle, 'run', '--config', config];
  return [
    { name: 'siteward', command: siteward, ready: /"msg":"ready"/ },
    { name: 'mosquitto', command: ['mosquitto', '-c', broker, '-v'], ready: / running$/ },
    { name: 'nats-server', command: ['nats-server', '-a', '127.0.0.1', '-p', '4222'], ready: /Server is ready/ },
    {
      name: 'node-red',
      command: [node, bin('node-red'), '--userDir', of('red'), '--port', '1880'],
      ready: /Started flows/,
    },
    { name: 'homebridge', command: [node, bin('homebridge'), '-I', '-U', of('home')], ready: /is running on port/ },
  ].filter(({ command: [program = '', script = ''] }) =>
    program === node ? script.startsWith('-') || (hasRegistry && existsSync(script)) : isInstalled(program),
  );
}

const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** In a folder of their own; never among the dependencies. */
function fetched(folder: string): boolean {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--fetch-retries=0'];
  return spawnSync('npm', ['install', ...flags, ...libraries], { cwd: folder, timeout: 180_000 }).status === 0;
}

async function started({ name, command, ready }: Neighbour): Promise<{ child: ChildProcess; readyMs: number }> {
  const began = performance.now();
  const inside = 'ip link set lo up && exec "$@"';
  const child = spawn('unshare', ['-n', 'sh', '-c', inside, 'sh', ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (why: string) => reject(new Error(`${name} ${why}\n${lines.slice(-10).join('\n')}`));
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (ready.test(line)) resolve(performance.now() - began);
    });
  child.once('error', (error) => fail(error.message));
  child.once('exit', () => fail('ended'));
  const timer = setTimeout(() => fail(`did not say that it runs within ${startMs} ms`), startMs);
  try {
    return { child, readyMs: await promise };
  } catch (error) {
    await ended(child);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(timer);
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '#lib/wait.ts';

/** What a command in a machine has said, and how it ended. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface MachineOptions {
  /** A folder of its own; it is made, and gone with `remove`. */
  readonly folder: string;
  /** The unpacked system, which it only reads. */
  readonly lower: string;
  /** To be seen inside as /packages. */
  readonly packages: string;
}

const patienceMs = 60_000;
const everyMs = 50;

/** Throws when it does not come true in time. */
async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs);
  while (!(await isTrue())) {
    if (signal.aborted) throw new Error(`${what}: not within ${patienceMs / 1000} s`);
    await sleep(everyMs, signal);
  }
}

/** A Debian of its own with systemd as its first process, without any network but the loopback. Needs root. */
export class Machine {
  readonly #options: MachineOptions;
  #keeper: ChildProcess | undefined;
  #leader: number | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    const { folder } = options;
    for (const name of ['up/etc', 'work', 'root']) mkdirSync(join(folder, name), { recursive: true });
    // Without one systemd asks questions at its first start.
    const id = readFileSync('/proc/sys/kernel/random/uuid', 'utf8').replaceAll('-', '');
    writeFileSync(join(folder, 'up/etc/machine-id'), id);
    writeFileSync(join(folder, 'up/etc/hostname'), 'box\n');
    writeFileSync(join(folder, 'up/etc/hosts'), '127.0.0.1 localhost box\n');
  }

  /** Switches it on and waits until its systemd has started everything. */
  async boot(): Promise<void> {
    const { folder, lower, packages } = this.#options;
    const log = createWriteStream(join(folder, 'console.log'), { flags: 'a' });
    const keeper = spawn(
      'setsid',
      ['unshare', '--mount', 'sh', join(import.meta.dirname, 'keeper.sh'), folder, lower, packages],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    keeper.stdout.pipe(log);
    keeper.stderr.pipe(log);
    this.#keeper = keeper;
    await this.#started(undefined);
  }

  /** Runs a command in it, as root. */
  async run(...command: readonly string[]): Promise<Said> {
    return this.pipe('', ...command);
  }

  /** The same with a text on its standard input. */
  async pipe(input: string, ...command: readonly string[]): Promise<Said> {
    const leader = this.#leader;
    if (leader === undefined) throw new Error('the machine is off');
    return new Promise((resolve) => {
      const child = execFile(
        'nsenter',
        ['-t', String(leader), '-a', '--wdns=/', '--', ...command],
        {
          env: {
            PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
            HOME: '/root',
            LANG: 'C.UTF-8',
            DEBIAN_FRONTEND: 'noninteractive',
          },
          timeout: 120_000,
          maxBuffer: 16 * 1024 * 1024,
        },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
      );
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
  }

  /** The same by a shell; throws where it fails. Returns what it said, without the end of the last line. */
  async sh(script: string): Promise<string> {
    const { code, out, err } = await this.run('sh', '-c', script);
    if (code !== 0) throw new Error(`${script}: ended with ${code}: ${out}${err}`);
    return out.trimEnd();
  }

  async write(path: string, text: string): Promise<void> {
    const { code, err } = await this.pipe(text, 'tee', path);
    if (code !== 0) throw new Error(`${path} cannot be written: ${err}`);
  }

  async reboot(): Promise<void> {
    const before = this.#leader;
    await this.run('systemctl', 'reboot');
    await this.#started(before);
  }

  /** The power is cut: every process ends at once. */
  async cut(): Promise<void> {
    const keeper = this.#keeper;
    if (keeper === undefined || this.#leader === undefined) return;
    const ended = keeper.exitCode === null ? once(keeper, 'exit') : undefined;
    try {
      process.kill(this.#leader, 'SIGKILL');
    } catch {}
    await ended;
    this.#leader = undefined;
    this.#keeper = undefined;
  }

  async remove(): Promise<void> {
    await this.cut();
    const { folder } = this.#options;
    await until(() => isGone(folder), 'the end of its processes');
    rmSync(folder, { recursive: true, force: true });
  }

  async #started(before: number | undefined): Promise<void> {
    await until(async () => {
      if (this.#keeper?.exitCode !== null) throw new Error(`the machine ended: ${this.console()}`);
      const leader = this.#find();
      if (leader === undefined || leader === before) return false;
      this.#leader = leader;
      return (await this.run('test', '-S', '/run/systemd/private')).code === 0;
    }, 'the start of its systemd');
    await this.run('systemctl', 'is-system-running', '--wait');
  }

  console(): string {
    return readFileSync(join(this.#options.folder, 'console.log'), 'utf8').slice(-4000);
  }

  /** The first process of the container, as this machine numbers it. */
  #find(): number | undefined {
    try {
      const nspawn = readFileSync(join(this.#options.folder, 'nspawn'), 'utf8').trim();
      const [child] = readFileSync(`/proc/${nspawn}/task/${nspawn}/children`, 'utf8').trim().split(' ');
      return child === undefined || child === '' ? undefined : Number(child);
    } catch {
      return undefined;
    }
  }
}

/** Its control groups can be removed once no process is left in them. */
function isGone(folder: string): boolean {
  const name = folder.split('/').at(-1) ?? '';
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const groups = mounts.flatMap((line) => {
    const [fields = '', more = ''] = line.split(' - ');
    return /^cgroup/.test(more) ? [fields.split(' ')[4] ?? ''] : [];
  });
  return groups.every((group) => removeGroup(join(group, name)));
}

function removeGroup(path: string): boolean {
  try {
    for (const entry of groupsBelow(path).reverse()) rmdirSync(entry);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

/** A control group and those in it, from the outside in. */
const groupsBelow = (path: string): string[] => [
  path,
  ...readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => groupsBelow(join(path, entry.name))),
];

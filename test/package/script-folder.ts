import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

const scripts = join(import.meta.dirname, '../../tools/package');

/** A box without root: folders in which a script of the package runs, and programs that stand in for the system's. */
export interface ScriptFolder {
  readonly dir: string;
  /** Found before the system's. */
  program(name: string, text: string): void;
  /** The site is armed. */
  busy(): void;
  /** What the program that is here says of its state folder, which is made. */
  stateIn(name: string): void;
  /** The script as it is shipped, with the folders of this test. */
  run(script: string, args: readonly string[], env?: object): { status: number | null; said: string };
  /** What was asked of systemd. */
  did(): readonly string[];
  remove(): void;
}

/** One of its own for each test of the file. */
export function ownFolder(): Omit<ScriptFolder, 'remove'> {
  let folder: ScriptFolder;
  beforeEach(() => {
    folder = scriptFolder();
  });
  afterEach(() => folder.remove());
  return {
    get dir() {
      return folder.dir;
    },
    program: (name, text) => folder.program(name, text),
    busy: () => folder.busy(),
    stateIn: (name) => folder.stateIn(name),
    run: (script, args, env) => folder.run(script, args, env),
    did: () => folder.did(),
  };
}

function scriptFolder(): ScriptFolder {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-scripts-'));

  function program(name: string, text: string): void {
    const path = join(dir, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
  }
  for (const name of ['bin', 'run', 'state', 'backups']) mkdirSync(join(dir, name));
  program('systemctl', `echo "$1" >> ${dir}/did`);
  program('deb-systemd-invoke', `echo "$1" >> ${dir}/did`);
  program('siteward', 'exit 0');
  // Without the user siteward.
  program('install', 'for last; do :; done; mkdir -p "$last"');
  return {
    dir,
    program,
    busy: () => program('siteward', 'echo "p1 (Shop) is armed away"; exit 65'),
    stateIn(name) {
      mkdirSync(join(dir, name));
      program('siteward', `echo '{"may_stop":true,"because":[],"state_dir":"${join(dir, name)}"}'`);
    },
    run(script, args, env = {}) {
      const path = join(dir, 'script');
      const text = readFileSync(join(scripts, script), 'utf8')
        .replaceAll('/run/systemd/system', join(dir, 'run'))
        .replaceAll('/var/lib/siteward', join(dir, 'state'))
        .replaceAll('/var/backups/siteward', join(dir, 'backups'))
        .replaceAll('/etc/siteward', join(dir, 'etc'))
        .replaceAll('/etc/systemd/system/siteward.service.d', join(dir, 'drop-ins'))
        .replaceAll('/usr/lib/systemd/system/siteward.service', join(dir, 'unit'))
        .replaceAll('/usr/lib/siteward', join(dir, 'lib'))
        .replaceAll('@KILOBYTES@', '1')
        .replaceAll('@VERSION@', '0.1.0');
      writeFileSync(path, text);
      const PATH = `${join(dir, 'bin')}:${process.env.PATH}`;
      const { status, stdout, stderr } = spawnSync('sh', [path, ...args], { encoding: 'utf8', env: { PATH, ...env } });
      return { status, said: stdout + stderr };
    },
    did: () => (existsSync(join(dir, 'did')) ? readFileSync(join(dir, 'did'), 'utf8').trim().split('\n') : []),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

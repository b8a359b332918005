import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../tools/package');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-scripts-'));
  for (const name of ['bin', 'run', 'state', 'backups']) mkdirSync(join(dir, name));
  program('systemctl', `echo "$1" >> ${dir}/did`);
  program('deb-systemd-invoke', `echo "$1" >> ${dir}/did`);
  program('siteward', 'exit 0');
  // Without the user siteward.
  program('install', 'for last; do :; done; mkdir -p "$last"');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Found before the system's. */
function program(name: string, text: string): void {
  const path = join(dir, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

const busy = () => program('siteward', 'echo "p1 (Shop) is armed away"; exit 65');

/** The script as it is shipped, with the folders of this test. */
function run(script: string, args: readonly string[], env = {}) {
  const path = join(dir, 'script');
  const text = readFileSync(join(folder, script), 'utf8')
    .replaceAll('/run/systemd/system', join(dir, 'run'))
    .replaceAll('/var/lib/siteward', join(dir, 'state'))
    .replaceAll('/var/backups/siteward', join(dir, 'backups'));
  writeFileSync(path, text);
  const PATH = `${join(dir, 'bin')}:${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync('sh', [path, ...args], { encoding: 'utf8', env: { PATH, ...env } });
  return { status, said: stdout + stderr };
}

/** What was asked of systemd. */
const did = () => (existsSync(join(dir, 'did')) ? readFileSync(join(dir, 'did'), 'utf8').trim().split('\n') : []);

describe('prerm', () => {
  test.each(['upgrade', 'failed-upgrade'])(
    'stops the daemon for %s, so that preinst copies no database in use',
    (how) => {
      expect(run('debian/prerm', [how, '0.1.0']).status).toBe(0);
      expect(did()).toEqual(['stop']);
    },
  );

  test.each(['upgrade', 'failed-upgrade'])('stops nothing for %s while the site is armed', (how) => {
    busy();
    const { status, said } = run('debian/prerm', [how, '0.1.0']);
    expect(status).not.toBe(0);
    expect(said).toContain('p1 (Shop) is armed away');
    expect(did()).toEqual([]);
    expect(run('debian/prerm', [how, '0.1.0'], { SITEWARD_UPGRADE_ANYWAY: '1' }).status).toBe(0);
    expect(did()).toEqual(['stop']);
  });
});

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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

/** What the program that is here says of its state folder. */
const stateIn = (name: string) => {
  mkdirSync(join(dir, name));
  program('siteward', `echo '{"may_stop":true,"because":[],"state_dir":"${join(dir, name)}"}'`);
};

describe('preinst', () => {
  const upgrade = () => run('debian/preinst', ['upgrade', '0.0.9']);
  beforeEach(() => program('df', 'echo head; echo "x 9 9 9999999 1% /"'));

  test('keeps the databases of the version before', () => {
    writeFileSync(join(dir, 'state/site.db'), 'site');
    writeFileSync(join(dir, 'state/bulk.db'), 'bulk');
    expect(upgrade().status).toBe(0);
    expect(readFileSync(join(dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
    expect(readFileSync(join(dir, 'backups/0.0.9/bulk.db'), 'utf8')).toBe('bulk');
  });

  test('keeps no file of root to which a link among them leads', () => {
    writeFileSync(join(dir, 'of-root'), 'secret');
    writeFileSync(join(dir, 'state/site.db'), 'site');
    symlinkSync(join(dir, 'of-root'), join(dir, 'state/site.db-wal'));
    expect(upgrade().status).toBe(0);
    expect(lstatSync(join(dir, 'backups/0.0.9/site.db-wal')).isSymbolicLink()).toBe(true);
  });

  test('keeps those of the state folder that the configuration names', () => {
    stateIn('other');
    writeFileSync(join(dir, 'state/site.db'), 'of nobody');
    writeFileSync(join(dir, 'other/site.db'), 'site');
    expect(upgrade().status).toBe(0);
    expect(readFileSync(join(dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
  });

  test('says where it looked and found none', () => {
    stateIn('other');
    expect(upgrade()).toMatchObject({ status: 0, said: expect.stringContaining(`no database in ${dir}/other`) });
    expect(readdirSync(join(dir, 'backups'))).toEqual([]);
  });

  test('keeps what a package that was removed has left, too', () => {
    writeFileSync(join(dir, 'state/site.db'), 'site');
    expect(run('debian/preinst', ['install']).status).toBe(0);
    expect(readdirSync(join(dir, 'backups'))).toEqual([]);
    expect(run('debian/preinst', ['install', '0.0.9']).status).toBe(0);
    expect(readFileSync(join(dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
  });

  describe('where no prerm was asked and siteward runs', () => {
    beforeEach(() => {
      program('systemctl', 'echo active');
      writeFileSync(join(dir, 'state/site.db'), 'site');
    });

    test('stops it before it copies', () => {
      program('cp', `echo copy >> ${dir}/did; exec /bin/cp "$@"`);
      expect(upgrade().status).toBe(0);
      expect(did()).toEqual(['stop', 'copy']);
    });

    test('does nothing while the site is armed, unless it is told to', () => {
      busy();
      const { status, said } = upgrade();
      expect(status).not.toBe(0);
      expect(said).toContain('p1 (Shop) is armed away');
      expect(did()).toEqual([]);
      expect(readdirSync(join(dir, 'backups'))).toEqual([]);
      expect(run('debian/preinst', ['upgrade', '0.0.9'], { SITEWARD_UPGRADE_ANYWAY: '1' }).status).toBe(0);
      expect(did()).toEqual(['stop']);
    });

    test('starts it again where there is no room', () => {
      program('df', 'echo head; case "$2" in */backups) echo "x 9 9 100 1% /" ;; *) echo "x 9 9 9999999 1% /" ;; esac');
      const { status, said } = upgrade();
      expect(status).not.toBe(0);
      expect(said).toContain('there is no room');
      expect(did()).toEqual(['stop', 'start']);
    });
  });

  test('stops and starts nothing where siteward does not run', () => {
    program('systemctl', 'echo inactive; exit 3');
    writeFileSync(join(dir, 'state/site.db'), 'site');
    expect(upgrade().status).toBe(0);
    program('df', 'echo head; echo "x 9 9 100 1% /"');
    expect(upgrade().status).not.toBe(0);
    expect(did()).toEqual([]);
  });
});

describe('postrm purge', () => {
  const purge = () => run('debian/postrm', ['purge']);
  beforeEach(() => {
    for (const name of ['getent', 'userdel', 'groupdel', 'deb-systemd-helper']) program(name, 'exit 1');
    mkdirSync(join(dir, 'etc'));
    mkdirSync(join(dir, 'state/tls'));
    writeFileSync(join(dir, 'state/tls/key'), 'secret');
    writeFileSync(join(dir, 'state/.hidden'), 'secret');
  });

  test('takes configuration, data and backups away', () => {
    expect(purge().status).toBe(0);
    for (const name of ['etc', 'state', 'backups']) expect(existsSync(join(dir, name))).toBe(false);
  });

  test('empties a folder that is a mount point, which cannot be removed', () => {
    program('mountpoint', 'case "$2" in */state) exit 0 ;; *) exit 32 ;; esac');
    mkdirSync(join(dir, 'state/lost+found'));
    const { status, said } = purge();
    expect(status).toBe(0);
    expect(said).toContain(`${dir}/state is a mount point`);
    expect(readdirSync(join(dir, 'state'))).toEqual(['lost+found']);
    expect(existsSync(join(dir, 'etc'))).toBe(false);
  });
});

describe('postrm purge where the folder is a link to another disk', () => {
  const linked = () => join(dir, 'disk/data');
  const purge = () => run('debian/postrm', ['purge']);
  beforeEach(() => {
    for (const name of ['getent', 'userdel', 'groupdel', 'deb-systemd-helper']) program(name, 'exit 1');
    rmSync(join(dir, 'state'), { recursive: true });
    mkdirSync(linked(), { recursive: true });
    writeFileSync(join(dir, 'disk/data/key'), 'secret');
    writeFileSync(join(dir, 'disk/other'), 'of somebody');
    symlinkSync(linked(), join(dir, 'state'));
    program('stat', '[ "$*" = "-c %U $3" ] && echo siteward');
  });

  test('takes what is in it away, and nothing beside it', () => {
    const { status, said } = purge();
    expect(status).toBe(0);
    expect(said).toContain(`${dir}/state was a link to ${linked()}: what was in it is gone`);
    expect(readdirSync(join(dir, 'disk'))).toEqual(['other']);
    expect(readdirSync(dir)).not.toContain('state');
  });

  test('empties it where the other disk is mounted right there', () => {
    program('mountpoint', `[ "$2" = ${linked()} ]`);
    expect(purge().status).toBe(0);
    expect(readdirSync(linked())).toEqual([]);
  });

  test('leaves a folder that is not of siteward alone, and says so', () => {
    program('stat', 'echo root');
    const { status, said } = purge();
    expect(status).toBe(0);
    expect(said).toContain(`it STAYS with all that is in it`);
    expect(said).toContain(linked());
    expect(readdirSync(linked())).toEqual(['key']);
  });

  test('is done where it leads nowhere', () => {
    rmSync(linked(), { recursive: true });
    expect(purge().status).toBe(0);
    expect(readdirSync(dir)).not.toContain('state');
  });
});

describe('warm-up', () => {
  test('asks the LAN API once and ends the daemon by one signal, that it keeps what the program was made into', () => {
    for (const name of ['chown', 'setpriv'])
      program(
        name,
        'case $0 in *chown) exit ;; esac; while case $1 in --*) : ;; *) false ;; esac; do shift; done; exec "$@"',
      );
    mkdirSync(join(dir, 'lib'));
    // A daemon with a process of its own, which is told nothing where only the daemon is.
    program(
      'cli.js',
      `[ "$1" != status ] || { grep -q "control_socket: $3 " "\${3%/*}/siteward.yaml" && echo "$2" > ${dir}/asked; exit; }
(trap 'echo told >> ${dir}/told; exit' TERM; trap exit WINCH; while :; do sleep 0.05; done) &
child=$!
trap 'kill -WINCH "$child"; wait "$child"; echo made > "$NODE_COMPILE_CACHE/made"; exit 0' TERM
echo '"msg":"ready"'
wait`,
    );
    writeFileSync(join(dir, 'unit'), `ExecStart=/x/start ${dir}/bin/cli.js run --config /x\n`);
    const { status, said } = run('files/warm-up', []);
    expect(status, said).toBe(0);
    expect(readFileSync(join(dir, 'asked'), 'utf8')).toBe('--socket\n');
    expect(said).toBe('');
    expect(existsSync(join(dir, 'told'))).toBe(false);
    expect(readFileSync(join(dir, 'lib/cache/made'), 'utf8')).toBe('made\n');
  });
});

describe('use-backup', () => {
  const put = (path: string, text: string) => writeFileSync(join(dir, path), text);
  const files = (path = 'state') =>
    Object.fromEntries(
      readdirSync(join(dir, path), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => [name, readFileSync(join(dir, path, name), 'utf8')]),
    );
  const asides = () => readdirSync(join(dir, 'state')).filter((name) => name.startsWith('replaced-'));
  const now = { 'site.db': 'site now', 'site.db-wal': 'log now', 'bulk.db': 'bulk now', 'users.json': '{}' };
  beforeEach(() => {
    for (const [name, text] of Object.entries(now)) put(`state/${name}`, text);
    mkdirSync(join(dir, 'backups/0.1.0'));
    put('backups/0.1.0/site.db', 'site then');
    put('backups/0.1.0/bulk.db', 'bulk then');
    program('setpriv', `[ "$1" = --reuid=siteward ] && shift 4 && export USER=siteward && exec "$@"`);
  });
  const use = (env = {}) => run('files/use-backup', ['0.1.0'], env);

  test('puts back what was kept; of what there was it keeps the last set beside it', () => {
    mkdirSync(join(dir, 'state/replaced-20260101T000000Z'));
    expect(use()).toMatchObject({ status: 0 });
    expect(files()).toEqual({ 'site.db': 'site then', 'bulk.db': 'bulk then', 'users.json': '{}' });
    expect(asides()).toHaveLength(1);
    const { 'users.json': _, ...databases } = now;
    expect(files(`state/${asides()[0]}`)).toEqual(databases);
    expect(readdirSync(join(dir, 'state'))).not.toContain('use-backup.part');
    expect(did()).toEqual(['stop', 'start']);
  });

  test('puts them into the state folder that the configuration names', () => {
    stateIn('other');
    put('other/site.db', 'other now');
    expect(use().status).toBe(0);
    expect(files('other')).toEqual({ 'site.db': 'site then', 'bulk.db': 'bulk then' });
    expect(files()).toEqual(now);
  });

  test('does as siteward what it does in the folder of siteward, where a link may lie', () => {
    for (const name of ['mkdir', 'dd', 'mv', 'rm', 'rmdir', 'sync', 'install', 'cp', 'chown'])
      program(name, `[ "$USER" = siteward ] || echo "${name} $*" >> ${dir}/as-root; exec /bin/${name} "$@"`);
    mkdirSync(join(dir, 'state/replaced-20260101T000000Z'));
    expect(use()).toMatchObject({ status: 0 });
    expect(files()['site.db']).toBe('site then');
    program('dd', 'exit 1');
    expect(use().status).toBe(1);
    expect(existsSync(join(dir, 'as-root'))).toBe(false);
  });

  test('follows no link to another folder that lies where it puts the databases of now', () => {
    mkdirSync(join(dir, 'elsewhere'));
    for (let second = 0; second < 300; second += 1) {
      const time = new Date(Date.now() + second * 1000).toISOString().replace(/\.\d+/, '');
      symlinkSync(join(dir, 'elsewhere'), join(dir, `state/replaced-${time.replaceAll(/[-:]/g, '')}`));
    }
    expect(use().status).not.toBe(0);
    expect(files()).toEqual(now);
    expect(readdirSync(join(dir, 'elsewhere'))).toEqual([]);
    expect(did()).toEqual(['stop', 'start']);
  });

  test('hands siteward no file to which a link among the kept ones leads', () => {
    put('of-root', 'secret');
    rmSync(join(dir, 'backups/0.1.0/bulk.db'));
    symlinkSync(join(dir, 'of-root'), join(dir, 'backups/0.1.0/bulk.db'));
    const { status, said } = use();
    expect(status).toBe(1);
    expect(said).toContain('0.1.0/bulk.db is a link');
    expect(files()).toEqual(now);
    expect(did()).toEqual([]);
  });

  test('leaves a bulk.db that was not kept as it is', () => {
    rmSync(join(dir, 'backups/0.1.0/bulk.db'));
    expect(use().status).toBe(0);
    expect(files()).toEqual({ 'site.db': 'site then', 'bulk.db': 'bulk now', 'users.json': '{}' });
  });

  test.each([
    ['there is no room', 'df', 'echo head; echo "x 9 9 100 1% /"', []],
    [
      'the disk is full while it copies',
      'dd',
      'for last; do :; done; echo half > "$(echo "$last" | cut -c4-)"; exit 1',
      [],
    ],
    ['siteward cannot be stopped', 'systemctl', `echo "$1" >> DIR/did; [ "$1" = start ]`, ['stop', 'start']],
    [
      'one cannot be moved away',
      'mv',
      'case "$1" in */state/bulk.db) exit 1 ;; *) exec /bin/mv "$@" ;; esac',
      ['stop', 'start'],
    ],
    [
      'one cannot be put in place',
      'mv',
      'case "$1" in */use-backup.part/*) /bin/mv "$1" "$3"; exit 1 ;; *) exec /bin/mv "$@" ;; esac',
      ['stop', 'start'],
    ],
    [
      'it is ended half-way',
      'mv',
      'case "$1" in */use-backup.part/*) kill -TERM $PPID ;; *) exec /bin/mv "$@" ;; esac',
      ['stop', 'start'],
    ],
  ])('has all as it was and siteward running where %s', (_what, name, text, asked) => {
    mkdirSync(join(dir, 'state/replaced-20260101T000000Z'));
    program(name, text.replaceAll('DIR', dir));
    expect(use().status).toBeGreaterThan(0);
    expect(files()).toEqual(now);
    expect(readdirSync(join(dir, 'state'))).not.toContain('use-backup.part');
    expect(asides()).toEqual(['replaced-20260101T000000Z']);
    expect(did()).toEqual(asked);
  });

  test('does nothing while the site is armed, unless it is told to', () => {
    busy();
    const { status, said } = use();
    expect(status).toBe(65);
    expect(said).toContain('p1 (Shop) is armed away');
    expect(said).toContain('sudo SITEWARD_UPGRADE_ANYWAY=1 ');
    expect(files()).toEqual(now);
    expect(did()).toEqual([]);
    expect(use({ SITEWARD_UPGRADE_ANYWAY: '1' }).status).toBe(0);
    expect(files()['site.db']).toBe('site then');
  });
});

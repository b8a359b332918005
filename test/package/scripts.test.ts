import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownFolder } from './script-folder.ts';

const folder = ownFolder();
const { program, run, did } = folder;

describe('prerm', () => {
  test.each(['upgrade', 'failed-upgrade'])(
    'stops the daemon for %s, so that preinst copies no database in use',
    (how) => {
      expect(run('debian/prerm', [how, '0.1.0']).status).toBe(0);
      expect(did()).toEqual(['stop']);
    },
  );

  test.each(['upgrade', 'failed-upgrade'])('stops nothing for %s while the site is armed', (how) => {
    folder.busy();
    const { status, said } = run('debian/prerm', [how, '0.1.0']);
    expect(status).not.toBe(0);
    expect(said).toContain('p1 (Shop) is armed away');
    expect(did()).toEqual([]);
    expect(run('debian/prerm', [how, '0.1.0'], { SITEWARD_UPGRADE_ANYWAY: '1' }).status).toBe(0);
    expect(did()).toEqual(['stop']);
  });
});

describe('preinst', () => {
  const upgrade = () => run('debian/preinst', ['upgrade', '0.0.9']);
  beforeEach(() => program('df', 'echo head; echo "x 9 9 9999999 1% /"'));

  test('keeps the databases of the version before', () => {
    writeFileSync(join(folder.dir, 'state/site.db'), 'site');
    writeFileSync(join(folder.dir, 'state/bulk.db'), 'bulk');
    expect(upgrade().status).toBe(0);
    expect(readFileSync(join(folder.dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
    expect(readFileSync(join(folder.dir, 'backups/0.0.9/bulk.db'), 'utf8')).toBe('bulk');
  });

  test('keeps no file of root to which a link among them leads', () => {
    writeFileSync(join(folder.dir, 'of-root'), 'secret');
    writeFileSync(join(folder.dir, 'state/site.db'), 'site');
    symlinkSync(join(folder.dir, 'of-root'), join(folder.dir, 'state/site.db-wal'));
    expect(upgrade().status).toBe(0);
    expect(lstatSync(join(folder.dir, 'backups/0.0.9/site.db-wal')).isSymbolicLink()).toBe(true);
  });

  test('keeps those of the state folder that the configuration names', () => {
    folder.stateIn('other');
    writeFileSync(join(folder.dir, 'state/site.db'), 'of nobody');
    writeFileSync(join(folder.dir, 'other/site.db'), 'site');
    expect(upgrade().status).toBe(0);
    expect(readFileSync(join(folder.dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
  });

  test('says where it looked and found none', () => {
    folder.stateIn('other');
    expect(upgrade()).toMatchObject({ status: 0, said: expect.stringContaining(`no database in ${folder.dir}/other`) });
    expect(readdirSync(join(folder.dir, 'backups'))).toEqual([]);
  });

  test('keeps what a package that was removed has left, too', () => {
    writeFileSync(join(folder.dir, 'state/site.db'), 'site');
    expect(run('debian/preinst', ['install']).status).toBe(0);
    expect(readdirSync(join(folder.dir, 'backups'))).toEqual([]);
    expect(run('debian/preinst', ['install', '0.0.9']).status).toBe(0);
    expect(readFileSync(join(folder.dir, 'backups/0.0.9/site.db'), 'utf8')).toBe('site');
  });

  describe('where no prerm was asked and siteward runs', () => {
    beforeEach(() => {
      program('systemctl', 'echo active');
      writeFileSync(join(folder.dir, 'state/site.db'), 'site');
    });

    test('stops it before it copies', () => {
      program('cp', `echo copy >> ${folder.dir}/did; exec /bin/cp "$@"`);
      expect(upgrade().status).toBe(0);
      expect(did()).toEqual(['stop', 'copy']);
    });

    test('does nothing while the site is armed, unless it is told to', () => {
      folder.busy();
      const { status, said } = upgrade();
      expect(status).not.toBe(0);
      expect(said).toContain('p1 (Shop) is armed away');
      expect(did()).toEqual([]);
      expect(readdirSync(join(folder.dir, 'backups'))).toEqual([]);
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
    writeFileSync(join(folder.dir, 'state/site.db'), 'site');
    expect(upgrade().status).toBe(0);
    program('df', 'echo head; echo "x 9 9 100 1% /"');
    expect(upgrade().status).not.toBe(0);
    expect(did()).toEqual([]);
  });
});

describe('postinst', () => {
  const config = () => join(folder.dir, 'etc/siteward.yaml');
  const configure = (...before: string[]) => run('debian/postinst', ['configure', ...before]);
  beforeEach(() => {
    for (const name of ['systemd-sysusers', 'deb-systemd-helper', 'chown', 'journalctl']) program(name, 'exit 0');
    program('install', `case "$*" in *siteward.yaml*) for last; do :; done; echo 'first day' > "$last" ;; esac`);
    mkdirSync(join(folder.dir, 'etc'));
  });

  test('begins the configuration where siteward is new', () => {
    expect(configure('').status).toBe(0);
    expect(readFileSync(config(), 'utf8')).toBe('first day\n');
  });

  test('leaves no half of it on a full disk, says what to do, and begins it when it is asked again', () => {
    const full = 'echo half > "$last"; echo "install: No space left on device" >&2; exit 1';
    program('install', `case "$*" in *siteward.yaml*) for last; do :; done; ${full} ;; esac`);
    const { status, said } = configure('');
    expect(status).not.toBe(0);
    expect(said).toContain(`${config()} could not be written`);
    expect(said).toContain('then: dpkg --configure -a');
    expect(readdirSync(join(folder.dir, 'etc'))).toEqual([]);
    expect(did()).toEqual([]);
    program('install', `case "$*" in *siteward.yaml*) for last; do :; done; echo 'first day' > "$last" ;; esac`);
    expect(configure('').status).toBe(0);
    expect(readFileSync(config(), 'utf8')).toBe('first day\n');
  });

  test('puts none in the place of one that is gone where siteward was before, and says what to do', () => {
    const { status, said } = configure('0.0.9');
    expect(status).toBe(0);
    expect(existsSync(config())).toBe(false);
    expect(said).toContain(`${config()} is gone`);
    expect(said).toContain('since siteward 0.0.9 was here. Put it back');
    writeFileSync(join(folder.dir, 'state/config.last-good.yaml'), 'good');
    expect(configure('0.0.9').said).not.toContain('is gone');
    expect(existsSync(config())).toBe(false);
  });
});

describe('postrm purge', () => {
  const purge = () => run('debian/postrm', ['purge']);
  beforeEach(() => {
    for (const name of ['getent', 'userdel', 'groupdel', 'deb-systemd-helper']) program(name, 'exit 1');
    mkdirSync(join(folder.dir, 'etc'));
    mkdirSync(join(folder.dir, 'state/tls'));
    writeFileSync(join(folder.dir, 'state/tls/key'), 'secret');
    writeFileSync(join(folder.dir, 'state/.hidden'), 'secret');
  });

  test('takes configuration, data and backups away', () => {
    expect(purge().status).toBe(0);
    for (const name of ['etc', 'state', 'backups']) expect(existsSync(join(folder.dir, name))).toBe(false);
  });

  test('empties a folder that is a mount point, which cannot be removed', () => {
    program('mountpoint', 'case "$2" in */state) exit 0 ;; *) exit 32 ;; esac');
    mkdirSync(join(folder.dir, 'state/lost+found'));
    const { status, said } = purge();
    expect(status).toBe(0);
    expect(said).toContain(`${folder.dir}/state is a mount point`);
    expect(readdirSync(join(folder.dir, 'state'))).toEqual(['lost+found']);
    expect(existsSync(join(folder.dir, 'etc'))).toBe(false);
  });
});

describe('postrm purge where the folder is a link to another disk', () => {
  const linked = () => join(folder.dir, 'disk/data');
  const purge = () => run('debian/postrm', ['purge']);
  beforeEach(() => {
    for (const name of ['getent', 'userdel', 'groupdel', 'deb-systemd-helper']) program(name, 'exit 1');
    rmSync(join(folder.dir, 'state'), { recursive: true });
    mkdirSync(linked(), { recursive: true });
    writeFileSync(join(folder.dir, 'disk/data/key'), 'secret');
    writeFileSync(join(folder.dir, 'disk/other'), 'of somebody');
    symlinkSync(linked(), join(folder.dir, 'state'));
    program('stat', '[ "$*" = "-c %U $3" ] && echo siteward');
  });

  test('takes what is in it away, and nothing beside it', () => {
    const { status, said } = purge();
    expect(status).toBe(0);
    expect(said).toContain(`${folder.dir}/state was a link to ${linked()}: what was in it is gone`);
    expect(readdirSync(join(folder.dir, 'disk'))).toEqual(['other']);
    expect(readdirSync(folder.dir)).not.toContain('state');
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
    expect(readdirSync(folder.dir)).not.toContain('state');
  });
});

describe('warm-up', () => {
  test('ends the daemon by one signal, that it keeps what the program was made into', () => {
    for (const name of ['chown', 'setpriv'])
      program(
        name,
        'case $0 in *chown) exit ;; esac; while case $1 in --*) : ;; *) false ;; esac; do shift; done; exec "$@"',
      );
    mkdirSync(join(folder.dir, 'lib'));
    // A daemon with a process of its own, which is told nothing where only the daemon is.
    program(
      'cli.js',
      `(trap 'echo told >> ${folder.dir}/told; exit' TERM; trap exit WINCH; while :; do sleep 0.05; done) &
child=$!
trap 'kill -WINCH "$child"; wait "$child"; echo made > "$NODE_COMPILE_CACHE/made"; exit 0' TERM
echo '"msg":"ready"'
wait`,
    );
    writeFileSync(join(folder.dir, 'unit'), `ExecStart=/x/start ${folder.dir}/bin/cli.js run --config /x\n`);
    const { status, said } = run('files/warm-up', []);
    expect(status, said).toBe(0);
    expect(existsSync(join(folder.dir, 'told'))).toBe(false);
    expect(readFileSync(join(folder.dir, 'lib/cache/made'), 'utf8')).toBe('made\n');
  });
});

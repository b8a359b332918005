import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownFolder } from './script-folder.ts';

const folder = ownFolder();
const { program, run, did } = folder;

describe('use-backup', () => {
  const put = (path: string, text: string) => writeFileSync(join(folder.dir, path), text);
  const files = (path = 'state') =>
    Object.fromEntries(
      readdirSync(join(folder.dir, path), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => [name, readFileSync(join(folder.dir, path, name), 'utf8')]),
    );
  const asides = () => readdirSync(join(folder.dir, 'state')).filter((name) => name.startsWith('replaced-'));
  const now = { 'site.db': 'site now', 'site.db-wal': 'log now', 'bulk.db': 'bulk now', 'users.json': '{}' };
  beforeEach(() => {
    for (const [name, text] of Object.entries(now)) put(`state/${name}`, text);
    mkdirSync(join(folder.dir, 'backups/0.1.0'));
    put('backups/0.1.0/site.db', 'site then');
    put('backups/0.1.0/bulk.db', 'bulk then');
    program('setpriv', `[ "$1" = --reuid=siteward ] && shift 4 && export USER=siteward && exec "$@"`);
  });
  const use = (env = {}) => run('files/use-backup', ['0.1.0'], env);

  test('puts back what was kept; of what there was it keeps the last set beside it', () => {
    mkdirSync(join(folder.dir, 'state/replaced-20260101T000000Z'));
    expect(use()).toMatchObject({ status: 0 });
    expect(files()).toEqual({ 'site.db': 'site then', 'bulk.db': 'bulk then', 'users.json': '{}' });
    expect(asides()).toHaveLength(1);
    const { 'users.json': _, ...databases } = now;
    expect(files(`state/${asides()[0]}`)).toEqual(databases);
    expect(readdirSync(join(folder.dir, 'state'))).not.toContain('use-backup.part');
    expect(did()).toEqual(['stop', 'start']);
  });

  test('puts them into the state folder that the configuration names', () => {
    folder.stateIn('other');
    put('other/site.db', 'other now');
    expect(use().status).toBe(0);
    expect(files('other')).toEqual({ 'site.db': 'site then', 'bulk.db': 'bulk then' });
    expect(files()).toEqual(now);
  });

  test('does as siteward what it does in the folder of siteward, where a link may lie', () => {
    for (const name of ['mkdir', 'dd', 'mv', 'rm', 'rmdir', 'sync', 'install', 'cp', 'chown'])
      program(name, `[ "$USER" = siteward ] || echo "${name} $*" >> ${folder.dir}/as-root; exec /bin/${name} "$@"`);
    mkdirSync(join(folder.dir, 'state/replaced-20260101T000000Z'));
    expect(use()).toMatchObject({ status: 0 });
    expect(files()['site.db']).toBe('site then');
    program('dd', 'exit 1');
    expect(use().status).toBe(1);
    expect(existsSync(join(folder.dir, 'as-root'))).toBe(false);
  });

  test('follows no link to another folder that lies where it puts the databases of now', () => {
    mkdirSync(join(folder.dir, 'elsewhere'));
    for (let second = 0; second < 300; second += 1) {
      const time = new Date(Date.now() + second * 1000).toISOString().replace(/\.\d+/, '');
      symlinkSync(join(folder.dir, 'elsewhere'), join(folder.dir, `state/replaced-${time.replaceAll(/[-:]/g, '')}`));
    }
    expect(use().status).not.toBe(0);
    expect(files()).toEqual(now);
    expect(readdirSync(join(folder.dir, 'elsewhere'))).toEqual([]);
    expect(did()).toEqual(['stop', 'start']);
  });

  test('hands siteward no file to which a link among the kept ones leads', () => {
    put('of-root', 'secret');
    rmSync(join(folder.dir, 'backups/0.1.0/bulk.db'));
    symlinkSync(join(folder.dir, 'of-root'), join(folder.dir, 'backups/0.1.0/bulk.db'));
    const { status, said } = use();
    expect(status).toBe(1);
    expect(said).toContain('0.1.0/bulk.db is a link');
    expect(files()).toEqual(now);
    expect(did()).toEqual([]);
  });

  test('leaves a bulk.db that was not kept as it is', () => {
    rmSync(join(folder.dir, 'backups/0.1.0/bulk.db'));
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
    mkdirSync(join(folder.dir, 'state/replaced-20260101T000000Z'));
    program(name, text.replaceAll('DIR', folder.dir));
    expect(use().status).toBeGreaterThan(0);
    expect(files()).toEqual(now);
    expect(readdirSync(join(folder.dir, 'state'))).not.toContain('use-backup.part');
    expect(asides()).toEqual(['replaced-20260101T000000Z']);
    expect(did()).toEqual(asked);
  });

  test('does nothing while the site is armed, unless it is told to', () => {
    folder.busy();
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

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Where machines live, and the system they all read. */
export const machinesFolder = (): string => process.env.SITEWARD_SYSTEM_DIR ?? join(tmpdir(), 'siteward-system');

/** `--fast` among the options packs less. */
export function makePackage(out: string, version: string, ...options: readonly string[]): void {
  execFileSync(process.execPath, ['tools/package/main.ts', '--version', version, '--out', out, ...options], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** What a small box has: systemd, what siteward depends on, the programs it calls for pictures and sound, and a technician's sudo. */
const debian =
  'systemd,systemd-sysv,dbus,udev,libstdc++6,openssl,procps,iproute2,mosquitto-clients,sudo,ffmpeg,alsa-utils,pulseaudio,pulseaudio-utils';

/** Debian's name of the system in the machines; SITEWARD_SYSTEM_SUITE takes another, as trixie. */
export const suite = (): string => process.env.SITEWARD_SYSTEM_SUITE ?? 'bookworm';

/** What apt can install in a machine without a network, beside what is there. */
const offered = 'mosquitto';

/** Where the system lies: another list of packages makes another one. */
export const systemIn = (machines: string): string =>
  join(machines, `${suite()}-${createHash('sha256').update(`${debian} ${offered}`).digest('hex').slice(0, 8)}`);

/** Builds it where it is not there yet: in some minutes, of Debian's packages. Returns its folder. */
export function makeSystem(machines: string): string {
  const folder = systemIn(machines);
  if (existsSync(folder)) return folder;
  console.log(`building a Debian (${suite()}) for the machines, once`);
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  const apt = 'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get';
  const offer = `--customize-hook=${apt} clean && ${apt} --quiet --yes --download-only install ${offered}`;
  const options = ['--quiet', '--variant=minbase', `--include=${debian}`, '--skip=cleanup/apt', offer];
  const args = [...options, suite(), part, ...sources(machines)];
  execFileSync('mmdebstrap', args, { stdio: 'inherit' });
  // Each machine has its own.
  rmSync(join(part, 'etc/machine-id'), { force: true });
  renameSync(part, folder);
  return folder;
}

/** Where this machine has its own packages from, so that no other place is asked; with the name of the suite in it. */
function sources(machines: string): readonly string[] {
  const own = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? suite();
  const lists = ['/etc/apt/sources.list', ...listIn('/etc/apt/sources.list.d')].filter(existsSync);
  const list = lists.find((path) => {
    const text = readFileSync(path, 'utf8');
    return new RegExp(`\\b${own}\\b`).test(text) && /\/debian\b/.test(text);
  });
  if (list === undefined) return [];
  const copy = join(machines, `${suite()}${extname(list)}`);
  writeFileSync(copy, readFileSync(list, 'utf8').replaceAll(new RegExp(`\\b${own}\\b`, 'g'), suite()));
  return [copy];
}

const listIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .sort()
        .map((name) => join(folder, name))
    : [];

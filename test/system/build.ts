import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/** What a small box has: systemd, what siteward depends on, and the programs that it calls for pictures and sound. */
const debian =
  'systemd,systemd-sysv,dbus,udev,libstdc++6,openssl,procps,iproute2,mosquitto-clients,ffmpeg,alsa-utils,pulseaudio,pulseaudio-utils';

/** Builds it where it is not there yet: in a minute or two, by Debian's packages. */
export function makeSystem(folder: string): void {
  if (existsSync(folder)) return;
  console.log('building a Debian for the machines, once');
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  const out = ['bookworm', part, ...sources()];
  execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${debian}`, ...out], { stdio: 'inherit' });
  // Each machine has its own.
  rmSync(join(part, 'etc/machine-id'), { force: true });
  renameSync(part, folder);
}

/** Where this machine has its own packages from, so that no other place is asked. */
function sources(): readonly string[] {
  const lists = ['/etc/apt/sources.list', ...listIn('/etc/apt/sources.list.d')];
  const own = lists.filter(
    (path) =>
      existsSync(path) &&
      /\bbookworm\b/.test(readFileSync(path, 'utf8')) &&
      /debian\.org|\/debian\b/.test(readFileSync(path, 'utf8')),
  );
  return own.slice(0, 1);
}

const listIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .sort()
        .map((name) => join(folder, name))
    : [];

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Programs that build and run a machine, and the Debian package of each. */
const programs: Readonly<Record<string, string>> = {
  mmdebstrap: 'mmdebstrap',
  'systemd-nspawn': 'systemd-container',
  nsenter: 'util-linux',
  'qemu-aarch64-static': 'qemu-user-static',
  'aarch64-linux-gnu-strip': 'binutils-aarch64-linux-gnu',
};

/** C and C++ of arm64, for what runs under qemu. */
const libraries: Readonly<Record<string, string>> = {
  '/usr/aarch64-linux-gnu/lib/libstdc++.so.6': 'libstdc++6-arm64-cross',
};

/** Why the system tests cannot run here; undefined where they can. */
export function whyNot(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'they need Linux on amd64';
  if (process.getuid?.() !== 0) return 'they boot machines of their own, which takes root';
  const missing = [
    ...Object.entries(programs).filter(
      ([program]) => spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' }).status !== 0,
    ),
    ...Object.entries(libraries).filter(([path]) => !existsSync(path)),
  ];
  if (missing.length === 0) return undefined;
  const packages = missing.map(([, name]) => name).join(' ');
  return `${missing.map(([what]) => what).join(', ')} missing. Install: apt-get install ${packages}`;
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { versions } from './versions.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the machines; the unpacked system lies in it. */
    machines: string;
    /** Debian packages of siteward, those of `versions` for amd64, the newest also for arm64. */
    packages: string;
  }
}

const root = join(import.meta.dirname, '..', '..');

/**
 * Builds what the tests run: a Debian, which is kept for the next time in SITEWARD_SYSTEM_DIR (else below the folder for
 * temporary files), and the packages. SITEWARD_PACKAGES names a folder that has them already.
 */
export function setup({ provide }: TestProject): () => void {
  const machines = process.env.SITEWARD_SYSTEM_DIR ?? join(tmpdir(), 'siteward-system');
  mkdirSync(machines, { recursive: true });
  makeSystem(join(machines, 'bookworm'));
  const given = process.env.SITEWARD_PACKAGES;
  const packages = given ?? mkdtempSync(join(tmpdir(), 'siteward-packages-'));
  if (given === undefined) {
    makePackage(packages, versions.old, 'amd64');
    makePackage(packages, versions.now, 'amd64', 'arm64');
  }
  provide('machines', machines);
  provide('packages', packages);
  return () => {
    if (given === undefined) rmSync(packages, { recursive: true, force: true });
  };
}

function makePackage(out: string, version: string, ...archs: readonly string[]): void {
  const args = ['tools/package/main.ts', '--fast', '--version', version, '--out', out];
  execFileSync(process.execPath, [...args, ...archs.flatMap((arch) => ['--arch', arch])], {
    cwd: root,
    stdio: 'inherit',
  });
}

/** What a small box has: systemd and what siteward depends on. */
const debian = 'systemd,systemd-sysv,dbus,udev,libstdc++6,openssl,procps,iproute2,mosquitto-clients';

function makeSystem(folder: string): void {
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

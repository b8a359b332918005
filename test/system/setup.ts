import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { machinesFolder, makePackage, makeSystem } from './build.ts';
import { versions } from './versions.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the machines; the unpacked system lies in it. */
    machines: string;
    /** Debian packages of siteward, those of `versions` for amd64, the newest also for arm64. */
    packages: string;
  }
}

/**
 * Builds what the tests run: a Debian, which is kept for the next time in SITEWARD_SYSTEM_DIR (else below the folder for
 * temporary files), and the packages. SITEWARD_PACKAGES names a folder that has them already.
 */
export function setup({ provide }: TestProject): () => void {
  const machines = machinesFolder();
  mkdirSync(machines, { recursive: true });
  makeSystem(machines);
  const given = process.env.SITEWARD_PACKAGES;
  const packages = given ?? mkdtempSync(join(tmpdir(), 'siteward-packages-'));
  if (given === undefined) {
    makePackage(packages, versions.old, '--fast', '--arch', 'amd64');
    makePackage(packages, versions.now, '--fast');
  }
  provide('machines', machines);
  provide('packages', packages);
  return () => {
    if (given === undefined) rmSync(packages, { recursive: true, force: true });
  };
}

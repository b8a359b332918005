import { spawnSync } from 'node:child_process';
import type { Target } from './targets.ts';

/** Programs of Debian the build calls, and the package of each. */
const always: Readonly<Record<string, string>> = {
  'dpkg-deb': 'dpkg',
  gzip: 'gzip',
  'espeak-ng': 'espeak-ng',
  sox: 'sox',
  git: 'git',
};

/** What is missing for the build, as a sentence that says how to get it; undefined when all is there. */
export function missingTools(targets: readonly Target[]): string | undefined {
  const strips = targets.map(({ strip, stripPackage, cpu }): readonly [string, string] => [
    strip,
    cpu === process.arch ? stripPackage.own : stripPackage.other,
  ]);
  const missing = [...Object.entries(always), ...strips].filter(([program]) => !isThere(program));
  if (missing.length === 0) return undefined;
  const programs = missing.map(([program]) => program).join(', ');
  return `The package cannot be built without ${programs}. Install: apt-get install ${missing.map(([, name]) => name).join(' ')}`;
}

const isThere = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' }).status === 0;

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Target } from './targets.ts';

const root = join(import.meta.dirname, '..', '..');

interface LockEntry {
  readonly version: string;
  readonly integrity: string;
}

/** An entry of package-lock.json: the exact version and the digest of what the registry has of it. */
export function locked(name: string): LockEntry {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockEntry | undefined>>;
  };
  const entry = lock.packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`package-lock.json has no ${name}`);
  return entry;
}

/**
 * The folder with `bin/node` and `LICENSE` for a target. npm has installed and checked the one of this machine; that of another
 * architecture is fetched into `scratch`, and must be what package-lock.json says. `given` takes the place of both.
 */
export function nodeFolder({ nodePackage }: Target, scratch: string, given?: string): string {
  if (given !== undefined) return given;
  const { version, integrity } = locked(nodePackage);
  const installed = join(root, 'node_modules', nodePackage);
  if (existsSync(join(installed, 'bin', 'node'))) {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
    if (manifest.version === version) return installed;
  }
  const folder = join(scratch, nodePackage);
  mkdirSync(folder, { recursive: true });
  const packed = execFileSync(
    'npm',
    ['pack', `${nodePackage}@${version}`, '--json', '--prefer-offline', '--pack-destination', folder],
    { encoding: 'utf8', cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [{ filename = '' } = {}] = JSON.parse(packed) as { filename?: string }[];
  const archive = join(folder, filename);
  const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (digest !== integrity) throw new Error(`${filename} is not what package-lock.json says (${digest})`);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  return join(folder, 'package');
}

/** What the program says it is, read from the file, since it may be of another architecture. */
export function nodeVersion(folder: string): string {
  const header = readFileSync(join(folder, 'include', 'node', 'node_version.h'), 'utf8');
  const part = (name: string) => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(header)?.[1] ?? '';
  return [part('MAJOR'), part('MINOR'), part('PATCH')].join('.');
}

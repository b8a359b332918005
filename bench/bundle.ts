import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBundle } from '../tools/bundle.ts';

/** Makes the bundle in a folder of its own and runs `work` with the path of its program. */
export async function withBundle<T>(work: (program: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-bundle-'));
  try {
    await makeBundle(folder);
    mkdirSync(join(folder, 'node_modules'));
    const outside = join(import.meta.dirname, '..', 'node_modules', 'better-sqlite3');
    symlinkSync(outside, join(folder, 'node_modules', 'better-sqlite3'));
    return await work(join(folder, 'cli.js'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

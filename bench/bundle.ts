import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runnableBundle } from '../tools/bundle.ts';

/** Makes the bundle in a folder of its own and runs `work` with the path of its program. */
export async function withBundle<T>(work: (program: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-bundle-'));
  try {
    return await work(await runnableBundle(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

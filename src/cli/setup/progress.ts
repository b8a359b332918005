import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readConfigText } from '#config/index.ts';
import { type Owner, writeDurably } from '#lib/durable-file.ts';
import { withFile } from '../named-file.ts';

const noted = z.object({
  /** `later`: a person has put it off, and is asked again. */
  state: z.enum(['done', 'skipped', 'later']),
  at: z.iso.datetime(),
  words: z.string().max(2000),
});
const progressFile = z.object({ version: z.literal(1), steps: z.record(z.string(), noted) });

/** What `siteward setup` has done so far; never a secret. */
export type Progress = z.output<typeof progressFile>;
export type Noted = z.output<typeof noted>;

const progressPath = (stateDir: string): string => join(stateDir, 'setup.json');

/** A file that is not there, or that nobody can read, is no progress: every step looks for itself. */
export async function readProgress(stateDir: string): Promise<Progress> {
  try {
    return progressFile.parse(JSON.parse(await readConfigText(progressPath(stateDir))));
  } catch {
    return { version: 1, steps: {} };
  }
}

/** Mode 0600, beside the state. Throws `file_unusable`. */
export async function keepProgress(stateDir: string, progress: Progress, owner: Owner): Promise<void> {
  const path = progressPath(stateDir);
  await withFile(path, async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeDurably(path, `${JSON.stringify(progress, undefined, 2)}\n`, { owner });
  });
}

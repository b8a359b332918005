import { open, stat } from 'node:fs/promises';
import { referencedFiles } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { never, withDeadline } from '#lib/wait.ts';

const answerMs = 5_000;
/** As `loadConfig` takes it at most. */
const fileCapBytes = 1024 * 1024;

/**
 * Before a reload reads its files at one go: whether the disks they lie on answer, so that one that hangs (a network
 * share that is away) refuses the reload instead of stopping the loop that alarms go through. Throws `deadline`. What
 * is missing or broken is not its affair; the reload says that in better words.
 */
export async function filesAnswer(
  configPath: string,
  folders: readonly string[],
  /** For tests. */
  { deadlineMs = answerMs, look = stat }: { deadlineMs?: number; look?: (path: string) => Promise<unknown> } = {},
): Promise<void> {
  await withDeadline(
    deadlineMs,
    never(),
    async () => {
      const files = referencedFiles(await textOf(configPath));
      const credentials = process.env.CREDENTIALS_DIRECTORY;
      const all = [...files, ...folders, ...(credentials === undefined ? [] : [credentials])];
      await Promise.all(all.map((path) => look(path).catch(() => undefined)));
    },
    `reading the files of the configuration (does the disk under ${configPath}, or under a file it names, hang?)`,
  );
}

async function textOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  // A FIFO would be waited for.
  if (found?.isFile() !== true || found.size > fileCapBytes) return '';
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return '';
  try {
    return await file.readFile('utf8');
  } catch (cause) {
    throw new SitewardError('config_unreadable', `the configuration ${path} cannot be read`, { cause });
  } finally {
    await file.close();
  }
}

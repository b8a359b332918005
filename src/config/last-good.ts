import { join, resolve } from 'node:path';
import { SitewardError } from '#errors.ts';
import { textOf, writeDurably } from '#lib/durable-file.ts';
import { parseConfig } from './document.ts';
import { valueAt } from './issues.ts';
import { type ConfigEnvironment, checkText, type LoadedConfig } from './load.ts';

const copyName = 'config.last-good.yaml';

/** The first line of a copy names the file it is of, so that another site's copy is never taken by mistake. */
const headerOf = (file: string): string => `# siteward: last good copy of ${resolve(file)}`;

/**
 * Keeps the text of a configuration that the daemon runs on, in its state directory, and in systemd's where that is another: of a file
 * that is gone nobody else knows where its state is, and an older copy would begin with an older one. After a power cut there is
 * the old copy or the new one, never half of one. Readable by siteward's user only. Throws `state_dir_unusable`.
 */
export async function keepLastGood(
  loaded: LoadedConfig,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  if (loaded.lastGood) return;
  const text = `${headerOf(loaded.file)}\n${loaded.text}`;
  for (const dir of new Set([loaded.settings.store.dir, variables.STATE_DIRECTORY])) {
    if (dir === undefined || textOf(join(dir, copyName)) === text) continue;
    try {
      await writeDurably(join(dir, copyName), text);
    } catch (cause) {
      throw new SitewardError('state_dir_unusable', `the last good configuration cannot be kept in ${dir}`, {
        facts: { dir },
        cause,
      });
    }
  }
}

/**
 * The copy of the last good configuration of `file`, which is itself broken or gone; undefined when there is none or
 * it is not good any more. Looks in the state directory that the broken file names, else in systemd's, else in
 * the usual place. Secrets that cannot be read do not stop it.
 */
export function loadLastGood(file: string, environment: ConfigEnvironment = {}): LoadedConfig | undefined {
  const variables = environment.sources?.variables ?? process.env;
  const dirs = [...namedStateDirs(file), variables.STATE_DIRECTORY, '/var/lib/siteward'];
  for (const dir of dirs.filter((one) => one !== undefined)) {
    const copy = join(dir, copyName);
    const text = textOf(copy);
    if (text?.startsWith(`${headerOf(file)}\n`) !== true) continue;
    const { loaded } = checkText(copy, text, { ...environment, unreadableSecrets: 'degrade' });
    if (loaded !== undefined) return { ...loaded, lastGood: true };
  }
  return undefined;
}

/** What the broken file says of the state directory: read as YAML as far as that goes, else as plain text. */
function namedStateDirs(file: string): string[] {
  const text = textOf(file);
  if (text === undefined) return [];
  const parsed = valueAt(parseConfig(file, text).value, ['store', 'dir']);
  const written = [...text.matchAll(/\bdir:\s*["']?(\/[^\s"',}]+)/g)].map((match) => match[1] ?? '');
  return [...(typeof parsed === 'string' ? [parsed] : []), ...written.slice(0, 4)];
}

import { dirname, join, resolve } from 'node:path';
import { type LoadedConfig, referencedFiles, removeSecretLeftovers } from '#config/index.ts';

/**
 * Removes passwords of cameras that a command which was killed has left half written (`siteward camera add`). A folder that
 * is not there, or that the daemon may not write to, is left to the next command. Never throws.
 */
export async function clearSecretFolders({ file, text }: Pick<LoadedConfig, 'file' | 'text'>): Promise<void> {
  const folders = new Set([join(dirname(resolve(file)), 'secrets'), ...referencedFiles(text).map(dirname)]);
  for (const folder of folders) await removeSecretLeftovers(folder).catch(() => undefined);
}

import { dirname } from 'node:path';
import { endSave, readConfigText, referencedFiles, removeSecretLeftovers, secretsBeside } from '#config/index.ts';

/**
 * Removes secrets that a command (`siteward camera add`) or a save over the LAN API which was killed has left half written, or
 * without a use; `text` is in force. A folder that is not there, or that the daemon may not write to, is left to the next one. Never throws.
 */
export async function clearSecretFolders(file: string, text: string): Promise<void> {
  const folders = new Set([secretsBeside(file), ...referencedFiles(text).map(dirname)]);
  for (const folder of folders) await removeSecretLeftovers(folder).catch(() => undefined);
  await readConfigText(file)
    .then((now) => endSave(file, { file: now, inForce: text }))
    .catch(() => undefined);
}

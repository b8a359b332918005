import { renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { attempt, type Note } from './quiet.ts';
import { syncDirectory } from './side.ts';

/** Beside a database, all named after it. */
const besideDatabase = ['-wal', '-shm', '-journal', '.moved', '.moved.part'] as const;
/** What else the store keeps in the state directory; a part is what is written before it gets its name. */
const otherFiles = ['epoch.json', 'alarm.log', 'losses', 'reserve'].flatMap((name) => [name, `${name}.part`]);

/**
 * Sets aside what stands in place of a file of the store and is none, a folder mostly: nothing can be opened there. The
 * newest one is kept. A database in whose place a folder stands is damaged, and set aside with what belongs to it.
 */
export function clearDatabase(path: string, note: Note): void {
  for (const suffix of besideDatabase) clear(path + suffix, note);
}

/** To be called after the side file was read: a folder in its place still proves that a store existed. */
export function clearOthers(dir: string, note: Note): void {
  for (const name of otherFiles) clear(join(dir, name), note);
}

function clear(path: string, note: Note): void {
  if (attempt(() => statSync(path, { throwIfNoEntry: false }))?.isFile() !== false) return;
  const kept = `${path}.no-file`;
  attempt(() => {
    rmSync(kept, { recursive: true, force: true });
    renameSync(path, kept);
    syncDirectory(dirname(path));
    const facts = { file: basename(path), kept: basename(kept) };
    note('error', 'what stood in place of a file and is none was set aside', facts);
  });
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';

/** In the state directory, and yet no part of the state. */
export const lockName = 'siteward.pid';

/**
 * Makes sure that no other daemon works in this state directory: two would show and send two different truths. The note of
 * a process that is gone is overwritten. Throws `state_dir_unusable` naming the other process; a directory
 * that cannot be written is the store's matter, not ours.
 */
export function claimStateDir(dir: string): void {
  const path = join(dir, lockName);
  const other = readNote(path);
  if (other !== undefined && other.pid !== process.pid && startOf(other.pid) === other.start) {
    throw new SitewardError(
      'state_dir_unusable',
      `The state directory ${dir} is in use by another siteward (process ${other.pid}). Stop that one first.`,
      { facts: { dir, pid: other.pid } },
    );
  }
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify({ pid: process.pid, start: startOf(process.pid) }), { mode: 0o600 });
  } catch {
    // Read-only or full: protection goes on without the note.
  }
}

function readNote(path: string): { pid: number; start: string } | undefined {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as { pid?: unknown; start?: unknown };
    if (typeof note.pid === 'number' && typeof note.start === 'string') return { pid: note.pid, start: note.start };
  } catch {
    // No note, or half of one: nobody is there.
  }
  return undefined;
}

/**
 * Boot of the machine and start of the process, so that a process id given again is not mistaken; undefined when gone.
 * `root`: whose view of the boot counts. A container has a boot id of its own, which the sandbox of the unit does not show.
 */
function startOf(pid: number, root = ''): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return undefined;
    return `${readFileSync(`${root}/proc/sys/kernel/random/boot_id`, 'utf8').trim()} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

/** The process of the daemon that works in a state directory; undefined where there is none that can be seen. */
export function runningDaemon(dir: string): number | undefined {
  const note = readNote(join(dir, lockName));
  if (note === undefined) return undefined;
  const { pid, start } = note;
  // Only root sees by the eyes of the daemon.
  return startOf(pid) === start || startOf(pid, `/proc/${pid}/root`) === start ? pid : undefined;
}

/**
 * The steps of durable work between which a process may end at any moment. A proof ends it at each of them and looks at
 * what is left (`test/proof/crash-points.test.ts`).
 */
export const crashPoints = [
  'commit.begun',
  'commit.rows',
  'commit.committed',
  'commit.answered',
  'reserve.written',
  'published',
  'send.before',
  'send.after',
  'answer.before',
  'answer.after',
  'settle.before',
  'settle.committed',
  'park.decided',
  'retry.rows',
  'file.part',
  'file.synced',
  'file.renamed',
  'file.dirsynced',
  'clip.part',
  'clip.synced',
  'clip.renamed',
  'clip.dirsynced',
  'media.row',
  'media.uploaded',
  'media.unlink',
  'side.part',
  'side.renamed',
  'salvage.aside',
  'salvage.begun',
  'salvage.slice',
  'reset.marked',
  'reset.config',
  'reset.secret',
  'reset.removed',
  'reset.noted',
  'reset.finished',
  'restore.staged',
  'restore.marked',
  'restore.file',
  'restore.aside',
  'restore.placing',
  'restore.placed',
  'restore.noted',
  'restore.cleared',
  'restore.finished',
] as const;

export type CrashPoint = (typeof crashPoints)[number];

/**
 * Ends the process at once, as a power cut would, when `SITEWARD_CRASH_AT` names this point; `name:3` means the third
 * time this thread comes by. For development only: the bundle has neither this nor its calls (`tools/bundle.ts`).
 */
export function crashPoint(name: CrashPoint): void {
  const [at, left = '1'] = (process.env.SITEWARD_CRASH_AT ?? '').split(':');
  if (at !== name) return;
  // A thread has its own copy of the environment, which is the only memory this needs.
  process.env.SITEWARD_CRASH_AT = `${name}:${Number(left) - 1}`;
  if (left === '1') process.kill(process.pid, 'SIGKILL');
}

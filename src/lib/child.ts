import { writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';

/** The daemon's own work goes first. */
const niceness = 10;
/** Where memory runs out the kernel ends the child, not the daemon. */
const expendable = '500';

/** Ends a child that was started `detached`, with all it started. It may be gone already. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {}
}

/** Best effort: it may have ended already, and the sandbox of the service forbids to make it nice. */
export async function standBack(pid: number): Promise<void> {
  try {
    await writeFile(`/proc/${pid}/oom_score_adj`, expendable);
    setPriority(pid, niceness);
  } catch {}
}

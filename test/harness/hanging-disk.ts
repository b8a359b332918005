import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export const hasStrace = spawnSync('strace', ['-V']).status === 0;

/** From now on every sync of the process takes ten minutes; until what is returned is killed. */
export async function hangDisk(pid: number): Promise<ChildProcess> {
  const sync = 'fsync,fdatasync';
  const inject = ['-e', `trace=${sync}`, '-e', `inject=${sync}:delay_enter=600000000`];
  const hang = spawn('strace', ['-f', '-o', '/dev/null', ...inject, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (hang.stderr !== null) await once(hang.stderr, 'data');
  return hang;
}

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = '/sys/fs/cgroup';
const syncDelayMs = 20;
/** Of a core. */
const share = 0.25;
const memoryMib = 512;
const periodUs = 100_000;

export interface SlowBox {
  /** What the daemon is started under; its process stays the direct child. */
  readonly under: readonly string[];
  /** Whether the kernel ends a daemon that takes more than it may; where not, its peak tells. */
  readonly limitsMemory: boolean;
  readonly memoryMib: number;
  remove(): void;
}

/**
 * A box with a quarter of a core and 512 MB, whose disk takes 20 ms more for each flush: a control group of its own for the daemon,
 * and strace beside it, outside of the group. With control groups of version 1 only the processor is limited.
 */
export function slowBox(): SlowBox {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  const group = join(root, ...(isV2 ? [] : ['cpu']), `siteward-slow-${process.pid}`);
  mkdirSync(group);
  const remove = () => {
    process.off('exit', remove);
    try {
      rmdirSync(group);
    } catch {
      // A process that is just ending keeps it; it is empty then, and does no harm.
    }
  };
  process.once('exit', remove);
  const set = (name: string, value: string) => writeFileSync(join(group, name), value);
  try {
    if (isV2) {
      set('cpu.max', `${periodUs * share} ${periodUs}`);
      set('memory.max', String(memoryMib * 1024 ** 2));
      set('memory.swap.max', '0');
    } else {
      set('cpu.cfs_period_us', String(periodUs));
      set('cpu.cfs_quota_us', String(periodUs * share));
    }
  } catch (error) {
    remove();
    throw error;
  }
  const join_ = `echo $$ > ${join(group, 'cgroup.procs')} && exec "$@"`;
  const inject = `inject=fsync,fdatasync:delay_exit=${syncDelayMs * 1000}`;
  return {
    // -D: the tracer is no parent of what it traces, so that a signal to the child reaches siteward.
    under: [
      ...['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null'],
      ...['-e', 'trace=fsync,fdatasync', '-e', inject, '/bin/sh', '-c', join_, 'sh'],
    ],
    ...{ limitsMemory: isV2, memoryMib, remove },
  };
}

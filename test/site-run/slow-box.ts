import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = '/sys/fs/cgroup';
const syncDelayMs = 20;
/** Of a core. */
const share = 0.25;
export const memoryMib = 512;
const periodUs = 100_000;

export interface SlowBox {
  /** What the daemon is started under; its process stays the direct child. */
  readonly under: readonly string[];
  remove(): void;
}

/** Why there can be none here, in words for the name of a skipped test; undefined when it can. */
export function noSlowBox(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root for a control group';
  try {
    accessSync(isV2() ? root : join(root, 'cpu'), constants.W_OK);
  } catch {
    return `needs control groups that can be written, at ${root}`;
  }
  return spawnSync('strace', ['-V']).error === undefined ? undefined : 'needs the Debian package strace';
}

const isV2 = () => existsSync(join(root, 'cgroup.controllers'));

/**
 * A box with a quarter of a core and 512 MB, whose disk takes 20 ms more for each flush: a control group of its own for the daemon,
 * and strace beside it, outside of the group. Where control groups are those of version 1 the kernel limits the processor only, and a
 * soak looks at the peak of the memory.
 */
export function slowBox(): SlowBox {
  const group = join(root, ...(isV2() ? [] : ['cpu']), `siteward-slow-${process.pid}`);
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
    if (isV2()) {
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
  const enter = `echo $$ > ${join(group, 'cgroup.procs')} && exec "$@"`;
  const inject = `inject=fsync,fdatasync:delay_exit=${syncDelayMs * 1000}`;
  return {
    // -D: the tracer is no parent of what it traces, so that a signal to the child reaches siteward.
    under: [
      ...['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null'],
      ...['-e', 'trace=fsync,fdatasync', '-e', inject, '/bin/sh', '-c', enter, 'sh'],
    ],
    remove,
  };
}

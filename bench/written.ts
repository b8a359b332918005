import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Bytes the block device under a mount has taken so far, what is still in memory included. */
export function writtenTo(mount: string): number {
  execFileSync('sync', ['-f', mount]);
  const device = execFileSync('findmnt', ['-no', 'SOURCE', mount], { encoding: 'utf8' }).trim();
  const fields = readFileSync(`/sys/block/${device.replace('/dev/', '')}/stat`, 'utf8')
    .trim()
    .split(/\s+/);
  return Number(fields[6]) * 512;
}

/** Bytes a process has had written to disks so far, as the kernel counts them. */
export function writtenBy(pid: number): number {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8');
  return Number(/^write_bytes: (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

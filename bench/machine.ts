import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os';

/** The machine in general words: nothing that names it. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly disk: string;
  readonly node: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: `Linux ${release().split('-')[0]}`,
    disk: `${diskKind()}, ${fileSystem()}`,
    node: process.versions.node,
  };
}

/** Load of the last minute, processes: what else the machine had to do. */
export const load = (): number => Math.round((loadavg()[0] ?? 0) * 100) / 100;

interface Device {
  readonly name: string;
  readonly rota: boolean;
  readonly type: string;
}

function diskKind(): string {
  const { blockdevices } = JSON.parse(
    execFileSync('lsblk', ['-J', '-d', '-o', 'NAME,ROTA,TYPE'], { encoding: 'utf8' }),
  ) as {
    blockdevices: Device[];
  };
  const disk = blockdevices.find(({ name, type }) => type === 'disk' && !/^(zram|ram|loop)/.test(name));
  if (disk === undefined) return 'unknown disk';
  if (disk.name.startsWith('vd')) return 'virtual disk (virtio)';
  if (disk.name.startsWith('nvme')) return 'NVMe disk';
  if (disk.name.startsWith('mmcblk')) return 'SD card or eMMC';
  return disk.rota ? 'rotating disk' : 'solid state disk';
}

/** The file system the measurements write to, by its magic number. */
function fileSystem(): string {
  const names: Readonly<Record<number, string>> = {
    61267: 'ext4',
    16914836: 'tmpfs',
    1481003842: 'xfs',
    2435016766: 'btrfs',
    2035054128: 'overlayfs',
  };
  const { type } = statfsSync(tmpdir());
  return names[type] ?? `file system ${type.toString(16)}`;
}

/** Memory of a process in MiB, as the kernel counts it. */
export function memoryOf(pid: number): { rss: number; anonymous: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024;
  return { rss: mib('VmRSS'), anonymous: mib('RssAnon') };
}

/** Memory of a process in MiB, in which what it shares with others counts in parts. */
export function shareOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN) / 1024;
}

/** The processes a process has started and that still run. */
export function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      return new RegExp(`^PPid:\\s+${parent}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  });
}

/** Processor time a process has used, milliseconds; the kernel counts in steps of 10. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { metricsOf } from '../harness/control.ts';
import type { Site } from '../harness/site.ts';
import type { Bounds, Sample } from './flat.ts';

const mib = 1024 ** 2;
/** Of the kernel's clock ticks (USER_HZ), which Linux gives to programs as 100 a second on every machine. */
const ticksPerSecond = 100;

/** Once less than this share of a small disk is free, `bulk.db` grows no more and pictures give way (docs/outbox.md, `hard`). */
const lowShare = 0.1;
/** Of a small disk, for the reserve file. */
const reserveShare = 1 / 16;

/** What the daemon's files may fill up to on the disk of their own, MiB, of which pictures have so much. */
export function boundsOf(mount: string, picturesMib: number): Bounds {
  const { blocks, bsize } = statfsSync(mount);
  const most = ((blocks * bsize) / mib) * (1 - lowShare - reserveShare);
  return { databases: most - picturesMib, 'state directory': most };
}

/** Looks at the daemon's process, its metrics and its files again and again. What does not answer just then is left out. */
export function watchDaemon(options: {
  site: Pick<Site, 'daemon' | 'socket' | 'stateDir'>;
  everyMs: number;
  /** Told each sample. */
  onSample: (sample: Sample) => void;
}): { stop(): Promise<readonly Sample[]> } {
  const { site } = options;
  const samples: Sample[] = [];
  const began = performance.now();
  const over = new AbortController();
  let before: { pid: number; ticks: number; atMs: number } | undefined;

  function processorOf(pid: number): number | undefined {
    // The name of the process, in brackets, may have blanks; user and system time are fields 14 and 15.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    const now = { pid, ticks: Number(fields[11]) + Number(fields[12]), atMs: performance.now() };
    const last = before?.pid === pid ? before : undefined;
    before = now;
    if (last === undefined) return undefined;
    return (((now.ticks - last.ticks) / ticksPerSecond) * 100_000) / (now.atMs - last.atMs);
  }

  async function look(): Promise<void> {
    const { pid } = site.daemon;
    const at = Math.round((performance.now() - began) / 100) / 10;
    const metrics = await metricsOf(site.socket);
    const processor = processorOf(pid);
    const values = { ...ofProcess(pid), ...ofMetrics(metrics), ...ofFiles(site.stateDir) };
    if (site.daemon.pid !== pid) return;
    const sample = { at, pid, values: { ...values, ...(processor !== undefined && { processor }) } };
    samples.push(sample);
    options.onSample(sample);
  }

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      // A daemon that is just being started, or whose disk is just being mounted.
      await look().catch(() => undefined);
      await pause(options.everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  }
  const running = run();
  return {
    async stop() {
      over.abort();
      await running;
      return samples;
    },
  };
}

function ofProcess(pid: number): Record<string, number> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    RSS: field('VmRSS') / 1024,
    RssAnon: field('RssAnon') / 1024,
    'highest RSS': field('VmHWM') / 1024,
    threads: field('Threads'),
    'file descriptors': readdirSync(`/proc/${pid}/fd`).length,
  };
}

function ofMetrics(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const sum = (name: string) =>
    lines
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  const one = (start: string) =>
    Number(
      lines
        .find((line) => line.startsWith(start))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  return {
    'heap used': sum('siteward_nodejs_heap_size_used_bytes') / mib,
    'external memory': sum('siteward_nodejs_external_memory_bytes') / mib,
    timers: one('siteward_nodejs_active_resources{type="Timeout"}'),
    handles: sum('siteward_nodejs_active_handles_total'),
    'event loop lag, p99': sum('siteward_nodejs_eventloop_lag_p99_seconds') * 1000,
    'events that wait': sum('siteward_store_pending'),
  };
}

/** What lies there; the reserve file, which only holds room, is left out. */
function ofFiles(stateDir: string): Record<string, number> {
  const sizes = readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).map((name) => ({
    name,
    bytes: name === 'reserve' ? 0 : sizeOf(join(stateDir, name)),
  }));
  const sum = (wanted: (name: string) => boolean) =>
    sizes.filter(({ name }) => wanted(name)).reduce((total, { bytes }) => total + bytes, 0) / mib;
  return {
    databases: sum((name) => name.endsWith('.db')),
    WAL: sum((name) => name.endsWith('-wal')),
    'alarm.log': sum((name) => name === 'alarm.log'),
    pictures: sum((name) => name.startsWith('spool/')),
    'state directory': sum(() => true),
  };
}

/** Files come and go while they are looked at. */
function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : 0;
}

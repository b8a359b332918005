import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { coarseBytes } from '#lib/coarse-bytes.ts';
import { type Lane, lanes } from '#site/model/index.ts';
import { fileNames } from './lanes.ts';
import { type Report, trimmedKinds } from './protocol.ts';
import { storageLevels } from './types.ts';

export interface StoreMetrics {
  /** Takes over what the worker reports. */
  report(report: Report): void;
  refused(): void;
  restarted(): void;
}

export function storeMetrics(options: {
  metrics: Registry;
  queue: () => { count: number; bytes: number };
}): StoreMetrics {
  const registers = [options.metrics];
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({ name: `siteward_store_${name}`, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `siteward_store_${name}`, help, labelNames, registers });
  const commits = counter('commits_total', 'Transactions that reached the disk.', ['file']);
  const errors = counter('errors_total', 'Failed transactions and opens.', ['file', 'code']);
  const trimmed = counter('trimmed_total', 'Entries that gave way at a cap.', ['what']);
  const refused = counter('refused_total', 'Requests refused because the queue was full.');
  const restarts = counter('worker_restarts_total', 'Starts of the store thread after it died.');
  const pending = gauge('pending', 'Events waiting for the cloud.', ['lane']);
  const bytes = gauge('file_bytes', 'Size of a database with its log, in whole steps of 16 MiB.', ['file']);
  const wal = gauge('wal_bytes', "Size of a database's write-ahead log, in whole steps of 16 MiB.", ['file']);
  const restored = counter('restored_total', 'Events that a damaged file gave back.');
  const rows = new Histogram({
    name: 'siteward_store_commit_rows',
    help: 'Requests in one transaction.',
    labelNames: ['file'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    registers,
  });
  const seconds = new Histogram({
    name: 'siteward_store_commit_seconds',
    help: 'Time of one transaction, the disk included.',
    labelNames: ['file'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const lost = counter('lost_total', 'Events given up before the cloud had them, each in a gap record.', ['lane']);
  const gaps = gauge('gaps', 'Gap records that no event tells of yet.');
  const free = gauge('free_bytes', 'Free space on the disk of the state directory, in whole steps of 16 MiB.');
  const level = gauge('storage_level', 'State of that disk: 1 for the level that holds.', ['level']);
  const counted: Record<Lane, number> = { alarm: 0, arming: 0, trouble: 0, activity: 0 };
  depthGauges(options);
  for (const what of trimmedKinds) trimmed.inc({ what }, 0);
  return {
    report(report) {
      for (const { file, rows: count, shown, seconds: took } of report.transactions) {
        if (!shown) continue;
        commits.inc({ file });
        rows.observe({ file }, count);
        seconds.observe({ file }, took);
      }
      for (const { file, code } of report.errors) errors.inc({ file, code });
      for (const what of trimmedKinds) if (report.trimmed[what] > 0) trimmed.inc({ what }, report.trimmed[what]);
      for (const lane of lanes) pending.set({ lane }, report.pending[lane]);
      bytes.set({ file: 'site' }, coarseBytes(report.bytes.site));
      bytes.set({ file: 'bulk' }, coarseBytes(report.bytes.bulk));
      for (const file of fileNames) wal.set({ file }, coarseBytes(report.files[file].walBytes ?? 0));
      if (report.restored > 0) restored.inc(report.restored);
      for (const lane of lanes) {
        if (report.lost[lane] > counted[lane]) lost.inc({ lane }, report.lost[lane] - counted[lane]);
        counted[lane] = report.lost[lane];
      }
      gaps.set(report.openGaps);
      if (report.storage.freeBytes !== undefined) free.set(coarseBytes(report.storage.freeBytes));
      for (const one of storageLevels) level.set({ level: one }, one === report.storage.level ? 1 : 0);
    },
    refused: () => refused.inc(),
    restarted: () => restarts.inc(),
  };
}

function depthGauges({ metrics, queue }: { metrics: Registry; queue: () => { count: number; bytes: number } }): void {
  const make = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [metrics],
      collect() {
        this.set(value());
      },
    });
  make('siteward_store_queue_depth', 'Requests that wait for the store thread.', () => queue().count);
  make('siteward_store_queue_bytes', 'Bytes of the requests that wait.', () => queue().bytes);
}

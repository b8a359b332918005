import { readFile } from 'node:fs/promises';
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { coarseBytes } from '#lib/coarse-bytes.ts';

/** Metrics of the process itself, whatever parts run in it. */
export function processMetrics(): Registry {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics, prefix: 'siteward_' });
  new Counter({
    name: 'siteward_written_bytes_total',
    help: 'Bytes this process had written to storage, as the kernel counts them, in whole steps of 16 MiB.',
    registers: [metrics],
    async collect() {
      const io = await readFile('/proc/self/io', 'utf8').catch(() => '');
      const bytes = /^write_bytes: (\d+)$/m.exec(io)?.[1];
      this.reset();
      if (bytes !== undefined) this.inc(coarseBytes(Number(bytes)));
    },
  });
  return metrics;
}

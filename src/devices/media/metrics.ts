import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MediaItem } from '#site/model/index.ts';

/** None of them knows of silent events (safety 4). */
export interface MediaMetrics {
  captured(kind: MediaItem['kind'], result: 'ready' | 'failed' | 'refused'): void;
  /** By the code of what prevented it. */
  failed(code: string): void;
  /** From the planned moment to the picture on disk. */
  took(ms: number): void;
  gaveWay(): void;
}

export function mediaMetrics(registry: Registry, spoolBytes: () => number): MediaMetrics {
  const registers = [registry];
  const captures = new Counter({
    name: 'siteward_media_captures_total',
    help: 'Pictures and clips made, by kind and result',
    labelNames: ['kind', 'result'],
    registers,
  });
  const failures = new Counter({
    name: 'siteward_media_failures_total',
    help: 'Pictures and clips that could not be made, by reason',
    labelNames: ['reason'],
    registers,
  });
  const givenUp = new Counter({
    name: 'siteward_media_given_up_total',
    help: 'Pictures and clips that gave way to others because the media budget was used up',
    registers,
  });
  const latency = new Histogram({
    name: 'siteward_media_capture_seconds',
    help: 'Time from the planned moment to the picture on disk',
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers,
  });
  new Gauge({
    name: 'siteward_media_spool_bytes',
    help: 'Bytes of pictures and clips on disk; those of silent events stand in no figure',
    registers,
    collect() {
      this.set(spoolBytes());
    },
  });
  return {
    captured: (kind, result) => captures.inc({ kind, result }),
    failed: (reason) => failures.inc({ reason }),
    took: (ms) => latency.observe(ms / 1000),
    gaveWay: () => givenUp.inc(),
  };
}

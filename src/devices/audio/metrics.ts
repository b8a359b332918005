import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { SpeakerDriverName } from './options.ts';

export interface AudioMetrics {
  /** What one speaker did of a playback has ended. */
  ended(of: {
    readonly driver: SpeakerDriverName;
    readonly category: string;
    readonly status: string;
    readonly reason: string;
  }): void;
  /** From the request to the first sample, of what did not have to wait for another one. */
  began(driver: SpeakerDriverName, ms: number): void;
  /** From the order to stop to silence. */
  stopped(driver: SpeakerDriverName, ms: number): void;
  killed(driver: SpeakerDriverName): void;
  preempted(): void;
  /** It sounded before it was on disk. */
  undurable(): void;
  refused(reason: string): void;
}

/** None of them knows of silent events (safety 4): nothing of such is ever played. */
export function audioMetrics(
  registry: Registry,
  now: {
    readonly queued: () => number;
    readonly cacheBytes: () => number;
    readonly speakers: () => readonly { readonly id: string; readonly up: boolean | null }[];
  },
): AudioMetrics {
  const registers = [registry];
  const sounds = new Counter({
    name: 'siteward_audio_sounds_total',
    help: 'Messages on single speakers, by driver, category, how they ended and why',
    labelNames: ['driver', 'category', 'status', 'reason'],
    registers,
  });
  const begins = new Histogram({
    name: 'siteward_audio_start_seconds',
    help: 'Time from the request to the first sample, without what waited for another message',
    labelNames: ['driver'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
    registers,
  });
  const stops = new Histogram({
    name: 'siteward_audio_stop_seconds',
    help: 'Time from the order to stop to silence',
    labelNames: ['driver'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1],
    registers,
  });
  const kills = new Counter({
    name: 'siteward_audio_killed_total',
    help: 'Sounds that did not stop in their time, by driver',
    labelNames: ['driver'],
    registers,
  });
  const cuts = new Counter({
    name: 'siteward_audio_preempted_total',
    help: 'Messages that were cut by one above them',
    registers,
  });
  const late = new Counter({
    name: 'siteward_audio_undurable_total',
    help: 'Sounds that began before they were written down',
    registers,
  });
  const refusals = new Counter({
    name: 'siteward_audio_refused_total',
    help: 'Requests to play that were refused, by reason',
    labelNames: ['reason'],
    registers,
  });
  new Gauge({
    name: 'siteward_audio_queue_depth',
    help: 'Messages that wait for speakers',
    registers,
    collect() {
      this.set(now.queued());
    },
  });
  new Gauge({
    name: 'siteward_audio_cache_bytes',
    help: 'Memory of messages that are ready to be played',
    registers,
    collect() {
      this.set(now.cacheBytes());
    },
  });
  new Gauge({
    name: 'siteward_audio_speaker_up',
    help: '1 while a speaker answers and plays',
    labelNames: ['speaker'],
    registers,
    collect() {
      this.reset();
      for (const { id, up } of now.speakers()) this.set({ speaker: id }, up === true ? 1 : 0);
    },
  });
  return {
    ended: (of) => sounds.inc({ ...of }),
    began: (driver, ms) => begins.observe({ driver }, ms / 1000),
    stopped: (driver, ms) => stops.observe({ driver }, ms / 1000),
    killed: (driver) => kills.inc({ driver }),
    preempted: () => cuts.inc(),
    undurable: () => late.inc(),
    refused: (reason) => refusals.inc({ reason }),
  };
}

import { Counter, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { type DeviceId, isoTime } from '#site/model/index.ts';
import { blanked, withoutDigits } from './blank.ts';
import type { BuiltPanel } from './load.ts';
import type { Message } from './reading.ts';

/** What a bridge said, without codes. */
export interface RawFrame {
  readonly at: string;
  readonly topic: string;
  readonly raw: string;
  readonly retain: boolean;
}

/** The messages of panels as they come, for a technician, for some minutes. */
export interface RawWatch {
  /** False where no such panel is read. None ends it; a longer time begins anew. */
  watch(panel: DeviceId, minutes: number): boolean;
  /** Takes each message of a panel of which nothing is hidden (safety 4). */
  heard(panel: BuiltPanel, message: Message): void;
}

const watchMinutes = 10;
/** Frames a second; what is more is counted and gone. */
const framesPerSecond = 20;
const rawBytes = 4096;

/** Nothing of it outlives this object: a restart, and a change of the panels, end every watch. */
export function createRawWatch(options: {
  readonly panels: readonly DeviceId[];
  readonly publish: (panel: DeviceId, frame: RawFrame) => void;
  readonly clock: Clock;
  readonly metrics: Registry;
}): RawWatch {
  const { clock, publish } = options;
  const until = new Map<DeviceId, number>();
  const limit = rateLimit({ clock, burst: framesPerSecond, perSecond: framesPerSecond, cap: 64 });
  const dropped = new Counter({
    name: 'siteward_panel_raw_dropped_total',
    help: 'Messages of a watched panel that were not shown: too many in a second, too long, or no text.',
    labelNames: ['panel'] as const,
    registers: [options.metrics],
  });
  return {
    watch(panel, minutes) {
      if (!options.panels.includes(panel)) return false;
      until.set(panel, clock.monotonic() + Math.min(minutes, watchMinutes) * 60_000);
      return true;
    },
    heard({ options: { id }, compiled }, { topic, payload, retain }) {
      if ((until.get(id) ?? Number.NEGATIVE_INFINITY) <= clock.monotonic()) return;
      // Before any work: a flood must cost nothing but the count.
      const raw = limit.take(id) && payload.byteLength <= rawBytes ? blanked(compiled, topic, payload) : undefined;
      if (raw === undefined) dropped.inc({ panel: id });
      // A bridge may carry what is typed in its topic.
      else publish(id, { at: isoTime(clock.wall()), topic: withoutDigits(topic), raw, retain });
    },
  };
}

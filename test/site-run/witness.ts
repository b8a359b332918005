import { setTimeout as pause } from 'node:timers/promises';
import type { EventEntry, StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Site } from '../harness/site.ts';
import { keyOf } from './history.ts';

/** Whether and when the site shows what was done. It only paces the doers; what is true they know themselves. */
export interface Witness {
  /**
   * Resolves when these events of a partition have been shown, in this order, after all it has shown before. `again` repeats the
   * deed, which has no second effect. Rejects when it takes too long.
   */
  shown(partition: string, keys: readonly string[], again: () => Promise<unknown> | unknown): Promise<void>;
  /** Resolves when the site hears a camera. */
  hears(camera: string): Promise<void>;
  /** The partition's state as the site tells it now. */
  state(partition: string): Promise<string | undefined>;
}

const againMs = 2500;

/**
 * @param mayBeInMemory whether an event that is not on disk counts: only while nobody ends the daemon, as while the disk is full.
 * @param patienceMs how long something may take.
 */
export function witness(site: Site, mayBeInMemory: () => boolean, patienceMs = 150_000): Witness {
  const last = new Map<string, number>();
  const counts = (event: SiteEvent) => event.data.durable !== false || mayBeInMemory();

  const status = async () => (await site.api('/api/v1/status').catch(() => undefined)) as StatusDocument | undefined;

  async function kept(): Promise<readonly SiteEvent[]> {
    const page = (await site.api('/api/v1/events?limit=200')) as { items: EventEntry[] };
    return page.items.map(({ event }) => event);
  }

  /** The number of the last of `keys` in `events`, where all are there in their order. */
  function find(events: readonly SiteEvent[], partition: string, keys: readonly string[]): number | undefined {
    let seq = last.get(partition) ?? 0;
    const own = events.filter((event) => event.partition === partition).sort((a, b) => a.seq - b.seq);
    for (const key of keys) {
      const found = own.find((event) => event.seq > seq && keyOf(event) === key);
      if (found === undefined) return undefined;
      seq = found.seq;
    }
    return seq;
  }

  return {
    async shown(partition, keys, again) {
      const giveUpAt = performance.now() + patienceMs;
      let lookAt = performance.now() + againMs;
      const from = Math.max(0, site.lan.events.length - 200);
      while (performance.now() < giveUpAt) {
        const seen = site.lan.events.slice(from).map(({ event }) => event);
        let seq = find(seen.filter(counts), partition, keys);
        if (seq === undefined && performance.now() > lookAt) {
          seq = await kept().then(
            (events) => find(events, partition, keys),
            () => undefined,
          );
          if (seq === undefined) await again();
          lookAt = performance.now() + againMs;
        }
        if (seq !== undefined) {
          last.set(partition, seq);
          return;
        }
        await pause(15);
      }
      throw new Error(`${partition}: ${keys.join(', ')}`);
    },
    async hears(camera) {
      const isUp = async () =>
        (await status())?.cameras.find(({ id }) => id === camera)?.up === true ? true : undefined;
      await eventually(`${camera} is heard`, isUp, { timeoutMs: patienceMs });
    },
    async state(partition) {
      return (await status())?.partitions.find(({ id }) => id === partition)?.state;
    },
  };
}

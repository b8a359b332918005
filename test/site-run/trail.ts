import { setTimeout as pause } from 'node:timers/promises';
import type { EventEntry } from '#lan/http/index.ts';
import type { Site } from '../harness/site.ts';

/**
 * The delivery trail as it was told while it was there: on a full disk what has been delivered gives way first, and with it why
 * a picture is missing.
 */
export function collectTrail(site: Site): {
  stop(): Promise<void>;
  with(last: readonly EventEntry[]): readonly EventEntry[];
} {
  const known = new Map<string, EventEntry>();
  let isOver = false;
  const add = (entries: readonly EventEntry[]) => {
    for (const entry of entries) known.set(entry.event.event_id, entry);
  };
  async function run(): Promise<void> {
    while (!isOver) {
      const page = (await site.api('/api/v1/events?limit=200').catch(() => undefined)) as
        | { items: EventEntry[] }
        | undefined;
      add(page?.items ?? []);
      await pause(300);
    }
  }
  const running = run();
  return {
    async stop() {
      isOver = true;
      await running;
    },
    with(last) {
      add(last);
      return [...known.values()];
    },
  };
}

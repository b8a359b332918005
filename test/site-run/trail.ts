import { setTimeout as pause } from 'node:timers/promises';
import type { EventEntry } from '#lan/http/index.ts';
import type { Site } from '../harness/site.ts';

const everyMs = 300;
/** Entries asked for by their number after each page. */
const askedAtOnce = 20;

export interface Trail {
  /** Looks once at the newest page, and at what it no longer shows of pictures under way. */
  look(): Promise<void>;
  stop(): Promise<void>;
  with(last: readonly EventEntry[]): readonly EventEntry[];
  /** Events that gave way to others on a full disk before anybody read what had become of their pictures. */
  readonly gaveWay: ReadonlySet<string>;
}

/**
 * The delivery trail as it was told while it was there: on a full disk what has been delivered gives way first, and with it why
 * a picture is missing. It does so only when none of its pictures is under way, so that one whose last entry still says so had ended.
 */
export function openTrail(site: Pick<Site, 'api'>, isDiskFull: () => boolean): Omit<Trail, 'stop'> {
  const known = new Map<string, EventEntry>();
  /** With pictures under way, and when they were last seen so; `performance.now()`. */
  const underWay = new Map<string, number>();
  const gaveWay = new Set<string>();
  let fullAt = Number.NEGATIVE_INFINITY;

  const ask = async (query: string): Promise<readonly EventEntry[] | undefined> =>
    site.api(`/api/v1/events?${query}`).then(
      (page) => (page as { items: EventEntry[] }).items,
      () => undefined,
    );

  function add(entries: readonly EventEntry[]): void {
    for (const entry of entries) {
      const { event_id } = entry.event;
      known.set(event_id, entry);
      gaveWay.delete(event_id);
      if (entry.media.some(({ state }) => state === 'planned' || state === 'ready'))
        underWay.set(event_id, performance.now());
      else underWay.delete(event_id);
    }
  }

  async function lookFor(event_id: string, seenAt: number): Promise<void> {
    const { seq } = known.get(event_id)?.event ?? {};
    if (seq === undefined) return;
    const found = await ask(`before=${seq + 1}&limit=1`);
    const entry = found?.find(({ event }) => event.event_id === event_id);
    if (entry !== undefined) add([entry]);
    if (found === undefined || entry !== undefined) return;
    underWay.delete(event_id);
    if (isDiskFull() || fullAt >= seenAt) gaveWay.add(event_id);
  }

  return {
    gaveWay,
    async look() {
      if (isDiskFull()) fullAt = performance.now();
      const page = await ask('limit=200');
      if (page === undefined) return;
      add(page);
      const shown = new Set(page.map(({ event }) => event.event_id));
      const left = [...underWay].filter(([id]) => !shown.has(id)).slice(0, askedAtOnce);
      for (const [id, seenAt] of left) await lookFor(id, seenAt);
    },
    with(last) {
      add(last);
      return [...known.values()];
    },
  };
}

export function collectTrail(site: Pick<Site, 'api'>, isDiskFull: () => boolean): Omit<Trail, 'look'> {
  const { look, ...trail } = openTrail(site, isDiskFull);
  let isOver = false;
  async function run(): Promise<void> {
    while (!isOver) {
      await look();
      await pause(everyMs);
    }
  }
  const running = run();
  return {
    ...trail,
    async stop() {
      isOver = true;
      await running;
    },
  };
}

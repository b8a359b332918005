import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createLive, type EventHistory, type LanPort, type Live } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#site/store/index.ts';
import { type House, running } from './house.ts';

/** The streams of the LAN API, told of what it answers. */
export function liveStreams(
  house: House,
  lan: Pick<LanPort, 'status' | 'partitions' | 'zones' | 'audio'>,
  { clock, log, metrics }: { clock: Clock; log: Logger; metrics: Registry },
): Live {
  return createLive({
    source: {
      status: lan.status,
      zones: lan.zones,
      partitions: lan.partitions,
      playbacks: lan.audio.playbacks,
      history: eventHistory(() => running(house, 'store')),
    },
    clock,
    log,
    metrics,
  });
}

/** Events by the numbers everybody sees; none is given twice, and a silent one has none of its own (safety 4). */
function eventHistory(store: () => Pick<Store, 'events' | 'rowOf' | 'numbersOf' | 'recovery'>): EventHistory {
  const newest = async () => (await store().events({ limit: 1 }))[0]?.event.seq ?? 0;
  return {
    newest,
    async jump() {
      const { lost, lastSeq, nextSeq, hidden } = store().recovery();
      if (lost) return undefined;
      const [last = lastSeq] = await store().numbersOf([lastSeq]);
      return { last, next: nextSeq - hidden };
    },
    async after(number, limit) {
      const last = await newest();
      if (last <= number) return { events: [], through: number, isEnd: true };
      // Over numbers of which nothing is kept any more.
      const [found = number + 1] = await store().numbersOf([await store().rowOf(number + 1)]);
      const from = Math.max(found, number + 1);
      const through = Math.min(from + limit - 1, last);
      const records = await store().events({
        limit: Math.max(1, through - from + 1),
        beforeSeq: await store().rowOf(through + 1),
      });
      const events = records.map(({ event }) => event).filter(({ seq }) => seq > number && seq <= through);
      return { events: events.reverse(), through: Math.max(through, number), isEnd: false };
    },
  };
}

import { Counter, Gauge, type Registry } from 'prom-client';

/** `open`: how many streams there are now. */
export function liveMetrics(metrics: Registry, open: () => number) {
  const registers = [metrics];
  new Gauge({
    name: 'siteward_live_streams',
    help: 'Streams of the LAN API that are open',
    registers,
    collect() {
      this.set(open());
    },
  });
  return {
    sent: new Counter({
      name: 'siteward_live_messages_total',
      help: 'Messages that were sent on streams of the LAN API',
      registers,
    }),
    dropped: new Counter({
      name: 'siteward_live_dropped_total',
      help: 'Messages that were not sent because a client of a stream was too slow',
      registers,
    }),
    ended: new Counter({
      name: 'siteward_live_ended_total',
      help: 'Streams of the LAN API that ended, by reason: gone, overrun, denied, stopped',
      labelNames: ['reason'],
      registers,
    }),
    refused: new Counter({
      name: 'siteward_live_refused_total',
      help: 'Streams of the LAN API that were refused because too many are open',
      registers,
    }),
  };
}

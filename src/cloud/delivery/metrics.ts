import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type DeliveryMetrics = ReturnType<typeof deliveryMetrics>;

/** What is so at the moment; asked for at each scrape. */
export interface Shown {
  readonly inFlight: number;
  readonly size: number;
  readonly aside: number;
  readonly unsettled: number;
  readonly breaker: 'closed' | 'half-open' | 'open';
}

export function deliveryMetrics(registry: Registry, shown: () => Shown) {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (now: Shown) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(shown()));
      },
    });
  gauge('siteward_delivery_in_flight', 'Events being sent', ({ inFlight }) => inFlight);
  gauge('siteward_delivery_window', 'Events in memory on their way out', ({ size }) => size);
  gauge(
    'siteward_delivery_aside',
    'Events that wait by themselves for another try, because the cloud refused or failed on them',
    ({ aside }) => aside,
  );
  gauge(
    'siteward_delivery_breaker',
    'Whether events are held back: 0 no, 1 probing, 2 yes',
    ({ breaker }) => ({ closed: 0, 'half-open': 1, open: 2 })[breaker],
  );
  gauge('siteward_delivery_unsettled', 'Verdicts not yet on disk', ({ unsettled }) => unsettled);
  return {
    tries: new Counter({
      name: 'siteward_delivery_tries_total',
      help: 'Tries to send an event, by the row of the status table that decided',
      labelNames: ['outcome'],
      registers,
    }),
    delivered: new Counter({
      name: 'siteward_delivery_delivered_total',
      help: 'Events the cloud accepted',
      labelNames: ['lane'],
      registers,
    }),
    parked: new Counter({
      name: 'siteward_delivery_parked_total',
      help: 'Events the cloud refused for good; they wait for a technician',
      labelNames: ['lane'],
      registers,
    }),
    latency: new Histogram({
      name: 'siteward_delivery_latency_seconds',
      help: 'From the event to its acceptance',
      labelNames: ['lane'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600],
      registers,
    }),
    looks: new Counter({
      name: 'siteward_delivery_line_looks_total',
      help: 'Looks whether a server that could not be reached takes connections again, by what they found',
      labelNames: ['outcome'],
      registers,
    }),
    renewed: new Counter({
      name: 'siteward_delivery_renewed_total',
      help: 'Times all connections were made anew because nothing had been delivered for ten minutes',
      registers,
    }),
    directDropped: new Counter({
      name: 'siteward_delivery_direct_dropped_total',
      help: 'Events to be sent from memory that gave way at the cap; they wait until they can be written',
      labelNames: ['lane'],
      registers,
    }),
    uploads: new Counter({
      name: 'siteward_delivery_uploads_total',
      help: 'Tries to upload a picture or clip, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    uploadedBytes: new Counter({
      name: 'siteward_delivery_uploaded_bytes_total',
      help: 'Bytes of pictures and clips the cloud took',
      registers,
    }),
  };
}

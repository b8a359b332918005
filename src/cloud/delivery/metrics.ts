import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type DeliveryMetrics = ReturnType<typeof deliveryMetrics>;

export function deliveryMetrics(registry: Registry) {
  const registers = [registry];
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
    inFlight: new Gauge({ name: 'siteward_delivery_in_flight', help: 'Events being sent', registers }),
    window: new Gauge({ name: 'siteward_delivery_window', help: 'Events in memory on their way out', registers }),
    aside: new Gauge({
      name: 'siteward_delivery_aside',
      help: 'Events that wait by themselves for another try, because the cloud refused or failed on them',
      registers,
    }),
    breaker: new Gauge({
      name: 'siteward_delivery_breaker',
      help: 'Whether events are held back: 0 no, 1 probing, 2 yes',
      registers,
    }),
    unsettled: new Gauge({
      name: 'siteward_delivery_unsettled',
      help: 'Verdicts not yet on disk',
      registers,
    }),
    directDropped: new Counter({
      name: 'siteward_delivery_direct_dropped_total',
      help: 'Events that were in memory only and gave way at the cap',
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

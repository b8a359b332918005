import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { encodeEvent } from '#cloud/contract/index.ts';
import { systemClock } from '#lib/clock.ts';
import { createController } from '#site/controller.ts';
import type { SitePlan } from '#site/model/index.ts';
import type { Store } from '#site/store/index.ts';
import { backlog, delivering, withBacklog } from './drain.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';

const slots = 8;
const everyMs = 20;
const zones = 64;
const goalMs = 20;

/** How long an alarm waits for its protection while the main thread is busy with something else. */
export const protect: Measurement = {
  name: 'protect',
  title: 'From an alarm to its protection while a backlog drains',
  about: `The delivery drains ${backlog.toLocaleString('en')} waiting events to the sandbox cloud, ${slots} requests side by side, as in
"drain". Every ${everyMs} ms a thread of its own reports a fire; the clock runs from there, over the event loop of the main thread, through
the controller and the core, to the order for its pictures (class \`protect\`, which waits for no disk). Every report becomes a
durable event beside the drain. Goal: under ${goalMs} ms in 99 of 100.`,
  async run(tell) {
    tell(`a backlog of ${backlog}`);
    const waited = await withBacklog(async ({ store, cloud, nextSeq }) => {
      const { delivery, done } = delivering(store, cloud, { slots });
      const found: number[] = [];
      let reportedNs = 0n;
      const controller = createController({
        plan,
        bridgeId: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11',
        store: numberedFrom(store, nextSeq),
        ports: {
          publish: { state: () => undefined, event: () => undefined },
          panels: { send: () => undefined },
          capture: { capture: () => void found.push(Number(process.hrtime.bigint() - reportedNs) / 1e6) },
          sound: { hush: () => undefined, decided: () => undefined },
          delivery: { wake: delivery.wake, direct: delivery.direct },
          encode: (event, draft) => encodeEvent(event, draft, identity),
        },
        clock: systemClock(),
        quality: () => 'synced',
        log: pino({ level: 'silent' }),
        metrics: new Registry(),
      });
      await controller.start(new AbortController().signal);
      await delivery.start(new AbortController().signal);
      const detectors = new Worker(reports, { eval: true, workerData: everyMs });
      let count = 0;
      detectors.on('message', (sentNs: bigint) => {
        reportedNs = sentNs;
        void controller.signals([smoke(count, true)]);
        void controller.signals([smoke(count + zones / 2, false)]);
        count += 1;
      });
      await done;
      await detectors.terminate();
      await delivery.stop();
      await controller.stop();
      return found;
    });
    const p99 = rounded(percentile(waited, 0.99));
    return [
      { name: 'alarms', value: waited.length, unit: '' },
      { name: 'alarm to protect effect, median', value: rounded(percentile(waited, 0.5)), unit: 'ms' },
      { name: 'alarm to protect effect, p99', value: p99, unit: 'ms', goal: `under ${goalMs} ms`, met: p99 < goalMs },
      { name: 'alarm to protect effect, longest', value: rounded(Math.max(...waited)), unit: 'ms' },
    ] satisfies Figure[];
  },
};

/** The thread of the detectors: says when it spoke, on the clock that all threads share. */
const reports = `
const { parentPort, workerData } = require('node:worker_threads');
setInterval(() => parentPort.postMessage(process.hrtime.bigint()), workerData);
`;

const smoke = (count: number, open: boolean) =>
  ({
    kind: 'zone',
    source: { kind: 'panel', id: 'main' },
    zone: String((count % zones) + 1),
    open,
    replay: false,
  }) as const;

/** The store as a start would find it: the backlog was written without a controller. */
const numberedFrom = (store: Store, nextSeq: number): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'recovery') return () => ({ ...target.recovery(), nextSeq });
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

const identity = { locationId: 'bench', recorderId: 'sw-bench', cameraIds: { yard: 'cam-1' }, version: '1.0' };
const plan: SitePlan = {
  siteId: 'bench',
  securityType: 3,
  partitions: [
    {
      ...{ id: 'p1', name: 'House', authority: 'engine', exitDelayMs: 60_000, entryDelayMs: 30_000 },
      ...{ abortDelayMs: 0, cancelWindowMs: 300_000, exitRestart: true, autoStay: false },
    },
  ],
  swingerTrips: 0,
  crossZones: [],
  zones: Array.from({ length: zones }, (_, index) => ({
    number: String(index + 1),
    name: `Smoke ${index + 1}`,
    type: 'fire',
    partitions: ['p1'],
    source: { kind: 'panel', id: 'main' },
    cameras: ['yard'],
    detections: [],
  })),
  cameras: [{ id: 'yard', name: 'Yard', partitions: ['p1'], pictures: 'always' }],
  media: { snapshots: 1, intervalMs: 1000, maxPerEvent: 1 },
  disarmNeedsCode: true,
  confirmMs: 10_000,
  signalRestores: false,
};

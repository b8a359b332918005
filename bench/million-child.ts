import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#site/store/index.ts';

/** Opens the store of the folder given, commits one alarm, prints how many milliseconds that took, and waits. */
const [dir = ''] = process.argv.slice(2);
const began = performance.now();
const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'error' }), metrics: new Registry() });
await store.start(new AbortController().signal);
const seq = store.recovery().nextSeq;
await store.commit({
  rows: [
    {
      seq,
      lane: 'alarm',
      eventId: `event-${seq}`,
      orderKey: 'p1',
      mono: 1,
      wall: Date.now(),
      boot: 'boot',
      clock: 'synced',
      body: '{}',
      event: {
        event_id: `event-${seq}`,
        event_type: 'burglary',
        kind: 'burglary',
        class: 'alarm',
        status: 'active',
        partition: 'p1',
        seq,
        source: 'panel:main',
        at: new Date().toISOString(),
        data: { version: 1, epoch: 1, clock: 'synced' },
      },
      media: [],
      toCloud: true,
    },
  ],
  arming: [],
  inputs: [],
});
console.log(String(performance.now() - began));
setInterval(() => {}, 60_000);

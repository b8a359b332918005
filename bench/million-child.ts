import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#site/store/index.ts';
import { makeRow } from './rows.ts';

/** Opens the store of the folder given, commits one alarm, prints how many milliseconds that took, and waits. */
const [dir = ''] = process.argv.slice(2);
const began = performance.now();
const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'error' }), metrics: new Registry() });
await store.start(new AbortController().signal);
const seq = store.recovery().nextSeq;
await store.commit({ rows: [makeRow(seq)], arming: [], inputs: [] });
console.log(String(performance.now() - began));
setInterval(() => {}, 60_000);

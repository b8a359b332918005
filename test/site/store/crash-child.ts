import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#site/store/index.ts';
import { commitOf, row } from './rows.ts';

/** Commits in a loop from so many callers (8) and prints its pid, then each seq once its commit has resolved. Ends by being killed. */
const [dir = '', pauseMs = '0', callers = '8'] = process.argv.slice(2);
const store = openStore({ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() });
await store.start(new AbortController().signal);
process.stdout.write(`pid ${process.pid}\n`);
let next = store.recovery().nextSeq;

async function caller(lane: 'alarm' | 'activity'): Promise<never> {
  for (;;) {
    const seq = next;
    next += 1;
    await store.commit(commitOf([row(seq, { lane })], { state: [JSON.stringify({ seq })] }));
    process.stdout.write(`${lane} ${seq}\n`);
    if (pauseMs !== '0') await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
  }
}
await Promise.all(
  Array.from({ length: Number(callers) }, (_, index) => caller(index % 4 === 3 ? 'activity' : 'alarm')),
);

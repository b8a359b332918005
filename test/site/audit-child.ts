import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#site/store/index.ts';

/** Commits audit entries in a loop from four callers and prints a line for each that is on disk. Ends by being killed. */
const [dir = ''] = process.argv.slice(2);
const clock = systemClock();
const store = openStore({ dir, clock, log: pino({ level: 'silent' }), metrics: new Registry() });
await store.start(new AbortController().signal);
const { epoch } = store.recovery();

async function caller(target: string): Promise<never> {
  for (let seq = 1; ; seq += 1) {
    const at = { at_wall: clock.wall(), at_mono: clock.monotonic(), clock: 'synced', epoch } as const;
    const audit = [{ kind: 'transition', source: 'lan', target, action: 'armed_away', seq, ...at } as const];
    await store.commit({ rows: [], arming: [], inputs: [], state: ['{}'], audit });
    process.stdout.write(`${target} ${seq}\n`);
  }
}
await Promise.all(['p1', 'p2', 'p3', 'p4'].map(caller));

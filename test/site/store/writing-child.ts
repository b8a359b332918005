import { once } from 'node:events';
import pino from 'pino';
import { Registry } from 'prom-client';
import { manualClock } from '#lib/clock.fake.ts';
import { openStore } from '#site/store/index.ts';
import { commitOf, row } from './rows.ts';

/** Waits for a line, then writes without an end, whatever the disk says, a line for each commit that was answered. */
const [dir = ''] = process.argv.slice(2);
const store = openStore({
  dir,
  clock: manualClock(),
  log: pino({ level: 'silent' }),
  metrics: new Registry(),
  limits: { lookEveryMs: 50, firstLookMs: 1, keepAlarms: 20 },
});
await store.start(new AbortController().signal);
process.stdout.write('open\n');
await once(process.stdin, 'data');
for (let seq = store.recovery().nextSeq; ; seq += 10) {
  const rows = Array.from({ length: 10 }, (_, index) => {
    const one = seq + index;
    return row(one, {
      lane: one % 2 === 0 ? 'alarm' : 'activity',
      body: JSON.stringify({ seq: one, text: 'x'.repeat(2000) }),
    });
  });
  const answer = await store.commit(commitOf(rows)).then(
    () => 'stored',
    () => 'refused',
  );
  process.stdout.write(`${answer}\n`);
}

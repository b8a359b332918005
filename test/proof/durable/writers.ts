import { writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { Registry } from 'prom-client';
import { createSpool } from '#devices/media/spool.ts';
import { systemClock } from '#lib/clock.ts';
import type { MediaItem } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import { commitOf, row, settled } from '../../site/store/rows.ts';
import type { Said } from './said.ts';

/**
 * Writes events, verdicts and pictures with the real store and spool until it is ended, and says of each what it promises: a line
 * of JSON leaves only after the store has confirmed. Arguments: state directory, pause of each writer in milliseconds,
 * length of an event's body.
 */
const [dir = '', pauseMs = '5', bodyLength = '300'] = process.argv.slice(2);
/** Written at once, so that no promise is left behind in this process. */
const say = (said: Said): void => void writeSync(1, `${JSON.stringify(said)}\n`);
const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }));
const metrics = new Registry();
const store = openStore({ dir, clock: systemClock(), log, metrics });
await store.start(new AbortController().signal);
const spool = createSpool({
  ...{ dir: join(dir, 'spool'), budgetBytes: 64 * 1024 ** 2 },
  ...{ keepMs: 0, wall: systemClock().wall },
});
await spool.open();
const { storeId, epoch, nextSeq } = store.recovery();
let next = nextSeq;
say({ what: 'open', pid: process.pid });

/** Failures are the tests' business: nothing is promised, and the same object is sent again, as the controller does. */
async function confirmed(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await work();
      return await sayGone();
    } catch (error) {
      say({ what: 'failed', why: String(error).slice(0, 120) });
      await pause(50);
    }
  }
}

let gone = 0;
async function sayGone(): Promise<void> {
  const counted = await metrics.getSingleMetric('siteward_store_trimmed_total')?.get();
  const history = counted?.values.find(({ labels }) => labels.what === 'history')?.value ?? 0;
  if (history <= gone) return;
  gone = history;
  say({ what: 'gone', history });
}

function numbered(lane: 'alarm' | 'activity', kinds: readonly MediaItem['kind'][]) {
  const seq = next;
  next += 1;
  const eventId = `${storeId}/${epoch}/${seq}`;
  const media = kinds.map((kind, index) => ({ index, kind, camera: 'yard', offsetMs: 0 }));
  const body = JSON.stringify({ event_id: eventId, text: 'x'.repeat(Number(bodyLength)) });
  return row(seq, { lane, eventId, body, media });
}

async function events(lane: 'alarm' | 'activity'): Promise<never> {
  for (let count = 0; ; count += 1) {
    const event = numbered(lane, []);
    const { seq, eventId } = event;
    const commit = commitOf([event], { state: [JSON.stringify({ seq })] });
    await confirmed(() => store.commit(commit));
    say({ what: 'event', lane, seq, eventId });
    if (count % 5 === 4) {
      await confirmed(() => store.settle([settled(seq, lane)]));
      say({ what: 'settled', lane, seq });
    }
    await pause(Number(pauseMs));
  }
}

/** A picture and a clip with each event, one after the other. */
async function pictures(): Promise<never> {
  for (;;) {
    const event = numbered('alarm', ['snapshot', 'short_mp4']);
    const { seq, eventId } = event;
    const commit = commitOf([event]);
    await confirmed(() => store.commit(commit));
    say({ what: 'event', lane: 'alarm', seq, eventId });
    for (const { index, kind } of event.media) {
      const of = { seq, index, kind, lane: 'alarm' as const };
      const bytes = Buffer.alloc(20_000, (seq + index) % 251);
      await confirmed(async () => {
        // A clip is written by another program, which syncs nothing.
        const { gone: _none, ...stored } =
          kind === 'snapshot' ? await spool.write(of, bytes) : await spool.take(of, (part) => writeFile(part, bytes));
        await store.updateMedia([{ seq, index, lane: 'alarm', at: 1, state: 'ready', ...stored }]);
        say({ what: 'picture', seq, index, file: stored.file, sha256: stored.sha256 });
      });
    }
    await pause(Number(pauseMs) * 20);
  }
}

await Promise.all([events('alarm'), events('alarm'), events('alarm'), events('activity'), pictures()]);

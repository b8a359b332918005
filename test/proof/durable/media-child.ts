import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { Registry } from 'prom-client';
import { createMedia } from '#devices/media/index.ts';
import { systemClock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import type { MediaItem, MediaOutcome } from '#site/model/index.ts';
import { openStore } from '#site/store/index.ts';
import { tinyClip } from '../../harness/tiny-clip.ts';
import { commitOf, row } from '../../site/store/rows.ts';

/**
 * One event with a picture and, when that is on record, a clip; then both are with the cloud and are kept. Ends at the
 * point that SITEWARD_CRASH_AT names, otherwise when all is done. Arguments: state directory, number of the event.
 */
const [dir = '', number = '1'] = process.argv.slice(2);
const seq = Number(number);
const clock = systemClock();
const log = pino({ level: 'silent' });
const store = openStore({ dir, clock, log, metrics: new Registry() });
await store.start(new AbortController().signal);
const pictureDone = Promise.withResolvers<void>();
const clipDone = Promise.withResolvers<void>();

const media = createMedia({
  ...{ dir: join(dir, 'spool'), budgetBytes: 10_000_000, keepMs: 3_600_000 },
  clips: { short_mp4: 100, event_mp4: 100 },
  pictures: { snapshot: async () => ({ bytes: Buffer.alloc(20_000, seq), mime: 'image/jpeg' }) },
  streams: {
    async clip({ to, startMono }) {
      await pictureDone.promise;
      await writeFile(to, tinyClip(30_000, seq));
      return { startedMono: startMono };
    },
    frame: () => Promise.reject(new Error('no ring')),
  },
  table: {
    async update(outcomes: readonly MediaOutcome[]) {
      await store.updateMedia(outcomes);
      for (const { index } of outcomes) (index === 0 ? pictureDone : clipDone).resolve();
    },
    list: (states, limit) => store.media(states, limit),
    isWhole: () => true,
    uploadedAt: async () => undefined,
  },
  onReady: () => undefined,
  ...{ clock, log, metrics: new Registry() },
});
await media.start(new AbortController().signal);
const items: readonly MediaItem[] = (['snapshot', 'short_mp4'] as const).map((kind, index) => ({
  ...{ index, kind, camera: 'yard', offsetMs: 0 },
}));
await store.commit(commitOf([row(seq, { media: items, wall: clock.wall() })]));
media.capture({ seq, lane: 'alarm', items, committed: Promise.resolve() });
await clipDone.promise;
// Longer than the step that follows.
await pause(200);
for (const one of (await store.media(['ready'], 10)).filter((each) => each.seq === seq)) {
  // As the uploader does it.
  crashPoint('media.uploaded');
  await store.updateMedia([{ seq, index: one.index, lane: 'alarm', at: clock.wall(), state: 'uploaded' }]);
  crashPoint('media.unlink');
  await media.keep(one.file ?? '');
}
await media.stop();
await store.stop();

import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { createMedia, type Media } from '#devices/media/index.ts';
import { holdsAllRows } from './all-rows.ts';
import { running, type Surroundings } from './house.ts';
import { uploadedAt } from './media-port.ts';
import { streamsOf } from './streams.ts';

export const mediaWants = ({ media, store }: Settings): unknown => [
  ...[media.budget, media.keep, media.short_clip, media.event_clip],
  store,
];

/** Pictures and clips of events, from the cameras to the cloud. */
export function siteMedia({ media, store }: Settings, metrics: Registry, { house, clock, log }: Surroundings): Media {
  return createMedia({
    dir: join(store.dir, 'spool'),
    budgetBytes: media.budget,
    keepMs: media.keep,
    clips: { short_mp4: media.short_clip, event_mp4: media.event_clip },
    pictures: streamsOf(house),
    streams: streamsOf(house),
    table: {
      update: (outcomes) => running(house, 'store').updateMedia(outcomes),
      list: (states, limit) => running(house, 'store').media(states, limit),
      isWhole: () => holdsAllRows(house.store?.health(), house.controller?.health().facts?.waitingRows),
      uploadedAt: (seq, index) => uploadedAt(running(house, 'store'), seq, index),
    },
    onReady: () => house.delivery?.wake(),
    onTaken: (camera, wall) => house.lastPictures?.set(camera, wall),
    clock,
    log: log('media'),
    metrics,
  });
}

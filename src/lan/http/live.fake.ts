import type { PlaybackShown, SiteEvent } from '#site/model/index.ts';
import type { LiveSource } from './live.ts';
import type { NumberJump } from './live-catch-up.ts';
import type { PartitionEntry } from './partitions.ts';
import { fakeEvent, fakeStatus } from './port.fake.ts';
import type { StatusDocument } from './schemas.ts';
import type { ZoneEntry } from './zones.ts';

/** What streams are told of, to be changed as a test goes on. */
export interface FakeLiveSource extends LiveSource {
  statusNow: StatusDocument;
  partitionsNow: readonly PartitionEntry[];
  zonesNow: readonly ZoneEntry[];
  playbacksNow: readonly PlaybackShown[];
  /** What is kept, oldest first. */
  kept: SiteEvent[];
  jumpNow: NumberJump | undefined;
  /** Called before a page is read. */
  onRead: (after: number) => Promise<void>;
}

export const fakeSiteEvent = (seq: number): SiteEvent => fakeEvent(seq).event;

export function fakeLiveSource(): FakeLiveSource {
  const source: FakeLiveSource = {
    statusNow: fakeStatus,
    partitionsNow: fakeStatus.partitions.map((one) => ({ ...one, ready: true, zones: ['1'], not_ready: [] })),
    zonesNow: [],
    playbacksNow: [],
    kept: [],
    jumpNow: undefined,
    onRead: async () => undefined,
    status: async () => source.statusNow,
    partitions: () => source.partitionsNow,
    zones: () => source.zonesNow,
    playbacks: () => source.playbacksNow,
    history: {
      jump: async () => source.jumpNow,
      newest: async () => source.kept.at(-1)?.seq ?? 0,
      async after(number, limit) {
        await source.onRead(number);
        const behind = source.kept.filter(({ seq }) => seq > number);
        const events = behind.slice(0, limit);
        return { events, through: events.at(-1)?.seq ?? number, isEnd: behind.length <= limit };
      },
    },
  };
  return source;
}

import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import { sseBytes } from '#lib/sse.ts';
import type { Changes, PlaybackShown } from '#site/model/index.ts';
import { liveList } from './live-list.ts';
import type { PartitionEntry } from './partitions.ts';
import type { StreamClient } from './stream-client.ts';
import type { StreamTopic } from './stream-operations.ts';
import type { ZoneEntry } from './zones.ts';

export interface ListSource {
  partitions(): readonly PartitionEntry[];
  zones(): readonly ZoneEntry[];
  /** Newest first. */
  playbacks(): readonly PlaybackShown[];
}

/** The lists of the site on streams: whole for one that begins, then what of them changed. */
export interface LiveLists {
  /** As it is now, for one that begins; whoever listens already is told of the same. */
  begin(topics: ReadonlySet<StreamTopic>, client: StreamClient): void;
  /** Never throws: whoever publishes is never held up. */
  changed(changes: Changes): void;
  /** Nothing is told later. */
  rest(): void;
}

/** Zones wait so long for each other: one that chatters is told of ten times a second. */
const zonesMs = 100;
const againMs = 1000;
/** Playbacks in the list that a stream begins with. */
const mostPlaybacks = 50;

export function createLiveLists(options: {
  readonly source: ListSource;
  readonly isHeard: (topic: StreamTopic) => boolean;
  /** To all who listen; of each key only the newest waits. */
  readonly tell: (topic: StreamTopic, key: string, event: string, data: unknown) => void;
  readonly log: Logger;
}): LiveLists {
  const { source, isHeard, tell, log } = options;
  const zones = liveList<ZoneEntry>(({ number }) => number);
  const partitions = liveList<PartitionEntry>(({ id }) => id);
  let zoneTimer: NodeJS.Timeout | undefined;

  function tellZones(): void {
    if (!isHeard('zones')) return;
    const items = source.zones();
    const { whole, changed } = zones.update(items);
    if (whole) tell('zones', 'zones', 'zones', { items });
    else for (const entry of changed) tell('zones', `zone ${entry.number}`, 'zone', entry);
  }

  function tellPartitions(): void {
    if (!isHeard('partitions')) return;
    const items = source.partitions();
    const { whole, changed } = partitions.update(items);
    if (whole) tell('partitions', 'partitions', 'partitions', { items });
    else for (const entry of changed) tell('partitions', `partition ${entry.id}`, 'partition', entry);
  }

  /** Zones stand in the way of partitions. */
  function tellLists(): void {
    clearTimeout(zoneTimer);
    zoneTimer = undefined;
    told(() => {
      tellZones();
      tellPartitions();
    });
  }

  /** What cannot be seen now, as while a part is made anew, is told a little later. */
  function told(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof SitewardError)) log.error({ err: error }, 'a change could not be told on the streams');
      zoneTimer ??= setTimeout(tellLists, againMs);
    }
  }

  return {
    begin(topics: ReadonlySet<StreamTopic>, client: StreamClient): void {
      if (topics.has('partitions')) {
        tellPartitions();
        client.set('partitions', sseBytes({ event: 'partitions', data: { items: source.partitions() } }));
      }
      if (topics.has('zones')) {
        tellZones();
        client.set('zones', sseBytes({ event: 'zones', data: { items: source.zones() } }));
      }
      if (topics.has('playbacks')) {
        const items = source.playbacks().slice(0, mostPlaybacks);
        client.set('playbacks', sseBytes({ event: 'playbacks', data: { items } }));
      }
    },
    changed(changes) {
      if (changes.partitions.length > 0 || changes.links) told(tellPartitions);
      if (changes.zones.length > 0 || changes.links) zoneTimer ??= setTimeout(tellLists, zonesMs);
    },
    rest() {
      clearTimeout(zoneTimer);
      zoneTimer = undefined;
    },
  };
}

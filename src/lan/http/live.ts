import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { ok, type Part } from '#lib/health.ts';
import { sseBytes } from '#lib/sse.ts';
import { type Changes, isoTime, isSilent, type PlaybackShown, type SiteEvent } from '#site/model/index.ts';
import { catchUp, type EventHistory, missing, type NumberJump, timely } from './live-catch-up.ts';
import { liveList } from './live-list.ts';
import type { PartitionEntry } from './partitions.ts';
import type { StatusDocument } from './schemas.ts';
import { createStreamClient, type StreamClient, type StreamLimits, streamLimits } from './stream-client.ts';
import type { StreamTopic } from './stream-operations.ts';
import type { ZoneEntry } from './zones.ts';

/** What is told on streams, beside what is published. All of it is what the LAN API shows to everybody. */
export interface LiveSource {
  status(): Promise<StatusDocument>;
  partitions(): readonly PartitionEntry[];
  zones(): readonly ZoneEntry[];
  /** Newest first. */
  playbacks(): readonly PlaybackShown[];
  readonly history: EventHistory;
}

export interface StreamWish {
  readonly topics: ReadonlySet<StreamTopic>;
  /** Events behind this number come first; undefined: from now on. */
  readonly after: number | undefined;
  /** Who listens: each may have so many streams. */
  readonly client: string;
  readonly mayStay: () => boolean;
}

/** The streams of the LAN API, and what is told on them. */
export interface Live extends Part {
  publishState(changes: Changes): void;
  publishEvent(event: SiteEvent): void;
  playbackChanged(playback: PlaybackShown): void;
  /** How often something was published so far. */
  news(): number;
  /** Rejects with `too_many_streams`. */
  open(wish: StreamWish): Promise<Pick<StreamClient, 'stream' | 'cut' | 'end'>>;
}

const mostStreams = 16;
const mostOfOne = 4;
const pingMs = 15_000;
const statusMs = 1000;
/** Zones wait so long for each other: one that chatters is told of ten times a second. */
const zonesMs = 100;
const againMs = 1000;
/** Playbacks in the list that a stream begins with. */
const mostPlaybacks = 50;
const retryMs = 3000;

interface Follower {
  readonly wish: StreamWish;
  readonly client: StreamClient;
  /** Number of the event it was given last. */
  last: number | undefined;
  /** What was published while events of before are read; undefined: it is given them as they come. */
  held: SiteEvent[] | undefined;
  /** The state document it was given last, without what moves with the time. */
  status: string;
}

export function createLive(options: {
  source: LiveSource;
  clock: Clock;
  log: Logger;
  metrics: Registry;
  limits?: StreamLimits;
  pingEveryMs?: number;
}): Live {
  const { source, clock, log, limits = streamLimits } = options;
  const history = timely(source.history);
  const followers = new Set<Follower>();
  /** Streams that are being opened, by who asked. */
  const opening: string[] = [];
  const meters = metersOf(options.metrics, () => followers.size);
  const zones = liveList<ZoneEntry>(({ number }) => number);
  const partitions = liveList<PartitionEntry>(({ id }) => id);
  /** Number of the event that was published last. */
  let newest = 0;
  let news = 0;
  let jump: NumberJump | undefined;
  let isStopped = false;
  let zoneTimer: NodeJS.Timeout | undefined;
  let pings: NodeJS.Timeout | undefined;
  let statuses: NodeJS.Timeout | undefined;

  const listening = (topic: StreamTopic) => [...followers].filter(({ wish }) => wish.topics.has(topic));

  function tell(topic: StreamTopic, key: string, event: string, data: unknown): void {
    const listeners = listening(topic);
    if (listeners.length === 0) return;
    const message = sseBytes({ event, data });
    for (const { client } of listeners) client.set(key, message);
  }

  function tellZones(): void {
    if (listening('zones').length === 0) return;
    const items = source.zones();
    const { whole, changed } = zones.update(items);
    if (whole) tell('zones', 'zones', 'zones', { items });
    else for (const entry of changed) tell('zones', `zone ${entry.number}`, 'zone', entry);
  }

  function tellPartitions(): void {
    if (listening('partitions').length === 0) return;
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

  /** Whoever publishes is never held up. What cannot be seen now, as while a part is made anew, is told a little later. */
  function told(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof SitewardError)) log.error({ err: error }, 'a change could not be told on the streams');
      zoneTimer ??= setTimeout(tellLists, againMs);
    }
  }

  async function tellStatus(): Promise<void> {
    if (listening('status').length === 0) return;
    const status = await source.status();
    const [text, message] = [comparable(status), sseBytes({ event: 'status', data: status })];
    for (const follower of listening('status')) {
      if (follower.status === text) continue;
      follower.status = text;
      follower.client.set('status', message);
    }
  }

  const ping = (): void => {
    const message = sseBytes({ event: 'ping', data: { at: isoTime(clock.wall()) } });
    for (const { client } of followers) client.ping(message);
  };

  /** Gives an event to one, with a word about those that are missing between. Never one twice. */
  function show(follower: Follower, event: SiteEvent, message = eventBytes(event)): void {
    const { client, last } = follower;
    if (last !== undefined && event.seq <= last) return;
    const gap = last === undefined ? undefined : missing(last, event.seq, jump);
    if (gap !== undefined) client.add(gapBytes('not_kept', ...gap));
    follower.last = event.seq;
    client.add(message);
  }

  async function resume(follower: Follower, after: number): Promise<void> {
    const { client } = follower;
    try {
      const top = Math.max(newest, await history.newest());
      if (after > top) {
        client.add(sseBytes({ event: 'gap', id: top, data: { reason: 'ahead', from: top + 1, to: after } }));
        follower.last = top;
      } else {
        await catchUp({
          ...{ history, after, taken: client.taken, signal: client.ended },
          pageSize: Math.min(100, Math.ceil(limits.messages / 2)),
          // Those that are on disk are in what is read now.
          beginPage: () => {
            follower.held = follower.held?.filter(({ data }) => data.durable === false);
          },
          show: (event) => show(follower, event),
        });
      }
    } catch {
      // What was missed cannot be read now: that is said, and new events are not kept back for it.
      client.add(gapBytes('unreadable', (follower.last ?? after) + 1, null));
      follower.last = undefined;
    }
    const held = follower.held ?? [];
    follower.held = undefined;
    for (const event of held) show(follower, event);
  }

  function refuseTooMany(client: string): void {
    const open = [...[...followers].map(({ wish }) => wish.client), ...opening];
    const own = open.filter((one) => one === client).length;
    if (open.length < mostStreams && own < mostOfOne) return;
    meters.refused.inc();
    const which = own < mostOfOne ? `${mostStreams} streams are open` : `${mostOfOne} streams of yours are open`;
    throw new SitewardError('too_many_streams', `${which}; end one, or wait`, { facts: { retryAfterMs: pingMs } });
  }

  function follow(wish: StreamWish, start: number | undefined): Follower {
    const follower: Follower = {
      wish,
      last: wish.after ?? start,
      held: wish.topics.has('events') && wish.after !== undefined ? [] : undefined,
      status: '',
      client: createStreamClient({
        ...{ limits, mayStay: wish.mayStay },
        overrunMessage: () => gapBytes('overrun', null, null),
        onSent: (messages) => meters.sent.inc(messages),
        onDropped: (messages) => meters.dropped.inc(messages),
        onEnd(reason) {
          followers.delete(follower);
          meters.ended.inc({ reason });
          watch();
        },
      }),
    };
    followers.add(follower);
    watch();
    return follower;
  }

  /** Nothing runs while nobody listens. */
  function watch(): void {
    if (followers.size === 0) {
      clearInterval(pings);
      clearInterval(statuses);
      clearTimeout(zoneTimer);
      pings = statuses = zoneTimer = undefined;
    } else {
      pings ??= setInterval(ping, options.pingEveryMs ?? pingMs);
      statuses ??= setInterval(() => void tellStatus().catch(() => undefined), statusMs);
    }
  }

  /** As it is now, for one that begins; whoever listens already is told of the same. */
  function begin({ wish: { topics }, client }: Follower): void {
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
  }

  async function open(wish: StreamWish): Promise<Follower> {
    const { topics, after } = wish;
    const status = topics.has('status') ? await source.status() : undefined;
    const isFromNow = topics.has('events') && after === undefined;
    // What is on disk by now was before; what cannot be read is no reason to tell nobody of what comes.
    const kept = isFromNow ? await history.newest().catch(() => undefined) : undefined;
    const start = kept === undefined ? undefined : Math.max(newest, kept);
    jump ??= await history.jump().catch(() => undefined);
    const follower = follow(wish, start);
    const { client } = follower;
    client.add(sseBytes({ retryMs, ...(start !== undefined && { id: start }) }));
    if (status !== undefined) {
      client.add(sseBytes({ event: 'status', data: status }));
      follower.status = comparable(status);
    }
    try {
      begin(follower);
    } catch (error) {
      client.end('stopped');
      throw error;
    }
    if (follower.held !== undefined) void resume(follower, after ?? 0);
    return follower;
  }

  return {
    name: 'live',
    async start() {
      isStopped = false;
    },
    async stop() {
      isStopped = true;
      for (const { client } of [...followers]) client.end('stopped');
    },
    health: () => ok({ streams: followers.size }),

    news: () => news,
    publishState(changes) {
      news += 1;
      if (followers.size === 0) return;
      if (changes.partitions.length > 0 || changes.links) told(tellPartitions);
      if (changes.zones.length > 0 || changes.links) zoneTimer ??= setTimeout(tellLists, zonesMs);
    },
    publishEvent(event) {
      if (isSilent(event)) return;
      news += 1;
      newest = Math.max(newest, event.seq);
      const listeners = listening('events');
      if (listeners.length === 0) return;
      const message = eventBytes(event);
      for (const follower of listeners) {
        if (follower.held === undefined) show(follower, event, message);
        else if (follower.held.push(event) > limits.messages) follower.client.overrun();
      }
    },
    playbackChanged: (playback) => tell('playbacks', `playback ${playback.playback_id}`, 'playback', playback),

    async open(wish) {
      if (isStopped) throw new SitewardError('stopped', 'siteward is stopping');
      refuseTooMany(wish.client);
      opening.push(wish.client);
      try {
        return (await open(wish)).client;
      } finally {
        opening.splice(opening.indexOf(wish.client), 1);
      }
    },
  };
}

const eventBytes = (event: SiteEvent): Uint8Array => sseBytes({ event: 'event', id: event.seq, data: event });

/** `to` null: up to now, or nobody knows. */
const gapBytes = (reason: string, from: number | null, to: number | null): Uint8Array =>
  sseBytes({ event: 'gap', data: { reason, from, to } });

/** Without what moves with the time alone; the oldest that waits changes with the counts, but for a rounding of the clock. */
function comparable({ uptime_s: _uptime, clock, outbox, hints, parts, ...rest }: StatusDocument): string {
  return JSON.stringify({
    ...{ ...rest, clock: clock.quality, outbox: outbox && { ...outbox, oldest: null } },
    // What holds still was seen now.
    hints: hints.map(({ last: _last, ...hint }) => hint),
    parts: parts.map(({ facts, ...part }) => ({ ...part, facts: facts && { ...facts, perMin: null } })),
  });
}

function metersOf(metrics: Registry, open: () => number) {
  const registers = [metrics];
  new Gauge({
    name: 'siteward_live_streams',
    help: 'Streams of the LAN API that are open',
    registers,
    collect() {
      this.set(open());
    },
  });
  return {
    sent: new Counter({
      name: 'siteward_live_messages_total',
      help: 'Messages that were sent on streams of the LAN API',
      registers,
    }),
    dropped: new Counter({
      name: 'siteward_live_dropped_total',
      help: 'Messages that were not sent because a client of a stream was too slow',
      registers,
    }),
    ended: new Counter({
      name: 'siteward_live_ended_total',
      help: 'Streams of the LAN API that ended, by reason: gone, overrun, denied, stopped',
      labelNames: ['reason'],
      registers,
    }),
    refused: new Counter({
      name: 'siteward_live_refused_total',
      help: 'Streams of the LAN API that were refused because too many are open',
      registers,
    }),
  };
}

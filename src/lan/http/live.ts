import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { ok, type Part } from '#lib/health.ts';
import { sseBytes } from '#lib/sse.ts';
import { type Changes, isoTime, isSilent, type PlaybackShown, type SiteEvent } from '#site/model/index.ts';
import type { EventHistory } from './live-catch-up.ts';
import { createLiveEvents, type EventFollower, gapBytes } from './live-events.ts';
import { createLiveLists, type ListSource } from './live-lists.ts';
import { liveMetrics } from './live-metrics.ts';
import { beginStatus, type StatusFollower, showStatus } from './live-status.ts';
import type { StatusDocument } from './schemas.ts';
import { createStreamClient, type StreamClient, type StreamLimits, streamLimits } from './stream-client.ts';
import type { StreamTopic } from './stream-operations.ts';

/** What is told on streams, beside what is published. All of it is what the LAN API shows to everybody. */
export interface LiveSource extends ListSource {
  status(): Promise<StatusDocument>;
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
const retryMs = 3000;

interface Follower extends EventFollower, StatusFollower {
  readonly wish: StreamWish;
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
  const followers = new Set<Follower>();
  /** Streams that are being opened, by who asked. */
  const opening: string[] = [];
  const meters = liveMetrics(options.metrics, () => followers.size);
  let news = 0;
  let isStopped = false;
  let pings: NodeJS.Timeout | undefined;
  let statuses: NodeJS.Timeout | undefined;

  const listening = (topic: StreamTopic) => [...followers].filter(({ wish }) => wish.topics.has(topic));

  function tell(topic: StreamTopic, key: string, event: string, data: unknown): void {
    const listeners = listening(topic);
    if (listeners.length === 0) return;
    const message = sseBytes({ event, data });
    for (const { client } of listeners) client.set(key, message);
  }

  const events = createLiveEvents({ history: source.history, limits });
  const lists = createLiveLists({ source, tell, log, isHeard: (topic) => listening(topic).length > 0 });

  async function tellStatus(): Promise<void> {
    if (listening('status').length === 0) return;
    const status = await source.status();
    showStatus(status, listening('status'));
  }

  const ping = (): void => {
    const message = sseBytes({ event: 'ping', data: { at: isoTime(clock.wall()) } });
    for (const { client } of followers) client.ping(message);
  };

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
      pings = statuses = undefined;
      lists.rest();
    } else {
      pings ??= setInterval(ping, options.pingEveryMs ?? pingMs);
      statuses ??= setInterval(() => void tellStatus().catch(() => undefined), statusMs);
    }
  }

  async function open(wish: StreamWish): Promise<Follower> {
    const { topics, after } = wish;
    const status = topics.has('status') ? await source.status() : undefined;
    const newest = await events.startingPoint(topics.has('events') && after === undefined);
    // From here to where it follows nothing is waited for: no event comes between.
    const start = newest?.();
    const follower = follow(wish, start);
    const { client } = follower;
    client.add(sseBytes({ retryMs, ...(start !== undefined && { id: start }) }));
    if (status !== undefined) beginStatus(status, follower);
    try {
      lists.begin(topics, client);
    } catch (error) {
      client.end('stopped');
      throw error;
    }
    if (follower.held !== undefined) void events.resume(follower, after ?? 0);
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
      lists.changed(changes);
    },
    publishEvent(event) {
      if (isSilent(event)) return;
      news += 1;
      events.publish(event, listening('events'));
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

import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type AudioMessageShown, hasEnded, type PlaybackShown } from '#site/model/index.ts';
import type { SitePort } from './site-port.ts';
import type { TopicState } from './state.ts';

/** The messages of the site and what becomes of them, as retained topics below the root. */
export interface AudioFeed {
  topics(): readonly TopicState[];
  /** One has changed. Older news of it than is shown changes nothing. */
  playback(playback: PlaybackShown): void;
  /** Reads all anew: messages, and playbacks of which no change was told. */
  review(): void;
  stop(): void;
}

export interface AudioFeedOptions {
  readonly audio: Pick<SitePort['audio'], 'messages' | 'playbacks'>;
  readonly hasSpeakers: () => boolean;
  /** The topics are others now. */
  readonly onChanged: () => void;
  /** The messages there are, whenever they were read. */
  readonly onMessages: (messages: readonly AudioMessageShown[]) => void;
  readonly clock: Clock;
}

/** How long one that has ended is shown. */
const shownMs = 60_000;
/** Of those that have ended the last; what has not ended is bounded by the queues of the speakers. */
const endedCap = 64;
/** siteward itself takes 64 KiB in one packet, with its topic; what is behind is found by its key all the same. */
const listBytes = 60_000;

/** An id that is no level of a topic would show elsewhere, or end the connection. */
const topicLevel = /^[A-Za-z0-9_-]{1,64}$/;

interface Entry {
  readonly seq: number;
  readonly payload: string;
  readonly sounds: boolean;
  /** On the monotonic clock; only of one that has ended. */
  readonly until?: number;
}

export function createAudioFeed(options: AudioFeedOptions): AudioFeed {
  const { audio, hasSpeakers, onChanged, clock } = options;
  /** By id, that which changed last at the end. */
  const entries = new Map<string, Entry>();
  let messages = '';
  let timer: NodeJS.Timeout | undefined;

  /** `agoMs`: how long ago it has ended. */
  let isReviewed = false;
  let isStopped = false;

  function take(playback: PlaybackShown, agoMs: number): void {
    const { playback_id: id, seq } = playback;
    const known = entries.get(id);
    if (known !== undefined && known.seq >= seq) return;
    if (!topicLevel.test(id)) return;
    const ended = hasEnded(playback);
    entries.delete(id);
    if (ended && (agoMs < 0 || agoMs >= shownMs)) return;
    entries.set(id, {
      seq,
      payload: JSON.stringify(playback),
      sounds: isHeard(playback),
      ...(ended && { until: clock.monotonic() + shownMs - agoMs }),
    });
  }

  function tidy(): void {
    const now = clock.monotonic();
    for (const [id, { until = Number.POSITIVE_INFINITY }] of entries) if (until <= now) entries.delete(id);
    const ended = [...entries].filter(([, { until }]) => until !== undefined);
    for (const [id] of ended.slice(0, -endedCap)) entries.delete(id);
    clearTimeout(timer);
    const next = Math.min(...ended.slice(-endedCap).map(([, { until = 0 }]) => until));
    timer = Number.isFinite(next) && !isStopped ? setTimeout(changed, Math.max(0, next - now)).unref() : undefined;
  }

  function changed(): void {
    tidy();
    onChanged();
  }

  function readMessages(): void {
    const known = messagesNow(audio);
    if (known === undefined) return;
    messages = boundedList(known, listBytes);
    options.onMessages(known);
  }

  return {
    topics() {
      if (!hasSpeakers()) return [];
      const sounds = [...entries.values()].some((entry) => entry.sounds);
      return [
        ['audio/messages', messages],
        ['audio/state', sounds ? 'playing' : 'idle'],
        ...Array.from(entries, ([id, { payload }]): TopicState => [`audio/playback/${id}`, payload]),
      ];
    },
    playback(playback) {
      take(playback, 0);
      changed();
    },
    review() {
      readMessages();
      const now = audio.playbacks();
      const ids = new Set(now.map(({ playback_id: id }) => id));
      // Nobody will tell of its end any more.
      for (const [id, { until }] of entries) if (until === undefined && !ids.has(id)) entries.delete(id);
      for (const playback of now.toReversed()) {
        // The end of those is told; by the wall clock, which may be set, only what came before this run is judged.
        const isNews = !hasEnded(playback) || entries.has(playback.playback_id) || !isReviewed;
        if (isNews) take(playback, endedAgoMs(playback, clock.wall()));
      }
      isReviewed = true;
      changed();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Undefined while they are not read yet, or are being read anew. */
export function messagesNow(audio: Pick<SitePort['audio'], 'messages'>): readonly AudioMessageShown[] | undefined {
  try {
    return audio.messages();
  } catch (error) {
    if (error instanceof SitewardError) return undefined;
    throw error;
  }
}

/** On one speaker at least. */
export const isHeard = ({ devices }: PlaybackShown): boolean => devices.some(({ status }) => status === 'playing');

/** By the wall clock: below zero where that was set back since, and nobody knows. */
const endedAgoMs = ({ devices }: PlaybackShown, now: number): number =>
  now - Math.max(...devices.map(({ ended_at: at = '' }) => Date.parse(at) || 0));

/** As many of them, from the first on, as fit. */
function boundedList(items: readonly unknown[], bytes: number): string {
  const kept: string[] = [];
  let left = bytes - 2;
  for (const item of items) {
    const text = JSON.stringify(item);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) break;
    kept.push(text);
  }
  return `[${kept.join(',')}]`;
}

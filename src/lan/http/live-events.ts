import { sseBytes } from '#lib/sse.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { catchUp, type EventHistory, missing, type NumberJump, timely } from './live-catch-up.ts';
import type { StreamClient, StreamLimits } from './stream-client.ts';

/** One that listens to events. */
export interface EventFollower {
  readonly client: StreamClient;
  /** Number of the event it was given last. */
  last: number | undefined;
  /** What was published while events of before are read; undefined: it is given them as they come. */
  held: SiteEvent[] | undefined;
}

/** Events on streams: each in its order, never one twice, and with a word about those that are missing. */
export interface LiveEvents {
  /** Gives what tells, whenever it is called, the number of the newest event, behind which a stream of events from now on begins; undefined: nobody knows. */
  startingPoint(isFromNow: boolean): Promise<(() => number) | undefined>;
  /** Gives it everything kept behind this number, and then what was held for it. */
  resume(follower: EventFollower, after: number): Promise<void>;
  publish(event: SiteEvent, followers: readonly EventFollower[]): void;
}

export function createLiveEvents(options: {
  readonly history: EventHistory;
  readonly limits: StreamLimits;
}): LiveEvents {
  const { limits } = options;
  const history = timely(options.history);
  /** Number of the event that was published last. */
  let newest = 0;
  let jump: NumberJump | undefined;

  /** Gives an event to one, with a word about those that are missing between. Never one twice. */
  function show(follower: EventFollower, event: SiteEvent, message = eventBytes(event)): void {
    const { client, last } = follower;
    if (last !== undefined && event.seq <= last) return;
    const gap = last === undefined ? undefined : missing(last, event.seq, jump);
    if (gap !== undefined) client.add(gapBytes('not_kept', ...gap));
    follower.last = event.seq;
    client.add(message);
  }

  async function resume(follower: EventFollower, after: number): Promise<void> {
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

  return {
    async startingPoint(isFromNow) {
      jump ??= await history.jump().catch(() => undefined);
      // What is on disk by now was before; what cannot be read is no reason to tell nobody of what comes.
      const kept = isFromNow ? await history.newest().catch(() => undefined) : undefined;
      return kept === undefined ? undefined : () => Math.max(newest, kept);
    },
    resume,
    publish(event, followers) {
      newest = Math.max(newest, event.seq);
      if (followers.length === 0) return;
      const message = eventBytes(event);
      for (const follower of followers) {
        if (follower.held === undefined) show(follower, event, message);
        else if (follower.held.push(event) > limits.messages) follower.client.overrun();
      }
    },
  };
}

const eventBytes = (event: SiteEvent): Uint8Array => sseBytes({ event: 'event', id: event.seq, data: event });

/** `to` null: up to now, or nobody knows. */
export const gapBytes = (reason: string, from: number | null, to: number | null): Uint8Array =>
  sseBytes({ event: 'gap', data: { reason, from, to } });

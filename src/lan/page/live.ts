import type { PartitionStatus, PlaybackEntry, StatusDocument, ZoneEntry } from '#lan/http/index.ts';
import type { SiteEvent } from './events.ts';
import { type Walks, walksWith } from './walks.ts';

/** What the bridge has told on its stream. */
export interface LiveState {
  readonly link: 'connecting' | 'live' | 'lost';
  /** The bridge is there, and gives this page no stream: too many are open. */
  readonly crowded: boolean;
  /** When the last message came, by `LiveEnvironment.now`. */
  readonly heardMs: number | undefined;
  readonly status: StatusDocument | undefined;
  /** When that came, by the same clock. */
  readonly statusMs: number | undefined;
  readonly partitions: readonly PartitionStatus[];
  readonly zones: readonly ZoneEntry[];
  readonly playbacks: readonly PlaybackEntry[];
  /** Newest first, at most `mostEvents`. */
  readonly events: readonly SiteEvent[];
  /** The walk tests that were seen since the page was opened, the last of each partition. */
  readonly walks: Walks;
}

export interface LiveFeed {
  readonly state: () => LiveState;
  /** Milliseconds by the clock of `heardMs`. */
  readonly now: () => number;
  /**
   * What the clock of the bridge says now (milliseconds since 1970), from what it told last and what has passed since: the clock
   * of a phone may be anything. Undefined before the first message.
   */
  bridgeMs(): number | undefined;
  /** Called a few times a second at most. */
  subscribe(listener: () => void): () => void;
  /** The result of the partition's walk test is known otherwise. */
  dropWalk(partition: string): void;
  close(): void;
}

export const mostEvents = 300;
/**
 * A ping comes every 15 s. A stream that misses two is dead, whatever the browser thinks: what is shown is grey before it is older
 * than 30 s.
 */
const silentMs = 28_000;
const watchMs = 1000;
const retryMs = 3000;
/** After a sleep a stream that has missed one is not waited for. */
const missedMs = 20_000;

const empty: LiveState = {
  link: 'connecting',
  crowded: false,
  heardMs: undefined,
  status: undefined,
  statusMs: undefined,
  partitions: [],
  zones: [],
  playbacks: [],
  events: [],
  walks: new Map(),
};

export interface LiveEnvironment {
  open(url: string): EventSource;
  /** Runs before a frame, a few times a second; where the page is not drawn, within a second. */
  soon(work: () => void): void;
  /** Milliseconds that also run while the phone sleeps. */
  now(): number;
  /** Calls back when the page is looked at again; `isCut`: the network came or went, and the connection with it. */
  onWake(wake: (isCut: boolean) => void): () => void;
  /** Asked when there is no stream: whether the bridge answers, and the session still counts. Never rejects. */
  answers(): Promise<boolean>;
}

export function liveFeed(env: LiveEnvironment): LiveFeed {
  const listeners = new Set<() => void>();
  let state = empty;
  let source: EventSource | undefined;
  let isScheduled = false;
  let isClosed = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  /** New ones since the last drawing, oldest first. */
  let fresh: SiteEvent[] = [];
  /** What the clock of the bridge said, and when that was heard. */
  let bridge: { readonly saidMs: number; readonly heardMs: number } | undefined;
  /** When the stream was opened, or heard last. */
  let waitsMs = 0;

  function tell(): void {
    if (isScheduled) return;
    isScheduled = true;
    env.soon(() => {
      isScheduled = false;
      if (fresh.length > 0) state = { ...state, events: [...fresh.reverse(), ...state.events].slice(0, mostEvents) };
      fresh = [];
      for (const listener of listeners) listener();
    });
  }

  function put(change: Partial<LiveState>): void {
    state = { ...state, ...change };
    tell();
  }

  const heard = (change: Partial<LiveState>): void => {
    waitsMs = env.now();
    put({ ...change, link: 'live', crowded: false, heardMs: waitsMs });
  };

  function heardTime(at: string): void {
    bridge = { saidMs: Date.parse(at), heardMs: env.now() };
  }

  function connect(): void {
    waitsMs = env.now();
    const last = fresh.at(-1)?.seq ?? state.events[0]?.seq;
    source = env.open(`/api/v1/stream${last === undefined ? '' : `?after=${last}`}`);
    const on = (name: string, take: (data: never) => void) =>
      source?.addEventListener(name, (message) =>
        take(JSON.parse((message as unknown as { data: string }).data) as never),
      );
    on('status', (status: StatusDocument) => {
      heardTime(status.clock.now);
      heard({ status, statusMs: env.now() });
    });
    on('partitions', ({ items }: { items: PartitionStatus[] }) =>
      heard({ partitions: items, walks: walksWith(state.walks, items) }),
    );
    on('partition', (one: PartitionStatus) =>
      heard({
        partitions: state.partitions.map((old) => (old.id === one.id ? one : old)),
        walks: walksWith(state.walks, [one]),
      }),
    );
    on('zones', ({ items }: { items: ZoneEntry[] }) => heard({ zones: items }));
    on('zone', (one: ZoneEntry) => heard({ zones: state.zones.map((old) => (old.number === one.number ? one : old)) }));
    on('playbacks', ({ items }: { items: PlaybackEntry[] }) => heard({ playbacks: items }));
    on('playback', (one: PlaybackEntry) =>
      heard({ playbacks: [one, ...state.playbacks.filter((old) => old.playback_id !== one.playback_id)].slice(0, 50) }),
    );
    on('event', (event: SiteEvent) => {
      fresh.push(event);
      if (fresh.length > mostEvents) fresh.shift();
      heard({});
    });
    on('ping', ({ at }: { at: string }) => {
      heardTime(at);
      heard({});
    });
    source.addEventListener('error', () => {
      put({ link: 'lost' });
      // Closed: it was refused, or the session is over; the browser itself would not try again.
      if (source?.readyState !== 2) return;
      again();
      void env.answers().then((crowded) => {
        if (!isClosed && state.link === 'lost') put({ crowded });
      });
    });
  }

  function again(afterMs = retryMs): void {
    source?.close();
    source = undefined;
    clearTimeout(retry);
    if (!isClosed) retry = setTimeout(connect, afterMs);
  }

  /**
   * Also for a phone that has slept: its clock has jumped, and the connection is gone without a word; and for a stream that never
   * begins.
   */
  const watch = setInterval(() => {
    if (source === undefined || env.now() - waitsMs < silentMs) return;
    put({ link: 'lost' });
    again();
  }, watchMs);
  const stopWaking = env.onWake((isCut) => {
    const isFresh = state.heardMs === undefined || env.now() - state.heardMs < missedMs;
    if (state.link !== 'lost' && isFresh && !isCut) return;
    put({ link: 'lost' });
    again(0);
  });

  connect();
  return {
    state: () => state,
    now: env.now,
    bridgeMs: () => bridge && bridge.saidMs + env.now() - bridge.heardMs,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    dropWalk(partition) {
      put({ walks: new Map([...state.walks].filter(([id]) => id !== partition)) });
    },
    close() {
      isClosed = true;
      clearInterval(watch);
      stopWaking();
      clearTimeout(retry);
      source?.close();
      listeners.clear();
    },
  };
}

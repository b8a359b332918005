import { withCorrection, withTimes } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { isoTime, type TrustedMoment } from '#site/model/index.ts';
import type { Anchor, PendingRow, Store } from '#site/store/index.ts';
import { type EventTime, eventTime, isNews, ofOneBoot, unconfirmed } from './event-time.ts';

/**
 * Gives events the time they are sent with, and keeps what that rests on. An event whose clock was in doubt is sent
 * when an anchor of this boot is on disk, so that its time is the same on every later try, also after a restart. Only
 * a disk that takes nothing makes an exception: an event that leaves is worth more than one that waits for it.
 */
export interface EventTimes {
  /** Notes that this boot has been, so that later ones know the order. */
  begin(): void;
  /** The clock is known to be right; kept when it is news. */
  trusted(moment: TrustedMoment): void;
  /** The wall clock was set and nobody has confirmed it yet. */
  stepped(): void;
  /** The body of one try. Rejects only with the signal's reason. */
  encoded(row: PendingRow, signal: AbortSignal): Promise<string>;
  /** The same by what is known already: nobody is asked, no time is settled. */
  preview(row: PendingRow): string;
}

export interface EventTimesOptions {
  readonly store: Pick<Store, 'anchors' | 'addAnchor' | 'memory'>;
  readonly clock: Clock;
  /** Hears the cloud's time: asks for the access token that precedes every event. False when there is none. */
  readonly hear: (signal: AbortSignal) => Promise<boolean>;
}

interface Known {
  readonly anchors: Anchor[];
  /** Oldest first; this boot is the last. */
  readonly boots: readonly string[];
}

/** As many as there may be anchors. */
const bootsKept = 64;
/** A step is noticed by an input that was stamped just before. */
const noticedMs = 100;
const storeDeadlineMs = 2_000;
/** After the store failed, before it is asked again. */
const storePauseMs = 5_000;

export function createEventTimes(options: EventTimesOptions): EventTimes {
  const { store, clock } = options;
  const boot = clock.bootId;
  let known: Known | undefined;
  /** Not yet on disk, oldest first. */
  let unwritten: readonly Anchor[] = [];
  let loading: Promise<Known> | undefined;
  let writing: Promise<void> | undefined;
  let failedMono = Number.NEGATIVE_INFINITY;

  const all = (): readonly Anchor[] => [...(known?.anchors ?? []), ...unwritten];
  const lastOwn = (): Anchor | undefined => ofOneBoot(boot, all()).at(-1);

  function add(anchor: Anchor): void {
    if (isNews(anchor, all())) unwritten = [...unwritten, anchor].slice(-bootsKept);
  }

  /** Once only, whoever asks: what is added meanwhile must be in the one list there is. */
  function load(): Promise<Known> {
    if (known !== undefined) return Promise.resolve(known);
    loading ??= read().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  async function read(): Promise<Known> {
    const anchors = await store.anchors();
    const boots = await loadBoots();
    // What was heard before anything was known of former anchors may be no news.
    const heard = unwritten;
    unwritten = [];
    known = { anchors, boots };
    for (const anchor of heard) add(anchor);
    return known;
  }

  /** Without the order of the boots only the bounds of an estimate are missing. */
  async function loadBoots(): Promise<readonly string[]> {
    const memory = store.memory('clock');
    const kept = readBoots(await memory.get('boots').catch(() => undefined));
    if (kept.at(-1) === boot) return kept;
    const boots = [...kept, boot].slice(-bootsKept);
    await memory.set('boots', JSON.stringify(boots)).catch(() => undefined);
    return boots;
  }

  async function write(): Promise<void> {
    const { anchors } = await load();
    for (let next = unwritten[0]; next !== undefined; next = unwritten[0]) {
      const anchor = next;
      await store.addAnchor(anchor);
      anchors.push(anchor);
      unwritten = unwritten.filter((other) => other !== anchor);
    }
  }

  /** Everything known is on disk when this resolves, unless the store is away. */
  async function written(signal: AbortSignal): Promise<void> {
    if (known !== undefined && unwritten.length === 0) return;
    if (clock.monotonic() - failedMono < storePauseMs) return;
    writing ??= write().finally(() => {
      writing = undefined;
    });
    const current = writing;
    try {
      await withDeadline(storeDeadlineMs, signal, () => current, 'keeping the time');
    } catch {
      signal.throwIfAborted();
      failedMono = clock.monotonic();
    }
  }

  async function prepare(signal: AbortSignal): Promise<void> {
    await written(signal);
    if (lastOwn() !== undefined || !(await options.hear(signal))) return;
    // Nobody told the time. What this clock says now stays the measure, so that a later try says the same.
    add({ boot, mono: clock.monotonic(), wall: clock.wall(), source: unconfirmed });
    await written(signal);
  }

  function bodyOf(row: PendingRow): string {
    const time: EventTime = eventTime(row, all(), known?.boots ?? []);
    const at = isoTime(time.wall);
    const body = time.note === undefined ? row.body : withCorrection(row.body, inWords(time.note), at);
    return withTimes(body, at, isoTime(clock.wall()));
  }

  /** In passing; whoever needs it on disk waits for it. */
  function keep(): void {
    void written(never());
  }

  return {
    begin: keep,
    trusted(moment) {
      add({ ...moment, boot });
      keep();
    },
    stepped() {
      if (lastOwn()?.source !== unconfirmed) return;
      const before = { mono: clock.monotonic() - noticedMs, wall: clock.wall() - noticedMs };
      unwritten = [...unwritten, { boot, ...before, source: unconfirmed }].slice(-bootsKept);
    },
    async encoded(row, signal) {
      if (row.clock !== 'synced') await prepare(signal);
      return bodyOf(row);
    },
    preview: bodyOf,
  };
}

function inWords({ quality, recorded, earliest, latest }: NonNullable<EventTime['note']>) {
  return {
    quality,
    recorded: isoTime(recorded),
    ...(earliest !== undefined && { earliest: isoTime(earliest) }),
    ...(latest !== undefined && { latest: isoTime(latest) }),
  };
}

function readBoots(text: string | undefined): readonly string[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

import type { Logger } from 'pino';
import { describe } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { wakeup } from '#lib/wait.ts';
import type { BridgeNews } from './core/index.ts';
import type { LostEvents, StorageCondition } from './model/index.ts';
import type { Gap, GapMark, StorageLevel, Store } from './store/index.ts';

/** Records one event tells of, as many as its evidence holds. */
const perEvent = 16;
/** While losses go on they are told together: an event about each would itself fill the disk. */
const pauseMs = 60_000;
const againMs = 5000;

const conditions: Readonly<Record<StorageLevel, StorageCondition>> = {
  ok: 'ok',
  soft: 'ok',
  hard: 'low',
  full: 'full',
  readonly: 'read_only',
  failing: 'failing',
};

export interface LossReport extends Part {
  /** The store has news: see `StoreOptions.onNews`. */
  wake(): void;
}

/**
 * Turns what the store had to give up, and the state of its disk, into events. The commit of the event marks the gap
 * records it tells of (`Commit.reported`); only one of `bulk.db` may be told twice, when siteward ends between the files.
 */
export function createLossReport(options: {
  store: Pick<Store, 'gaps' | 'gapsReported' | 'numbersOf' | 'storage'>;
  /** Resolves when the news is on disk, or after two seconds without one and stays in line then. */
  tell: (news: BridgeNews, reported?: readonly GapMark[]) => Promise<void>;
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
  /** For tests. */
  pauseMs?: number;
  againMs?: number;
}): LossReport {
  const { store, clock, log } = options;
  const stopping = new AbortController();
  const wakeups = wakeup();
  const betweenMs = options.pauseMs ?? pauseMs;
  /** Records this run has told of; the commit of the event marks them. */
  const underWay = new Set<string>();
  let told: StorageCondition | undefined;
  let nextMono = Number.NEGATIVE_INFINITY;
  let trouble: string | undefined;
  let work: Promise<unknown> = Promise.resolve();

  async function tellStorage(): Promise<void> {
    const { level, freeBytes } = store.storage();
    // Before the store has looked at the disk for the first time, its silence means nothing.
    if (level === 'ok' && freeBytes === undefined) return;
    const condition = conditions[level];
    if (condition === told) return;
    // Only what was taken counts as told: after an error the next round tells it again, which changes nothing (I1).
    await options.tell({ kind: 'storage', condition });
    told = condition;
  }

  async function tellLosses(): Promise<void> {
    if (clock.monotonic() < nextMono) return;
    const gaps = await store.gaps({ limit: 1000, unreported: true, withSilent: true });
    const open = new Set(gaps.map(keyOf));
    for (const key of underWay) if (!open.has(key)) underWay.delete(key);
    const noLoss = gaps.filter(({ count }) => count === 0);
    if (noLoss.length > 0) await store.gapsReported(noLoss);
    const next = gaps.filter((gap) => gap.count > 0 && !underWay.has(keyOf(gap)));
    await tellOf(next.filter(({ silent }) => silent !== true).slice(-perEvent));
    await tellOf(next.filter(({ silent }) => silent === true).slice(-perEvent));
  }

  /** All of them silent, or none: the news is as silent as what it tells of (safety 4). */
  async function tellOf(next: readonly Gap[]): Promise<void> {
    const [first] = next;
    if (first === undefined) return;
    nextMono = clock.monotonic() + betweenMs;
    for (const gap of next) underWay.add(keyOf(gap));
    try {
      const oldestFirst = next.toReversed();
      const numbers = await store.numbersOf(oldestFirst.flatMap(({ seqFrom, seqTo }) => [seqFrom, seqTo]));
      const losses = oldestFirst.map((gap, index) => lostEvents(gap, numbers.slice(2 * index)));
      const news = { kind: 'loss', losses, ...(first.silent === true && { silent: true as const }) } as const;
      await options.tell(news, oldestFirst.map(markOf));
    } catch (error) {
      // Better told twice than not at all.
      for (const gap of next) underWay.delete(keyOf(gap));
      throw error;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await tellStorage();
        await tellLosses();
        trouble = undefined;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (trouble === undefined) log.warn({ err: error }, 'what was lost cannot be told yet');
        trouble = describe(error);
      }
      const waitMs = trouble !== undefined || underWay.size > 0 ? (options.againMs ?? againMs) : betweenMs;
      await wakeups.wait(waitMs, stopping.signal).catch(() => undefined);
    }
  }

  return {
    name: 'losses',
    async start() {
      work = run();
    },
    async stop() {
      stopping.abort(new Error('the report of losses was stopped'));
      await work;
    },
    wake: () => wakeups.wake(),
    health(): Health {
      return trouble === undefined ? ok() : { state: 'degraded', reason: `losses cannot be told yet: ${trouble}` };
    },
  };
}

/** With the numbers that everybody knows the events by. */
function lostEvents({ id, lane, count, why, at, ...rows }: Gap, numbers: readonly number[]): LostEvents {
  const [seqFrom = rows.seqFrom, seqTo = rows.seqTo] = numbers;
  return { record: id, lane, count, seqFrom, seqTo, why, at };
}

const markOf = ({ id, lane, seqFrom, seqTo }: Gap): GapMark => ({ id, lane, seqFrom, seqTo });

const keyOf = ({ id, lane, seqFrom, seqTo }: Gap): string => [id, lane, seqFrom, seqTo].join(' ');

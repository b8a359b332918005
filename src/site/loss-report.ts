import type { Logger } from 'pino';
import { describe } from '#errors.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { wakeup } from '#lib/wait.ts';
import { bridgeItself, type LostEvents, type Signal, type StorageCondition } from './model/index.ts';
import type { Gap, StorageLevel, Store } from './store/index.ts';

/** Records one event tells of, as many as its evidence holds. */
const perEvent = 16;
/** While losses go on they are told together: an event about each would itself fill the disk. */
const pauseMs = 60_000;
const againMs = 5000;
/** Newest trouble events that are searched for one that tells of a record already. */
const lookBack = 500;

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
 * Turns what the store had to give up, and the state of its disk, into events. A gap record counts as reported only
 * when an event that tells of it was read back from the disk; after a crash in between nothing is told twice.
 */
export function createLossReport(options: {
  store: Pick<Store, 'gaps' | 'gapsReported' | 'events' | 'storage'>;
  emit: (signals: readonly Signal[]) => Promise<void>;
  log: Logger;
  /** For tests. */
  pauseMs?: number;
  againMs?: number;
}): LossReport {
  const { store, log } = options;
  const stopping = new AbortController();
  const wakeups = wakeup();
  const betweenMs = options.pauseMs ?? pauseMs;
  /** Records this run has made an event of that was not found on disk yet. */
  const underWay = new Set<string>();
  let told: StorageCondition | undefined;
  let nextMono = 0;
  let trouble: string | undefined;
  let work: Promise<unknown> = Promise.resolve();

  async function tellStorage(): Promise<void> {
    const { level, freeBytes } = store.storage();
    // Before the store has looked at the disk for the first time, its silence means nothing.
    if (level === 'ok' && freeBytes === undefined) return;
    const condition = conditions[level];
    if (condition === told) return;
    told = condition;
    await options.emit([{ kind: 'storage', source: bridgeItself, condition }]);
  }

  async function tellLosses(): Promise<void> {
    if (performance.now() < nextMono) return;
    const gaps = await store.gaps({ limit: 1000, unreported: true });
    if (gaps.length === 0) return underWay.clear();
    const rest = await confirm(gaps);
    const next = rest.filter((gap) => !underWay.has(keyOf(evidenceOf(gap)))).slice(-perEvent);
    if (next.length === 0) return;
    nextMono = performance.now() + betweenMs;
    for (const gap of next) underWay.add(keyOf(evidenceOf(gap)));
    // Resolves after two seconds without a disk too; then the event is found at a later look.
    await options.emit([{ kind: 'loss', source: bridgeItself, losses: next.map(lostEvents).reverse() }]);
    await confirm(next);
  }

  /** Marks as reported what an event on disk tells of, and what turned out to be no loss; returns the others. */
  async function confirm(gaps: readonly Gap[]): Promise<Gap[]> {
    const known = await toldAlready(gaps);
    const done = gaps.filter((gap) => gap.count === 0 || known.includes(gap));
    if (done.length > 0) await store.gapsReported(done);
    for (const gap of done) underWay.delete(keyOf(evidenceOf(gap)));
    return gaps.filter((gap) => !done.includes(gap));
  }

  async function toldAlready(gaps: readonly Gap[]): Promise<Gap[]> {
    const events = await store.events({ limit: lookBack, class: 'trouble' });
    const told = new Set(
      events.flatMap(({ event }) => (event.kind === 'events_lost' ? (event.data.evidence ?? []).map(keyOf) : [])),
    );
    return gaps.filter((gap) => told.has(keyOf(evidenceOf(gap))));
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

const lostEvents = ({ id, lane, count, seqFrom, seqTo, why, at }: Gap): LostEvents => ({
  record: id,
  lane,
  count,
  seqFrom,
  seqTo,
  why,
  at,
});

const evidenceOf = ({ id, lane, seqFrom, seqTo }: Gap) => ({ record: id, lane, seq_from: seqFrom, seq_to: seqTo });

function keyOf(evidence: Readonly<Record<string, string | number | boolean>>): string {
  const { record, lane, seq_from, seq_to } = evidence;
  return [record, lane, seq_from, seq_to].join(' ');
}

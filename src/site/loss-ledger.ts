import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { Lane } from './model/index.ts';
import type { NewGap, OutboxRow, Store } from './store/index.ts';

/** Numbers kept of a record that is not written yet; whoever is asked about them remembers no more (`Delivery.wasAccepted`). */
const seqCap = 4096;

interface Open {
  readonly gap: NewGap;
  /** The newest of its events: each of them may be on its way to the cloud, or there already. */
  readonly seqs: number[];
}

/**
 * Rows given up in memory, one gap record per lane until the store takes it. What the cloud has by then is no loss.
 */
export function lossLedger(options: {
  store: Pick<Store, 'addGap'>;
  wasAccepted: (seq: number) => boolean;
  signal: AbortSignal;
}): {
  add(row: OutboxRow): void;
  /** What the store has not taken. */
  open(): readonly NewGap[];
} {
  const { store, wasAccepted, signal } = options;
  const open = new Map<Lane, Open>();
  let writing = false;
  let underWay: NewGap | undefined;

  async function write(): Promise<void> {
    writing = true;
    for (let gap = take(); gap !== undefined; gap = take()) {
      const pause = backoff({ baseMs: 500, capMs: 5000 });
      underWay = gap;
      // Repeated as it is until the store has it: an unknown outcome must not count twice.
      while (!(await store.addGap(gap).then(isTrue, isFalse))) await sleep(pause.next(), signal);
    }
    underWay = undefined;
    writing = false;
  }

  function take(): NewGap | undefined {
    for (const [lane, one] of open) {
      open.delete(lane);
      const gap = lostOf(one);
      if (gap.count > 0) return gap;
    }
    return undefined;
  }

  const lostOf = ({ gap, seqs }: Open): NewGap => ({ ...gap, count: gap.count - seqs.filter(wasAccepted).length });

  return {
    add({ lane, seq, wall }) {
      const { gap, seqs = [] } = open.get(lane) ?? {};
      const { seqFrom = seq, seqTo = seq, count = 0 } = gap ?? {};
      const range = { seqFrom: Math.min(seqFrom, seq), seqTo: Math.max(seqTo, seq), count: count + 1 };
      if (seqs.push(seq) > seqCap) seqs.shift();
      open.set(lane, { gap: { lane, ...range, why: 'memory_full', at: wall }, seqs });
      if (!writing) void write().catch(() => undefined);
    },
    open: () =>
      [...(underWay === undefined ? [] : [underWay]), ...[...open.values()].map(lostOf)].filter(
        ({ count }) => count > 0,
      ),
  };
}

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

import { sleep } from '#lib/wait.ts';
import type { PlaybackShown } from '#site/model/index.ts';

/** Who waits for something to become of a playback; bounded, and each by its own deadline. */
export interface Waits {
  /** Resolves with the playback once it is so, or as it is after `ms`; rejects with the reason of the signal. */
  until(
    id: string,
    isSo: (playback: PlaybackShown) => boolean,
    ms: number,
    signal: AbortSignal,
  ): Promise<PlaybackShown | undefined>;
  changed(playback: PlaybackShown): void;
}

const waitingCap = 256;

export const isBegun = ({ status }: PlaybackShown): boolean => status !== 'queued';

export function createWaits(find: (id: string) => PlaybackShown | undefined): Waits {
  const waiting = new Map<string, Set<() => void>>();

  return {
    async until(id, isSo, ms, signal) {
      const isOver = () => {
        const now = find(id);
        return now === undefined || isSo(now);
      };
      if (isOver() || waiting.size >= waitingCap) return find(id);
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => {
        if (isOver()) resolve();
      };
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others.add(wake));
      const over = new AbortController();
      try {
        await Promise.race([promise, sleep(ms, AbortSignal.any([signal, over.signal]))]);
      } finally {
        over.abort();
        others.delete(wake);
        if (others.size === 0) waiting.delete(id);
      }
      return find(id);
    },
    changed({ playback_id }) {
      for (const wake of waiting.get(playback_id) ?? []) wake();
    },
  };
}

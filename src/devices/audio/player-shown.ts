import type { PlaybackShown } from '#site/model/index.ts';

/** Without an answer of the disk for so long, people are shown what happens all the same. */
const showAfterMs = 2_000;

/** Shows what became of playbacks once it is on disk, or some time without a disk. */
export interface Shown {
  /** With the write it waits for. */
  show(playback: PlaybackShown, write: number): void;
  /** So much is on disk. */
  upTo(write: number): void;
  forget(playback: string): void;
  /** Shows the rest. */
  end(): void;
}

/** `onChanged` is called in the order of what was shown. */
export function createShown(onChanged: (playback: PlaybackShown) => void): Shown {
  /** What is not shown yet. Bounded by what the engine keeps, newest of each. */
  const unshown = new Map<string, { readonly write: number; readonly playback: PlaybackShown }>();
  let showLate: NodeJS.Timeout | undefined;

  function upTo(write: number): void {
    clearTimeout(showLate);
    showLate = undefined;
    for (const [id, entry] of [...unshown]) {
      if (entry.write > write) continue;
      unshown.delete(id);
      onChanged(entry.playback);
    }
    if (unshown.size > 0) showLate = setTimeout(() => upTo(Number.POSITIVE_INFINITY), showAfterMs);
  }

  return {
    show(playback: PlaybackShown, write: number): void {
      unshown.delete(playback.playback_id);
      unshown.set(playback.playback_id, { write, playback });
      showLate ??= setTimeout(() => upTo(Number.POSITIVE_INFINITY), showAfterMs);
    },
    upTo,
    forget(playback) {
      unshown.delete(playback);
    },
    end() {
      upTo(Number.POSITIVE_INFINITY);
      clearTimeout(showLate);
    },
  };
}

import type { Turn } from '#lib/turns.ts';
import type { DeviceSyncDone, SyncWish } from './types.ts';

interface Waiting {
  wish: SyncWish;
  readonly done: Promise<DeviceSyncDone>;
}

/** One reconciliation after the other; one that waits for its turn is everybody's, with what any of them wishes. */
export function sharedTurns(
  inTurn: Turn,
  run: (wish: SyncWish) => Promise<DeviceSyncDone>,
): (wish: SyncWish) => Promise<DeviceSyncDone> {
  /** The one that has not begun: whoever asks meanwhile takes part in it. */
  let next: Waiting | undefined;

  return (wish) => {
    if (next !== undefined) {
      next.wish = { again: next.wish.again || wish.again, lost: next.wish.lost || wish.lost };
      return next.done;
    }
    const mine: Waiting = {
      wish,
      done: inTurn(() => {
        next = undefined;
        return run(mine.wish);
      }),
    };
    next = mine;
    return mine.done;
  };
}

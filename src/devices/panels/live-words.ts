import type { Clock } from '#lib/clock.ts';
import type { ArmingWord } from '#site/model/index.ts';
import type { Reading } from './reading.ts';

/**
 * A broker that was away for longer gets the benefit of the doubt: so much may have happened that its retained words are the
 * best there is.
 */
const doubtMs = 600_000;
/** Partitions one panel may speak of here; the oldest gives way. */
const partitionCap = 256;

/**
 * What a panel told live of its partitions in this run. A broker that crashes comes back with what it last had on disk, so
 * that a retained `disarmed` can be older than the arming siteward has heard (safety 2, I3).
 */
export interface LiveWords {
  /** The broker is away; it is called again with each try that fails. */
  lost(): void;
  found(): void;
  saw(reading: Reading): void;
  /** A retained word that would disarm, or end an alarm, after a short loss of the broker: it needs a live one to confirm it. */
  isDoubtful(reading: Reading): boolean;
}

export function createLiveWords(clock: Clock): LiveWords {
  const words = new Map<string, ArmingWord>();
  let lostMono: number | undefined;
  let hasDoubt = false;

  const isShortLoss = (mono: number) => clock.monotonic() - mono <= doubtMs;

  return {
    lost() {
      lostMono ??= clock.monotonic();
    },
    found() {
      if (lostMono === undefined) return;
      hasDoubt = isShortLoss(lostMono);
      lostMono = undefined;
      if (!hasDoubt) words.clear();
    },
    saw(reading) {
      if (reading.kind !== 'partition' || reading.context || reading.replay || reading.state === undefined) return;
      words.delete(reading.key);
      words.set(reading.key, reading.state);
      for (const oldest of words.keys()) {
        if (words.size <= partitionCap) break;
        words.delete(oldest);
      }
    },
    isDoubtful(reading) {
      // The first retained words can be read before `found` is called: they come in one packet with the answer to SUBSCRIBE.
      const isDoubted = lostMono === undefined ? hasDoubt : isShortLoss(lostMono);
      if (!isDoubted || reading.kind !== 'partition' || reading.context || !reading.replay) return false;
      const live = words.get(reading.key);
      const { state } = reading;
      if (live === undefined || state === undefined || state === live) return false;
      return state === 'disarmed' || live === 'triggered';
    },
  };
}

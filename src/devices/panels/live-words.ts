import type { Clock } from '#lib/clock.ts';
import type { ArmingWord } from '#site/model/index.ts';
import type { Message, Reading } from './reading.ts';

/**
 * A broker that was away for longer gets the benefit of the doubt: so much may have happened that its retained words are the
 * best there is.
 */
const doubtMs = 600_000;
/** Partitions one panel may speak of here; the oldest gives way. */
const partitionCap = 256;
/** Doubted messages that are kept; the oldest gives way and stays doubted. */
const doubtedCap = 64;

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
  /** Keeps a message with such a word, the newest of its topic. */
  doubted(message: Message, readings: readonly Reading[]): void;
  /** A newer message has come on this topic. */
  replaced(topic: string): void;
  /**
   * Messages whose doubt has ended, each once: siteward was connected for ten minutes, and the bridge neither said otherwise nor
   * that it has connected anew, as it would after a crash of the broker. So siteward's own connection was lost, no more.
   */
  settled(): readonly Message[];
}

export function createLiveWords(clock: Clock): LiveWords {
  const words = new Map<string, ArmingWord>();
  let lostMono: number | undefined;
  let foundMono: number | undefined;
  let hasDoubt = false;
  /** By topic, with the keys of the partitions they speak of. */
  const kept = new Map<string, { message: Message; keys: ReadonlySet<string> }>();
  /** Since the loss: the partitions that were told live, and whether the bridge has told of its own connection. */
  const told = new Set<string>();
  let hasBridgeCome = false;

  const isShortLoss = (mono: number) => clock.monotonic() - mono <= doubtMs;

  return {
    lost() {
      lostMono ??= clock.monotonic();
      foundMono = undefined;
      kept.clear();
      told.clear();
      hasBridgeCome = false;
    },
    found() {
      foundMono = clock.monotonic();
      if (lostMono === undefined) return;
      hasDoubt = isShortLoss(lostMono);
      lostMono = undefined;
      if (!hasDoubt) words.clear();
    },
    saw(reading) {
      if (reading.kind === 'link' && !reading.context && !reading.replay) hasBridgeCome = true;
      if (reading.kind !== 'partition' || reading.context || reading.replay || reading.state === undefined) return;
      told.add(reading.key);
      words.delete(reading.key);
      words.set(reading.key, reading.state);
      for (const oldest of words.keys()) {
        if (words.size <= partitionCap) break;
        words.delete(oldest);
        told.delete(oldest);
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
    doubted(message, readings) {
      const keys = new Set(readings.flatMap((one) => (one.kind === 'partition' ? [one.key] : [])));
      kept.set(message.topic, { message, keys });
      for (const oldest of kept.keys()) {
        if (kept.size <= doubtedCap) break;
        kept.delete(oldest);
      }
    },
    replaced(topic) {
      kept.delete(topic);
    },
    settled() {
      if (kept.size === 0 || foundMono === undefined || clock.monotonic() - foundMono < doubtMs) return [];
      const isOpen = (keys: ReadonlySet<string>) => !hasBridgeCome && ![...keys].some((key) => told.has(key));
      const settled = [...kept.values()].filter(({ keys }) => isOpen(keys));
      kept.clear();
      for (const { keys } of settled) for (const key of keys) words.delete(key);
      return settled.map(({ message }) => message);
    },
  };
}

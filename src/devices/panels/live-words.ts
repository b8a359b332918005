import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { type ArmingWord, isCalmer } from '#site/model/index.ts';
import type { Message, Reading } from './reading.ts';

/** A broker that was away for longer gets the benefit of the doubt for zones: what it has retained of them is the best there is. */
const doubtMs = 600_000;
/** Partitions and zones of one panel that are remembered here; the oldest gives way. */
const partitionCap = 256;
const zoneCap = 4096;
/** Doubted messages that are kept; the oldest gives way and stays doubted. */
const doubtedCap = 256;

/**
 * What was heard of a panel: of its partitions also before this run, of its zones what they said live. A broker that crashes, and a box
 * after a power cut, comes back with what it last had on disk, so that a retained or queued `disarmed` can be older than the arming
 * siteward has heard (safety 2, I3), and a retained `closed` older than the opening.
 */
export interface LiveWords {
  /** The broker is away; it is called again with each try that fails. */
  lost(): void;
  found(): void;
  saw(reading: Reading): void;
  /**
   * A word of a partition that is not live and calmer than what is known, at any time: the site takes it for no state, and here what it
   * leaves behind is kept out of what later messages are read with. Or a retained one that would calm a zone after a loss of the broker.
   */
  isDoubtful(reading: Reading, waited: boolean): boolean;
  /** Keeps a message that would calm a zone, the newest of its topic. */
  doubted(message: Message, readings: readonly Reading[]): void;
  /** A newer message has come on this topic. */
  replaced(topic: string): void;
  /**
   * Messages about zones whose doubt has ended, each once: siteward was connected for ten minutes, and the bridge neither said otherwise
   * nor that it has connected anew, as it would after a crash of the broker. So siteward's own connection was lost, no more.
   */
  settled(): readonly Message[];
}

type Levels = { readonly [L in (typeof levels)[number]]?: boolean };
const levels = ['open', 'alarm', 'tamper'] as const;
type Kept = { readonly message: Message; readonly keys: ReadonlySet<string> };

/** `known`: what the site knew of the partitions at the start, by the bridge's key. */
export function createLiveWords(clock: Clock, known: ReadonlyMap<string, ArmingWord> = new Map()): LiveWords {
  const words = new BoundedMap<string, ArmingWord>(partitionCap);
  for (const [key, word] of known) words.set(key, word);
  const zones = new BoundedMap<string, Levels>(zoneCap);
  let lostMono: number | undefined;
  let foundMono: number | undefined;
  let hasDoubt = false;
  /** By topic, with the zones they speak of. */
  const kept = new BoundedMap<string, Kept>(doubtedCap);
  /** Since the loss: the zones that were told live, and whether the bridge has told of its own connection. */
  const told = new BoundedMap<string, true>(zoneCap);
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
      if (!hasDoubt) zones.clear();
    },
    saw(reading) {
      if (reading.context) return;
      if (reading.kind === 'link' && !reading.replay) hasBridgeCome = true;
      if (reading.kind === 'partition' && reading.state !== undefined) words.set(reading.key, reading.state);
      if (reading.kind !== 'zone' || reading.replay) return;
      zones.set(reading.key, { ...zones.get(reading.key), ...levelsOf(reading) });
      told.set(reading.key, true);
    },
    isDoubtful(reading, waited) {
      if (reading.context || !(reading.replay || waited)) return false;
      if (reading.kind === 'partition')
        return reading.state !== undefined && isCalmer(words.get(reading.key) ?? 'unknown', reading.state);
      // The first retained words can be read before `found` is called: they come in one packet with the answer to SUBSCRIBE.
      const isDoubted = lostMono === undefined ? hasDoubt : isShortLoss(lostMono);
      if (!isDoubted || reading.kind !== 'zone' || !reading.replay) return false;
      const heard = zones.get(reading.key);
      return levels.some((level) => heard?.[level] === true && reading[level] === false);
    },
    doubted(message, readings) {
      const keys = readings.flatMap((one) => (one.kind === 'zone' ? [one.key] : []));
      if (keys.length > 0) kept.set(message.topic, { message, keys: new Set(keys) });
    },
    replaced(topic) {
      kept.delete(topic);
    },
    settled() {
      if (kept.size === 0 || foundMono === undefined || clock.monotonic() - foundMono < doubtMs) return [];
      const isOpen = ({ keys }: Kept) => !hasBridgeCome && ![...keys].some((key) => told.has(key));
      const settled = [...kept.entries()].map(([, one]) => one).filter(isOpen);
      kept.clear();
      for (const key of settled.flatMap(({ keys }) => [...keys])) zones.delete(key);
      return settled.map(({ message }) => message);
    },
  };
}

function levelsOf(reading: Extract<Reading, { kind: 'zone' }>): Levels {
  return Object.fromEntries(levels.flatMap((level) => (reading[level] === undefined ? [] : [[level, reading[level]]])));
}

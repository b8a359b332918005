import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { ArmingWord } from '#site/model/index.ts';
import type { Message, Reading } from './reading.ts';

/**
 * A broker that was away for longer gets the benefit of the doubt: so much may have happened that its retained words are the
 * best there is.
 */
const doubtMs = 600_000;
/** Partitions and zones of one panel that are remembered here; the oldest gives way. */
const partitionCap = 256;
const zoneCap = 4096;
/** Doubted messages that are kept; the oldest gives way and stays doubted. */
const doubtedCap = 256;

/**
 * What was heard of a panel: of its partitions also before this run, of its zones what they said live. A broker that crashes comes back with what it last had on
 * disk, so that a retained `disarmed` can be older than the arming siteward has heard (safety 2, I3), and a retained `closed` older
 * than the opening.
 */
export interface LiveWords {
  /** The broker is away; it is called again with each try that fails. */
  lost(): void;
  found(): void;
  saw(reading: Reading): void;
  /**
   * A retained word that would disarm, end an alarm or calm a zone, after a loss of the broker: it needs a live one to confirm it.
   * So does one that `waited` in the queue of a broker that was lost in this run: a broker that crashes delivers an old queue again. After a
   * start the queue is what came while siteward was away.
   */
  isDoubtful(reading: Reading, waited: boolean): boolean;
  /** Keeps a message with such a word, the newest of its topic. */
  doubted(message: Message, readings: readonly Reading[]): void;
  /** A newer message has come on this topic. */
  replaced(topic: string): void;
  /**
   * Messages whose doubt has ended, each once: siteward was connected for ten minutes, and the bridge neither said otherwise nor
   * that it has connected anew, as it would after a crash of the broker. So siteward's own connection was lost, no more. A bridge
   * that never tells of its connection shows nothing of that kind: of its partitions only a live word counts.
   */
  settled(): readonly Message[];
}

export interface LiveWordsOptions {
  /** What the site knew of the partitions at the start, by the bridge's key. */
  readonly known?: ReadonlyMap<string, ArmingWord>;
  /** Whether the bridge tells that it has come. */
  readonly tellsBridge: boolean;
}

type Levels = { readonly [L in (typeof levels)[number]]?: boolean };
const levels = ['open', 'alarm', 'tamper'] as const;
type Kept = { readonly message: Message; readonly keys: ReadonlySet<string>; readonly isOfPartition: boolean };

export function createLiveWords(clock: Clock, { known = new Map(), tellsBridge }: LiveWordsOptions): LiveWords {
  const words = new BoundedMap<string, ArmingWord>(partitionCap);
  for (const [key, word] of known) words.set(key, word);
  const zones = new BoundedMap<string, Levels>(zoneCap);
  /** Nobody knows how long siteward was away, nor what became of the broker meanwhile. */
  let isStart = words.size > 0;
  let lostMono: number | undefined = isStart ? clock.monotonic() : undefined;
  let foundMono: number | undefined;
  let hasDoubt = false;
  let isSinceStart = isStart;
  /** By topic, with the keys of what they speak of. */
  const kept = new BoundedMap<string, Kept>(doubtedCap);
  /** Since the loss: what was told live, and whether the bridge has told of its own connection. */
  const told = new BoundedMap<string, true>(partitionCap + zoneCap);
  let hasBridgeCome = false;

  const isShortLoss = (mono: number) => isStart || clock.monotonic() - mono <= doubtMs;

  return {
    lost() {
      lostMono ??= clock.monotonic();
      foundMono = undefined;
      isSinceStart = isStart;
      kept.clear();
      told.clear();
      hasBridgeCome = false;
    },
    found() {
      foundMono = clock.monotonic();
      if (lostMono === undefined) return;
      hasDoubt = isShortLoss(lostMono);
      lostMono = undefined;
      isStart = false;
      if (hasDoubt) return;
      words.clear();
      zones.clear();
    },
    saw(reading) {
      if (reading.context) return;
      if (reading.kind === 'link' && !reading.replay) hasBridgeCome = true;
      if (reading.kind === 'partition' && reading.state !== undefined) words.set(reading.key, reading.state);
      if ((reading.kind !== 'partition' && reading.kind !== 'zone') || reading.replay) return;
      if (reading.kind === 'zone') zones.set(reading.key, { ...zones.get(reading.key), ...levelsOf(reading) });
      told.set(nameOf(reading), true);
    },
    isDoubtful(reading, waited) {
      // The first retained words can be read before `found` is called: they come in one packet with the answer to SUBSCRIBE.
      const isDoubted = lostMono === undefined ? hasDoubt : isShortLoss(lostMono);
      if (!isDoubted || reading.context || !(reading.replay || (waited && !isSinceStart))) return false;
      if (reading.kind === 'zone') {
        const heard = zones.get(reading.key);
        return levels.some((level) => heard?.[level] === true && reading[level] === false);
      }
      if (reading.kind !== 'partition') return false;
      const heard = words.get(reading.key);
      const { state } = reading;
      if (heard === undefined || state === undefined || state === heard) return false;
      return state === 'disarmed' || heard === 'triggered';
    },
    doubted(message, readings) {
      const about = readings.filter((one) => one.kind === 'partition' || one.kind === 'zone');
      const isOfPartition = about.some((one) => one.kind === 'partition' && this.isDoubtful(one, true));
      kept.set(message.topic, { message, keys: new Set(about.map(nameOf)), isOfPartition });
    },
    replaced(topic) {
      kept.delete(topic);
    },
    settled() {
      if (kept.size === 0 || foundMono === undefined || clock.monotonic() - foundMono < doubtMs) return [];
      const isOpen = ({ keys, isOfPartition }: Kept) =>
        !hasBridgeCome && (tellsBridge || !isOfPartition) && ![...keys].some((key) => told.has(key));
      const settled = [...kept.entries()].map(([, one]) => one).filter(isOpen);
      kept.clear();
      for (const name of settled.flatMap(({ keys }) => [...keys])) {
        const [kind, key = ''] = name.split(/ (.*)/s);
        if (kind === 'zone') zones.delete(key);
        else words.delete(key);
      }
      return settled.map(({ message }) => message);
    },
  };
}

const nameOf = (reading: Extract<Reading, { kind: 'partition' | 'zone' }>): string => `${reading.kind} ${reading.key}`;

function levelsOf(reading: Extract<Reading, { kind: 'zone' }>): Levels {
  return Object.fromEntries(levels.flatMap((level) => (reading[level] === undefined ? [] : [[level, reading[level]]])));
}

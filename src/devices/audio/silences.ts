import type { Logger } from 'pino';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep, unlessAborted } from '#lib/wait.ts';
import type { Speaker } from './speakers.ts';

/**
 * Speakers that did not take the order to be silent (safety 9). Each is told again until it answers, another sound takes the place
 * of what it may still play, or its time is over; at most one such work for each speaker.
 */
export interface Silences {
  /** It may sound on; `why` is for people. Resolves when it is told no more. */
  insist(speaker: Speaker, why: string): Promise<void>;
  /** It answered to a stop, or played another sound to its end. */
  isSilent(speaker: Speaker): void;
  /**
   * Another sound is to begin there: resolves once no order is on its way that would end it; undefined where none is. What comes back
   * is called at its end, and tells those again that still may sound.
   */
  giveWay(speaker: Speaker): Promise<(hasSounded: boolean) => readonly Promise<void>[]> | undefined;
}

interface Telling {
  readonly speaker: Speaker;
  /** Monotonic. */
  readonly until: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** So long it is told again and again; then somebody has to go there. */
const insistMs = 60_000;
const againMs = 500;
const againCapMs = 5_000;

export function createSilences(options: {
  readonly speaker: (id: string) => Speaker | undefined;
  /** For its trouble. */
  readonly onSoundsOn: (speaker: string, isSo: boolean) => void;
  /** Ends all of it. */
  readonly over: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
}): Silences {
  const { speaker: find, onSoundsOn, over, clock, log } = options;
  const tellings = new Map<string, Telling>();

  async function tell(speaker: Speaker, until: number, signal: AbortSignal): Promise<void> {
    const { id } = speaker.options;
    const pause = backoff({ baseMs: againMs, capMs: againCapMs });
    while (clock.monotonic() < until) {
      await sleep(pause.next(), signal);
      // By its settings of now: it may be these that were wrong.
      const { driver } = find(id) ?? speaker;
      if (driver.release === undefined) return onSoundsOn(id, false);
      try {
        await unlessAborted(driver.release(signal), signal);
        signal.throwIfAborted();
        onSoundsOn(id, false);
        return log.warn({ speaker: id }, 'a speaker that was to be silent has taken the order at last');
      } catch {
        signal.throwIfAborted();
        // Another one of its name begins without it.
        onSoundsOn(id, true);
      }
    }
    log.error({ speaker: id }, 'a speaker takes no order to be silent and is told no more; silence it by hand');
  }

  function begin(speaker: Speaker, until: number): Promise<void> {
    const { id } = speaker.options;
    const known = tellings.get(id);
    if (known !== undefined) return known.done;
    const stop = new AbortController();
    const done = tell(speaker, until, AbortSignal.any([stop.signal, over]))
      .catch(() => undefined)
      .finally(() => tellings.delete(id));
    tellings.set(id, { speaker, until, stop, done });
    return done;
  }

  return {
    async insist(speaker, why) {
      const { id } = speaker.options;
      log.error({ speaker: id, why }, 'a speaker did not take the order to be silent and may sound on');
      onSoundsOn(id, true);
      await begin(speaker, clock.monotonic() + insistMs);
    },
    isSilent: ({ options: { id } }) => onSoundsOn(id, false),
    giveWay({ lane, options: { id } }) {
      const there = [...tellings.values()].filter((one) => one.speaker.lane === lane);
      if (there.length === 0) return undefined;
      for (const { stop } of there) stop.abort(new Error('another sound begins'));
      const resume = (hasSounded: boolean) =>
        there
          .filter(({ speaker }) => !hasSounded || speaker.options.id !== id)
          .map(({ speaker, until }) => begin(speaker, until));
      return Promise.all(there.map(({ done }) => done)).then(() => resume);
    },
  };
}

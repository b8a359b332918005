import { type SoundFormat, type SpeakerDriver, SpeakerError } from '../driver.ts';
import { type PaceClock, realTime } from '../pace.ts';
import { checkPace, expectFormat, send, stallMs, within } from './fed.ts';
import { localStopMs } from './piped.ts';

/** What a simulated speaker does wrong. */
export type SpeakerFault =
  | { readonly kind: 'busy' | 'gone' | 'too_fast' }
  /** It stands still, or is lost, so long after the first sample. */
  | { readonly kind: 'freeze' | 'die'; readonly afterMs?: number };

export interface NullOptions {
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly clock?: PaceClock;
  /** Asked all the time. */
  readonly fault?: () => SpeakerFault | undefined;
  /** Begins a sound; is told what of it was heard, as its time comes. */
  readonly hear?: (format: SoundFormat) => Hearing;
}

export interface Hearing {
  samples(bytes: Buffer): void;
  /** There is no more. Rejects where not all could be kept. */
  end(): Promise<void>;
}

/** A speaker that is none: it takes sounds in the real time of its clock. */
export function createNullDriver(options: NullOptions = {}): SpeakerDriver {
  const { clock = realTime(), rate = 48_000, channels = 1, fault, hear } = options;
  const format = { encoding: 's16le', rate, channels } as const;

  function checkPresent(): void {
    const kind = fault?.()?.kind;
    if (kind === 'busy') throw new SpeakerError('busy', 'the simulated speaker is busy');
    if (kind === 'gone') throw new SpeakerError('not_found', 'there is no simulated speaker');
  }

  return {
    stopBudgetMs: localStopMs,

    async probe(signal) {
      signal.throwIfAborted();
      checkPresent();
      return { detail: 'a simulated speaker', format, exclusive: true };
    },

    async play(sound, { signal, onFirstSample }) {
      signal.throwIfAborted();
      expectFormat(sound, 's16le');
      checkPresent();
      const hearing = hear?.(sound.format);
      const device = createDevice(sound.format, { clock, fault, hearing });
      try {
        const fed = await send({ sound, context: { signal, onFirstSample }, clock, write: device.write });
        const restMs = Math.max(0, fed.endsAt - clock.now());
        const what = 'the simulated speaker does not end';
        await within(restMs + stallMs, { clock, signal, what }, device.drain(signal));
        checkPace(sound, { endsAt: fed.endsAt, nowMs: clock.now() });
        return { samples: fed.samples, delivered: 'heard' };
      } finally {
        device.stop();
        await hearing?.end();
      }
    },
  };
}

/** It looks at itself so often. */
const stepMs = 20;

interface Behind {
  readonly clock: PaceClock;
  readonly fault: NullOptions['fault'];
  readonly hearing: Hearing | undefined;
}

/** Holds what was sent ahead until its time has come; what it still holds at the stop is not heard. */
function createDevice({ rate, channels }: SoundFormat, { clock, fault, hearing }: Behind) {
  const frame = channels * 2;
  let held = Buffer.alloc(0);
  let firstAt = 0;
  /** All before this time is played. */
  let playedAt: number | undefined;
  let failed: { readonly at: number; readonly kind: 'freeze' | 'die' } | undefined;

  function play(): void {
    if (playedAt === undefined) return;
    const wrong = fault?.();
    if (wrong?.kind === 'freeze' || wrong?.kind === 'die') {
      const at = Math.max(playedAt, firstAt + (wrong.afterMs ?? 0));
      if (clock.now() >= at) failed ??= { at, kind: wrong.kind };
    }
    const now = failed?.at ?? clock.now();
    const due = Math.floor(((now - playedAt) * rate) / 1000) * frame;
    const heard = held.subarray(0, wrong?.kind === 'too_fast' ? held.length : due);
    held = held.subarray(heard.length);
    // Where it ran dry it stood still.
    playedAt = held.length === 0 ? now : playedAt + (heard.length / frame / rate) * 1000;
    if (heard.length > 0) hearing?.samples(heard);
  }

  async function check(): Promise<void> {
    if (failed?.kind === 'die') throw new SpeakerError('connection_lost', 'the simulated speaker is lost');
    if (failed?.kind === 'freeze') await new Promise(() => undefined);
  }

  return {
    async write(bytes: Buffer): Promise<void> {
      if (playedAt === undefined) {
        firstAt = clock.now();
        playedAt = firstAt;
      }
      play();
      await check();
      held = Buffer.concat([held, bytes]);
    },
    /** Resolves when all is played. */
    async drain(signal: AbortSignal): Promise<void> {
      for (play(); held.length > 0; play()) {
        await check();
        await clock.sleep(Math.min(stepMs, (held.length / frame / rate) * 1000), signal);
      }
    },
    stop: play,
  };
}

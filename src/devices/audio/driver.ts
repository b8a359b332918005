import type { Delivery, DriverFailure } from '#site/model/index.ts';

export { type DriverFailure, driverFailures } from '#site/model/index.ts';

/** Samples as a speaker takes them; one encoding of G.711 is 8 bits, `s16le` 16. */
export interface SoundFormat {
  readonly encoding: 's16le' | 'ulaw' | 'alaw';
  /** Samples per second and channel. */
  readonly rate: number;
  readonly channels: 1 | 2;
}

/**
 * All that is to be heard, ready to be sent: gain, repeats, gaps, fades, and the silence before and after are in it. Made as it
 * is read, so that a long one needs no memory.
 */
export interface Sound {
  readonly format: SoundFormat;
  /** Samples per channel. */
  readonly samples: number;
  /** Samples `from` up to `to`, both per channel, in the bytes of the format. */
  read(from: number, to: number): Buffer;
  /** The same in another encoding, at the same rate, for a device that is asked only then. */
  encoded?(encoding: SoundFormat['encoding']): Sound;
  /** What a device that plays by itself is told instead. */
  readonly asked: { readonly key: string; readonly volume: number; readonly repeat: number };
}

/** Of what a driver could not do. `message` is for people and holds no password and no address with one. */
export class SpeakerError extends Error {
  readonly failure: DriverFailure;
  /** It did not take the order to be silent, and may sound on. */
  readonly soundsOn: boolean;

  constructor(failure: DriverFailure, message: string, options: ErrorOptions & { soundsOn?: boolean } = {}) {
    super(message, options);
    this.failure = failure;
    this.soundsOn = options.soundsOn === true;
  }
}

export interface Probe {
  /** For people: what answered, and what it is set to. */
  readonly detail: string;
  readonly format: SoundFormat;
  /** Nobody else may play on it at the same time. */
  readonly exclusive: boolean;
}

export interface PlayContext {
  /** The sound ends: the driver settles once it is silent, within its stop budget. */
  readonly signal: AbortSignal;
  /** Called once, when the first sample was handed over. */
  readonly onFirstSample: () => void;
}

export interface Played {
  /** Samples per channel the device took. */
  readonly samples: number;
  readonly delivered: Delivery;
}

/**
 * One speaker behind one kind of device. It knows nothing of queues, volume and repeats; whoever calls plays one sound at a time.
 * Every method has deadlines of its own and leaves no process, socket or file behind, however it ends.
 */
export interface SpeakerDriver {
  /** At most so long after an abort the speaker is silent, in milliseconds. */
  readonly stopBudgetMs: number;
  /** Asks the device what it takes, without a sound. Rejects with a SpeakerError. */
  probe(signal: AbortSignal): Promise<Probe>;
  /**
   * Plays in real time, at most 150 ms ahead of it, and resolves when the device has taken the last sample. Rejects with a
   * SpeakerError, or with the reason of the signal; also when the sound was over sooner than it lasts.
   */
  play(sound: Sound, context: PlayContext): Promise<Played>;
  /**
   * Orders silence once: of what a daemon before this one may have left there, or a stop that was not taken. Rejects with a SpeakerError, or
   * with the reason of the signal. Without it, nothing is left that can be ended.
   */
  release?(signal: AbortSignal): Promise<void>;
}

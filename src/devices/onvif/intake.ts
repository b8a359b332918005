import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { Signal } from '#site/model/index.ts';
import type { UnknownTopic } from './camera.ts';
import { createNormaliser, type Normaliser, type Outcome } from './normalise.ts';
import type { Notification } from './notification.ts';
import type { Sense, SilentInputs } from './sense.ts';
import { type SilenceWatch, silenceWatch } from './silence.ts';
import type { Timing } from './timing.ts';
import type { TopicRow } from './topic-row.ts';
import type { Warnings } from './warnings.ts';

export interface IntakeOptions {
  readonly sense: Sense;
  readonly silent: SilentInputs;
  /** The installer's own meaning of topics. */
  readonly topics: readonly TopicRow[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly timing: Timing;
  readonly warnings: Warnings;
  readonly events: {
    outcome(outcome: Outcome, message: Notification, signals: readonly Signal[]): void;
    failure(code: string): void;
  };
}

/** What came of one pull. */
interface Received {
  /** What the messages said. */
  readonly heard: readonly Signal[];
  /** All that is to be told by now, in order. */
  readonly signals: readonly Signal[];
  /** Something came, and not too much: there may be more at once. */
  readonly eager: boolean;
}

/** What becomes of a device's messages: its states, and what its floods and its silence mean. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #normaliser: Normaliser;
  readonly #silence: SilenceWatch;
  #lastEventAt: number | undefined;
  /** The sense's version the present states were told under. */
  #version = 0;

  constructor(options: IntakeOptions) {
    const { sense, silent, topics, clock, timing } = options;
    this.#options = options;
    const wall = () => clock.wall();
    this.#normaliser = createNormaliser({
      ...{ sourceOf: sense.sourceOf, wall, own: topics, presentMs: timing.presentMs },
      // The same button under a topic that nobody knows would show.
      unknown: silent.some ? 'ignored' : 'told',
    });
    this.#silence = silenceWatch(timing);
  }

  get lastEventAt(): number | undefined {
    return this.#lastEventAt;
  }

  /** Something waits for room that the next pull will tell. */
  get holdsBack(): boolean {
    return this.#normaliser.holdsBack;
  }

  get flowing(): 'yes' | 'no' | 'unknown' {
    return this.#silence.flowing(this.#options.clock.monotonic());
  }

  unknownTopics(): readonly UnknownTopic[] {
    return this.#normaliser.unknownTopics();
  }

  /** It is asked how things stand; what comes soon after tells that. */
  subscribed(): void {
    this.#normaliser.subscribed(this.#options.clock.monotonic());
  }

  /** All was asked for. */
  synchronised(): void {
    this.#silence.subscribed(this.#options.clock.monotonic());
  }

  /** See `SilenceWatch.due`. */
  silence(): 'ask' | 'anew' | undefined {
    return this.#silence.due(this.#options.clock.monotonic());
  }

  /** What was told did not arrive, or is forgotten: the device's present states are told again. */
  reset(): void {
    this.#normaliser.reset();
  }

  take(messages: readonly Notification[]): Received {
    const { clock, events, silent } = this.#options;
    const now = clock.monotonic();
    const moved = this.#moved(now);
    const outcomes = new Set<Outcome>();
    let showsFlood = false;
    const heard = messages.flatMap((message) => {
      const {
        signals,
        outcomes: [outcome = 'empty'],
      } = this.#normaliser.take([message], now);
      outcomes.add(outcome);
      showsFlood ||= outcome === 'flood' && !silent.said(message);
      events.outcome(outcome, message, signals);
      return signals;
    });
    const speaks = [...outcomes].some((outcome) => outcome !== 'empty');
    if (speaks) {
      this.#lastEventAt = clock.wall();
      this.#silence.heard(now);
    }
    if (showsFlood) this.#flooded(now);
    return {
      heard,
      signals: [...moved, ...heard, ...this.#normaliser.expire(now)],
      eager: speaks && !outcomes.has('flood'),
    };
  }

  /** What is on moves to the sources it is about by now, before anything new is taken. */
  #moved(now: number): readonly Signal[] {
    const { version } = this.#options.sense;
    if (version === this.#version) return [];
    this.#version = version;
    return this.#normaliser.remap(now);
  }

  #flooded(now: number): void {
    const { warnings, events, log } = this.#options;
    if (!warnings.note('event_flood', floodText, now)) return;
    events.failure('event_flood');
    log.warn(`event_flood: ${floodText}`);
  }
}

const floodText = 'It sends more events than are taken; look for a rule of the camera that fires all the time';

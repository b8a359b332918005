import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { Reading } from './reading.ts';

/** Slow bridges need a minute (Ring); what comes after that is a word like any other. */
export const answerMs = 60_000;
/** Partitions of one panel that may be asked at a time; the oldest gives way. */
const askedCap = 256;

/**
 * The partitions of a panel that were told to disarm and have not answered, by the bridge's keys. The answer comes on another
 * connection than all else, and the two keep no order between them: it ends with whatever the other says meanwhile.
 */
export class Awaited {
  readonly #clock: Clock;
  readonly #until = new BoundedMap<string, number>(askedCap);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  asked(key: string): void {
    this.#until.set(key, this.#clock.monotonic() + answerMs);
  }

  /** What was heard where everything is. That it is disarmed by a word that is not live, is what the answer is needed for. */
  saw(reading: Reading, isNow: boolean): void {
    if (reading.kind !== 'partition' || reading.context || reading.state === undefined) return;
    if (isNow || reading.state !== 'disarmed') this.#until.delete(reading.key);
  }

  /** Whether a live reading is the answer of a partition. */
  isAnswer(reading: Reading): boolean {
    if (reading.kind !== 'partition' || reading.context || reading.state !== 'disarmed') return false;
    const until = this.#until.get(reading.key);
    return until !== undefined && this.#clock.monotonic() < until;
  }

  answered(key: string): void {
    this.#until.delete(key);
  }

  get none(): boolean {
    return this.#until.size === 0;
  }
}

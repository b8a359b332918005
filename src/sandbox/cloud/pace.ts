/** At most `perMinute` requests in each minute of the service's clock (S-021). */
export class Pace {
  readonly #perMinute: number;
  #minute = -1;
  #count = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Counts one request; past the limit it says in how many seconds the next one may come. */
  take(nowMs: number): number | undefined {
    const minute = Math.floor(nowMs / 60_000);
    if (minute !== this.#minute) [this.#minute, this.#count] = [minute, 0];
    this.#count += 1;
    return this.#count <= this.#perMinute ? undefined : Math.ceil(((minute + 1) * 60_000 - nowMs) / 1000);
  }
}

/** What is to happen, in the order of its time. */
export class TimeLine {
  now = 0;
  #order = 0;
  #events: { readonly at: number; readonly order: number; readonly go: () => void }[] = [];

  /** The way to call it off. */
  after(ms: number, go: () => void): () => void {
    this.#order += 1;
    const event = { at: this.now + Math.max(0, ms), order: this.#order, go };
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle];
      if (other !== undefined && other.at <= event.at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
    return () => {
      const at = this.#events.indexOf(event);
      if (at >= 0) this.#events.splice(at, 1);
    };
  }

  pass(ms: number): void {
    const until = this.now + ms;
    for (let [first] = this.#events; first !== undefined && first.at <= until; [first] = this.#events) {
      this.#events.shift();
      this.now = first.at;
      first.go();
    }
    this.now = until;
  }

  /** Nothing of what was to happen does. */
  clear(): void {
    this.#events = [];
  }
}

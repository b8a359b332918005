/**
 * A map bounded in entries and in bytes. At either bound the oldest entry gives way and `dropped` counts it; an
 * entry keeps its place when it is written again.
 */
export class Shelf<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly bytes: number }>();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  #bytes = 0;
  dropped = 0;

  constructor(bounds: { maxEntries: number; maxBytes?: number }) {
    this.#maxEntries = bounds.maxEntries;
    this.#maxBytes = bounds.maxBytes ?? Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V, bytes = 0): void {
    this.#bytes += bytes - (this.#entries.get(key)?.bytes ?? 0);
    this.#entries.set(key, { value, bytes });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
      this.dropped += 1;
    }
  }

  delete(key: K): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  values(): V[] {
    return [...this.#entries.values()].map((entry) => entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
    this.dropped = 0;
  }
}

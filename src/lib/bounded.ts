/** A map that holds at most `cap` entries; the oldest written gives way. */
export class BoundedMap<K, V> {
  readonly #map = new Map<K, V>();
  readonly #cap: number;

  constructor(cap: number) {
    this.#cap = cap;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    if (this.#map.size <= this.#cap) return;
    for (const oldest of this.#map.keys()) {
      this.#map.delete(oldest);
      break;
    }
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map.clear();
  }

  entries(): IterableIterator<[K, V]> {
    return this.#map.entries();
  }
}

import type { MemoryPort } from './camera.ts';
import { belongsTo, keyOf, placedKeys } from './memory-keys.ts';

/**
 * What is remembered of a device counts for the address it was learned at: another device at its place begins anew, with
 * no certificate of the old one, and what proves the new one's password is not sent to where the old one's events were.
 * Only the channels of a recorder stay known: one that moved must still be seen to have changed their order. A key that does
 * not stand in the table of all keys is not kept: nobody would forget it.
 */
export function placeMemory(
  memory: MemoryPort,
  { id, url }: { readonly id: string; readonly url: string },
): MemoryPort {
  const addressKey = keyOf('address', id);
  const { origin } = new URL(url);
  let begun: Promise<void> | undefined;
  let isKnown = false;

  async function begin(): Promise<void> {
    const before = await memory.get(addressKey);
    isKnown = before === origin;
    if (isKnown || before === undefined) return;
    for (const key of placedKeys(id)) await memory.delete(key);
  }

  /** Once; a memory that failed is tried again with the next question. */
  function once(): Promise<void> {
    begun ??= begin().catch((error: unknown) => {
      begun = undefined;
      throw error;
    });
    return begun;
  }

  /** Only before something is kept: a memory that is full can still be read. */
  async function named(): Promise<void> {
    await once();
    if (isKnown) return;
    await memory.set(addressKey, origin);
    isKnown = true;
  }

  return {
    get: async (key) => once().then(() => memory.get(key)),
    async set(key, value) {
      if (!belongsTo(id, key)) throw new Error(`${key} is no key of ${id} in memory-keys.ts`);
      await named();
      await memory.set(key, value);
    },
    delete: async (key) => once().then(() => memory.delete(key)),
    keys: () => memory.keys(),
  };
}

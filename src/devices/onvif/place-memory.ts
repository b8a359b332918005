import type { MemoryPort } from './camera.ts';

/**
 * What is remembered of a device counts for the address it was learned at: another device at its place begins anew, with
 * no certificate of the old one, and what proves the new one's password is not sent to where the old one's events were.
 * Only the channels of a recorder stay known: one that moved must still be seen to have changed their order.
 */
export function placeMemory(
  memory: MemoryPort,
  { id, url }: { readonly id: string; readonly url: string },
): MemoryPort {
  const addressKey = `onvif/address/${id}`;
  const { origin } = new URL(url);
  let begun: Promise<void> | undefined;

  async function begin(): Promise<void> {
    const before = await memory.get(addressKey);
    if (before === origin) return;
    const keys = ['pin', 'subscription', 'learned'].map((what) => `onvif/${what}/${id}`);
    if (before !== undefined) for (const key of keys) await memory.delete(key);
    await memory.set(addressKey, origin);
  }

  /** Once; a memory that failed is tried again with the next question. */
  function once(): Promise<void> {
    begun ??= begin().catch((error: unknown) => {
      begun = undefined;
      throw error;
    });
    return begun;
  }

  return {
    get: async (key) => once().then(() => memory.get(key)),
    set: async (key, value) => once().then(() => memory.set(key, value)),
    delete: async (key) => once().then(() => memory.delete(key)),
  };
}

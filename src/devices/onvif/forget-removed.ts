import type { MemoryPort } from './camera.ts';
import { keyOf, ownerOf } from './memory-keys.ts';
import type { CameraOptions, NvrOptions } from './options.ts';

/** Of the 2,000 keys the store keeps for the cameras. The largest site needs 480, and finds that much room whatever was before. */
export const roomyKeys = 1400;

/**
 * Forgets what belongs to no configured device or channel, but only when the memory is filling up, and no more than it
 * needs: who takes a camera out by mistake and puts it back finds it known, with its certificate.
 */
export async function forgetRemoved(
  memory: MemoryPort,
  present: { readonly cameras: readonly CameraOptions[]; readonly nvrs: readonly NvrOptions[] },
  signal: AbortSignal,
): Promise<void> {
  const keys = await memory.keys();
  const known = new Set([
    ...[...present.cameras, ...present.nvrs].map(({ id }) => id),
    ...present.nvrs.flatMap(({ id, channels }) => channels.map((channel) => `${id}/${channel.id}`)),
  ]);
  const removed = Map.groupBy(
    keys.filter((key) => !known.has(ownerOf(key))),
    ownerOf,
  );
  let left = keys.length;
  for (const [owner, own] of removed) {
    if (left <= roomyKeys) return;
    // The address goes last: as long as it is there, the rest counts for it alone.
    const address = keyOf('address', owner);
    for (const key of own.toSorted((a, b) => Number(a === address) - Number(b === address))) {
      signal.throwIfAborted();
      await memory.delete(key);
      left -= 1;
    }
  }
}

import type { MemoryPort } from './camera.ts';
import type { CameraOptions, NvrOptions } from './options.ts';

/** Of the 2,000 keys the store keeps for the cameras; the largest site needs 1,710. */
const roomyKeys = 1780;

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
  for (const own of removed.values()) {
    if (left <= roomyKeys) return;
    // The address goes last: as long as it is there, the rest counts for it alone.
    for (const key of own.toSorted((a, b) => Number(isAddress(a)) - Number(isAddress(b)))) {
      signal.throwIfAborted();
      await memory.delete(key);
      left -= 1;
    }
  }
}

const isAddress = (key: string): boolean => key.startsWith('onvif/address/');

/** `onvif/<what>/<id>`, and of a channel `onvif/channel/<nvr>/<id>`. */
const ownerOf = (key: string): string => key.split('/').slice(2).join('/');

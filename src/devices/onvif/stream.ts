import { shownAddress } from './address.ts';
import type { Ask } from './camera.ts';
import type { Place } from './picture-places.ts';
import type { StreamClient } from './stream-client.ts';

/** The stream of one camera or channel. */
export interface Stream {
  /** See `Camera.readStream`. */
  read<T>(signal: AbortSignal, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
  /** Throws as `read`. */
  address(signal: AbortSignal): Promise<string>;
  /** Learns its address ahead of the first alarm; best effort, never throws. */
  prepare(signal: AbortSignal): Promise<void>;
  known(): { stream?: string };
}

export function createStream(options: { client: StreamClient; place: Place; configured?: string | undefined }): Stream {
  const { client, place, configured } = options;
  /** Of the source with this key; forgotten when it failed. */
  let learned: { readonly key: string; readonly url: string } | undefined;
  let shown = configured && shownAddress(configured);

  async function address(signal: AbortSignal): Promise<string> {
    if (configured !== undefined) return configured;
    const key = place.key();
    if (learned?.key !== key) learned = { key, url: await place.stream(signal) };
    shown = shownAddress(learned.url);
    return learned.url;
  }

  return {
    address,
    async read(signal, work, ask) {
      const url = await address(signal);
      try {
        return await client.lend(url, work, ask);
      } catch (error) {
        // It may have changed with a setting or a firmware: it is asked for again next time.
        learned = undefined;
        throw error;
      }
    },
    async prepare(signal) {
      learned = undefined;
      // Asked for again when it is needed; the failure is told then.
      await address(signal).catch(() => undefined);
    },
    known: () => (shown === undefined ? {} : { stream: shown }),
  };
}

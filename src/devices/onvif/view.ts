import type { Turn } from '#lib/turns.ts';
import type { Camera } from './camera.ts';
import type { Engine } from './engine.ts';
import type { ChannelOptions } from './options.ts';
import type { Place } from './picture-places.ts';
import { createPictures } from './pictures.ts';
import { createStream, type Stream } from './stream.ts';

/** What one camera or channel shows: pictures, and a stream. */
export interface View {
  /** See `Camera.snapshot`. */
  readonly snapshot: Camera['snapshot'];
  /** See `Camera.readStream`. */
  readonly readStream: Stream['read'];
  /** See `Camera.streamAddress`. */
  readonly streamAddress: Stream['address'];
  /** Learns addresses ahead of the first alarm; best effort, never throws. */
  prepare(): Promise<void>;
  known(): { profiles?: number; stream?: string };
  close(): void;
}

export function createView(
  engine: Engine,
  place: Place,
  entry: Pick<ChannelOptions, 'snapshot_url' | 'stream_url'>,
  turn?: Turn,
): View {
  const { device, lifetime } = engine;
  const configured = entry.snapshot_url;
  const pictures = createPictures({ device, client: engine.pictures, place, configured, ...(turn && { turn }) });
  const stream = createStream({ client: engine.streams, place, configured: entry.stream_url });
  return {
    snapshot: pictures.take,
    readStream: stream.read,
    streamAddress: stream.address,
    /** One after the other: small cameras bear few requests at once. */
    async prepare() {
      await pictures.prepare();
      await stream.prepare(lifetime);
    },
    known: () => ({ ...pictures.known(), ...stream.known() }),
    close: pictures.close,
  };
}

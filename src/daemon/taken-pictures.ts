import { randomBytes } from 'node:crypto';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';

const keptMs = 120_000;
const cap = 16;
const bytesCap = 16 * 1024 * 1024;

/** Pictures that were taken on demand, in memory, for whoever comes for them by their address. */
export interface TakenPictures {
  /** Gives the id by which it is found; the oldest gives way. */
  keep(jpeg: Uint8Array): string;
  find(id: string): Uint8Array | undefined;
}

export function takenPictures({ clock, metrics }: { clock: Clock; metrics: Registry }): TakenPictures {
  /** The oldest first. */
  const pictures = new Map<string, { readonly jpeg: Uint8Array; readonly untilMono: number }>();
  let bytes = 0;
  const dropped = new Counter({
    name: 'siteward_lan_pictures_dropped_total',
    help: 'Pictures taken over the paths of the cloud that gave way to newer ones before their two minutes were over',
    registers: [metrics],
  });
  new Gauge({
    name: 'siteward_lan_pictures',
    help: 'Pictures taken over the paths of the cloud that can be fetched',
    registers: [metrics],
    collect() {
      forgetOld();
      this.set(pictures.size);
    },
  });

  function forget(id: string): void {
    bytes -= pictures.get(id)?.jpeg.byteLength ?? 0;
    pictures.delete(id);
  }

  function forgetOld(): void {
    for (const [id, { untilMono }] of pictures) if (untilMono <= clock.monotonic()) forget(id);
  }

  return {
    keep(jpeg) {
      forgetOld();
      for (const id of pictures.keys()) {
        if (pictures.size < cap && bytes + jpeg.byteLength <= bytesCap) break;
        forget(id);
        dropped.inc();
      }
      const id = randomBytes(24).toString('base64url');
      pictures.set(id, { jpeg, untilMono: clock.monotonic() + keptMs });
      bytes += jpeg.byteLength;
      return id;
    },
    find(id) {
      forgetOld();
      return pictures.get(id)?.jpeg;
    },
  };
}

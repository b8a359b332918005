import pino from 'pino';
import { Registry } from 'prom-client';
import { createCloudClient } from '#cloud/client/index.ts';
import {
  type AudioCatalogue,
  type AudioCatalogueOptions,
  audioClient,
  createAudioCatalogue,
} from '#cloud/sync/index.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import type { Memory } from '#site/store/index.ts';
import { keyPair } from '../support.ts';

export const apiKey = 'k3y+of/the-site-which-nobody-sees';
const { pem } = keyPair();

/** A memory that lasts as long as its map, as the store's lasts over a restart. */
export const memoryOf = (map: Map<string, string>): Memory => ({
  get: async (key) => map.get(key),
  set: async (key, value) => {
    if (Buffer.byteLength(value) > 4096) throw new Error(`a value of ${value.length} is larger than the memory takes`);
    map.set(key, value);
  },
  delete: async (key) => void map.delete(key),
});

export interface AudioRig extends AudioCatalogue {
  readonly kept: Map<string, string>;
  readonly lines: string[];
  metric(name: string): Promise<string>;
  end(): Promise<void>;
}

/** The catalogue over a real client; its log is kept. */
export function audioRig(
  url: string,
  more: Partial<AudioCatalogueOptions> & { readonly kept?: Map<string, string>; readonly key?: string } = {},
): AudioRig {
  const { kept = new Map<string, string>(), key = apiKey, ...options } = more;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const clock = systemClock();
  const metrics = new Registry();
  const cloud = createCloudClient({
    ...{ baseUrl: url, authUrl: url, extBaseUrl: url, clientId: 'bridge-1', keys: { current: { pem } } },
    ...{ apiKey: new Secret(key), clock, log, ...audioClient },
  });
  const catalogue = createAudioCatalogue({
    ...{ manage: cloud.manage, address: url, siteId: '101', memory: memoryOf(kept), clock, log, metrics },
    ...{ random: () => 0.5, calmMs: 0 },
    ...options,
  });
  return {
    ...catalogue,
    kept,
    lines,
    metric: async (name) =>
      (await metrics.metrics())
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n'),
    async end() {
      await catalogue.stop();
      await cloud.close();
    },
  };
}

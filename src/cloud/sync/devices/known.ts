import type { Logger } from 'pino';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import { given } from '#lib/given.ts';
import { createTextKeeper } from '#lib/kept-text.ts';
import type { Memory } from '#site/store/index.ts';
import type { KnownDevice } from './match.ts';
import type { Known, KnownNvr } from './plan.ts';

/** More than a site has; the oldest give way. */
const deviceCap = 2000;
const nvrCap = 200;
const attachedCap = 1000;

const kept = z.strictObject({
  v: z.literal(1),
  devices: z.array(z.tuple([z.string(), z.string(), z.string().nullable()])).max(deviceCap),
  nvrs: z
    .array(
      z.strictObject({
        external_id: z.string(),
        id: z.string().optional(),
        asked: z.boolean().optional(),
        doubtful: z.boolean().optional(),
        refusal: z.string().optional(),
        told: z.record(z.string(), z.string()),
        changed_at: z.number(),
        attached: z.array(z.string()).max(attachedCap),
        anew: z.boolean().optional(),
      }),
    )
    .max(nvrCap),
});

/** Which device and recorder of the cloud is which of ours, kept over restarts. */
export interface KnownBook extends Known {
  readonly devices: Pick<BoundedMap<string, KnownDevice>, 'get' | 'entries'>;
  readonly nvrs: Pick<BoundedMap<string, KnownNvr>, 'get' | 'entries'>;
  /** Reads what was kept. A book of another site, or a damaged one, is empty. Rejects where the store does not answer now. */
  load(): Promise<void>;
  /** Writes what has changed. Rejects when it could not. */
  keep(): Promise<void>;
  device(externalId: string, known: KnownDevice | undefined): void;
  nvr(externalId: string, known: KnownNvr | undefined): void;
}

export function createKnownBook(options: { memory: Memory; of: string; log: Logger }): KnownBook {
  const { memory, of, log } = options;
  const keeper = createTextKeeper({ memory, key: 'known', of });
  const devices = new BoundedMap<string, KnownDevice>(deviceCap);
  const nvrs = new BoundedMap<string, KnownNvr>(nvrCap);

  return {
    devices,
    nvrs,
    device: (id, known) => note(devices, id, known),
    nvr: (id, known) => note(nvrs, id, known && { ...known, attached: known.attached.slice(-attachedCap) }),
    async load() {
      try {
        const found = await keeper.load();
        if (found === undefined) return;
        const read = kept.parse(found);
        for (const [externalId, id, as] of read.devices) devices.set(externalId, { id, ...(as !== null && { as }) });
        for (const { external_id, changed_at: changedAt, ...nvr } of read.nvrs)
          nvrs.set(external_id, { ...given(nvr), changedAt });
      } catch (error) {
        // The store is away: the book is whole, and must not be written over by an empty one.
        if (error instanceof SitewardError) throw error;
        log.warn({ err: error }, 'what was kept of the devices in the cloud cannot be read; they are matched anew');
      }
    },
    keep: () =>
      keeper.keep({
        v: 1,
        devices: [...devices.entries()].map(([externalId, { id, as = null }]) => [externalId, id, as]),
        nvrs: [...nvrs.entries()].map(([external_id, { changedAt, told, attached, ...nvr }]) => ({
          ...nvr,
          external_id,
          told: { ...told },
          changed_at: changedAt,
          attached: [...attached],
        })),
      } satisfies z.input<typeof kept>),
  };
}

/** What is as before keeps its place, so that nothing is written for it. */
function note<T>(map: BoundedMap<string, T>, id: string, value: T | undefined): void {
  if (value === undefined) map.delete(id);
  else if (JSON.stringify(map.get(id)) !== JSON.stringify(value)) map.set(id, value);
}

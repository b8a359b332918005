import type { Logger } from 'pino';
import { z } from 'zod';
import { jsonOf } from '#lib/json-text.ts';
import type { KeptSync } from '#site/core/index.ts';
import type { Memory } from '#site/store/index.ts';

const status = z.enum(['armed', 'disarmed']);
const kept = z.strictObject({
  v: z.literal(1),
  /** Whose clock its moments are of. */
  boot: z.string(),
  local: z
    .strictObject({
      status: z.enum(['armed', 'disarmed', 'arming', 'unknown']),
      tellable: status.nullable(),
      seq: z.int().nonnegative(),
    })
    .nullable(),
  acked: z.int().nonnegative(),
  owed: z.boolean(),
  seen: z
    .strictObject({ value: status, version: z.string().nullable(), writtenAt: z.number().nullable().default(null) })
    .nullable(),
  versions: z.array(z.string()).max(32).default([]),
  copies: z.number().nullable().default(null),
  behind: z.number().nullable().default(null),
  uncertain: z.strictObject({ status, seq: z.int().nonnegative() }).nullable(),
  arriving: z.array(z.strictObject({ status, until: z.number().nullable() })).max(2),
  told: z.string().nullable(),
  rejected: status.nullable(),
  external: z.boolean(),
});

const key = 'arming-status';

/** The state of the sync on disk. What cannot be read is none: then no disarm is believed for a while. */
export interface Keeper {
  load(): Promise<{ readonly state: KeptSync; readonly sameBoot: boolean } | undefined>;
  /** Notes the newest; written one at a time, the newest only. */
  keep(state: KeptSync): void;
  /** Resolves when all that was noted is on disk, or could not be written. Never rejects. */
  settled(): Promise<void>;
}

export function createKeeper({ memory, bootId, log }: { memory: Memory; bootId: string; log: Logger }): Keeper {
  let wanted = '';
  let written = '';
  let writing: Promise<void> | undefined;
  let failing = false;

  async function write(): Promise<void> {
    while (written !== wanted) {
      const text = wanted;
      try {
        await memory.set(key, text);
        failing = false;
      } catch (error) {
        // The session goes on by what it knows; only a restart would know less.
        if (!failing) log.warn({ err: error }, 'what was last told to the cloud cannot be kept');
        failing = true;
      }
      written = text;
    }
    writing = undefined;
  }

  return {
    async load() {
      const text = await memory.get(key).catch(() => undefined);
      if (text === undefined) return undefined;
      const read = kept.safeParse(jsonOf(text));
      if (!read.success) {
        log.warn('what was last told to the cloud cannot be read; nothing that waits in the cloud is done');
        return undefined;
      }
      const { v: _, boot, ...state } = read.data;
      written = text;
      wanted = text;
      return { state, sameBoot: boot === bootId };
    },
    keep(state) {
      wanted = JSON.stringify({ v: 1, boot: bootId, ...state });
      if (writing === undefined && written !== wanted) writing = write();
    },
    settled: async () => writing,
  };
}

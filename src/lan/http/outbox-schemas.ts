import { z } from 'zod';
import { lanes, siteEvent } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });
const seq = z.int().min(1);
const lane = z.enum(lanes);

/** Most events one request may name. */
export const maxSeqs = 1000;

const laneState = z.object({
  lane,
  waiting: z.int(),
  /** Time of the oldest waiting event. */
  oldest: time.nullable(),
  parked: z.int(),
  /** Events given up, as far as gap records are kept. */
  lost: z.int(),
});

/** Sizes in whole steps of 16 MiB, rounded down (safety 4). */
const fileState = z.object({
  name: z.string(),
  bytes: z.int(),
  /** What is not yet in the file itself. */
  wal_bytes: z.int(),
});

/** What `siteward outbox show` shows. Silent alarms stand in no count and no list (safety 4). */
export const outboxDocument = z.object({
  at: time,
  /** Empty while the store cannot be read; `store` says why. */
  lanes: z.array(laneState),
  media: z.object({ waiting: z.int(), failed: z.int() }),
  store: z.object({ state: z.enum(['ok', 'degraded', 'down']), reason: z.string().optional() }),
  disk: z.object({
    dir: z.string(),
    files: z.array(fileState),
    /** Null while the file system does not answer. */
    free_bytes: z.int().nullable(),
    total_bytes: z.int().nullable(),
    /** How scarce room is, and with it what gives way; see docs/outbox.md. */
    level: z.enum(['ok', 'soft', 'hard', 'full', 'readonly', 'failing']).optional(),
  }),
  link: z.object({
    /** `none`: no cloud is configured. */
    state: z.enum(['up', 'down', 'unknown', 'none']),
    /** Why events are held back. */
    reason: z.string().optional(),
    trouble: z.enum(['unreachable', 'intercepted', 'busy', 'clock', 'unauthorized', 'forbidden']).optional(),
    breaker: z.enum(['closed', 'open', 'half-open']).optional(),
    /** Since when nothing was accepted. */
    since: time.optional(),
    next_try_s: z.number().optional(),
  }),
  /** Events being sent, set aside for another try, and kept in memory only because the disk does not take them. */
  sending: z.object({
    in_flight: z.int(),
    aside: z.int(),
    memory_only: z.int(),
    /** Events the cloud accepted per minute, over the last five minutes or what siteward has run of them. */
    per_min: z.number(),
  }),
  /** What to do, worst first; empty when nothing is wrong. */
  hints: z.array(z.string()),
});
export type OutboxDocument = z.output<typeof outboxDocument>;

/** The last day in steps; a silent alarm moves no number of it (safety 4). */
export const outboxHistory = z.object({
  every_s: z.int(),
  /** Oldest first, without the times siteward did not run. */
  items: z.array(
    z.object({
      /** When the step began. */
      at: time,
      /** Most events that waited at once; null while they could not be counted. */
      waiting: z.int().nullable(),
      /** Age of the oldest that waited, at most. */
      oldest_s: z.int().nullable(),
      /** Events the cloud accepted. */
      accepted: z.int(),
      /** From the making of an event to its acceptance: the middle one, and the one that 95 of 100 did not exceed. */
      latency_ms: z.object({ p50: z.int(), p95: z.int() }).nullable(),
    }),
  ),
});
export type OutboxHistory = z.output<typeof outboxHistory>;

const limit = z.coerce.number().int().min(1).max(200).default(50);

export const waitingQuery = z.strictObject({
  limit: limit.describe('How many, oldest first.'),
  after: z.coerce.number().int().min(0).default(0).describe('Only events with a higher seq: the next page.'),
  lane: lane.optional().describe('Only this lane.'),
  partition: z.string().min(1).max(64).optional().describe('Only this partition.'),
});
export type WaitingQuery = z.output<typeof waitingQuery>;

const waitingEntry = z.object({ seq, lane, event: siteEvent });
export type WaitingEntry = z.output<typeof waitingEntry>;

export const waitingList = z.object({
  items: z.array(waitingEntry),
  /** The `after` of the next page; null when there is none. A page may be short without being the last. */
  next_after: z.int().nullable(),
});
export type WaitingList = z.output<typeof waitingList>;

export const parkedQuery = z.strictObject({
  limit: limit.describe('How many, newest first.'),
  before: z.coerce.number().int().min(1).optional().describe('Only events with a lower seq: the next page.'),
});
export type ParkedQuery = z.output<typeof parkedQuery>;

const parkedEntry = z.object({
  seq,
  lane,
  event: siteEvent,
  /** When it was refused. */
  at: time,
  tries: z.int(),
  /** Status of the answer; absent where none came, as for a damaged event. */
  status: z.int().optional(),
  reason: z.string(),
  means: z.string(),
  remedy: z.string(),
});
export type ParkedEntry = z.output<typeof parkedEntry>;

export const parkedList = z.object({
  items: z.array(parkedEntry),
  /** The `before` of the next page; null when this one is empty. A page may be short without being the last. */
  next_before: z.int().nullable(),
});

export const seqParams = z.object({ seq: z.string().regex(/^[1-9]\d{0,15}$/, 'must be the number of an event') });

export const parkedDetail = parkedEntry.extend({
  /** The request body as it would be sent now. Null when the stored text cannot be read. */
  cloud_event: z.record(z.string(), z.unknown()).nullable(),
});
export type ParkedDetail = z.output<typeof parkedDetail>;

export const seqsBody = z.strictObject({
  seqs: z.array(seq).min(1).max(maxSeqs).describe('Parked events. If one of them is not parked, nothing is done.'),
});

export const retriedAnswer = z.object({ retried: z.int() });
export const droppedAnswer = z.object({ dropped: z.int() });

export const gapsQuery = z.strictObject({ limit: limit.describe('How many, newest first.') });

const gapEntry = z.object({
  lane,
  seq_from: z.int(),
  seq_to: z.int(),
  /** Events lost between both, inclusive. */
  count: z.int(),
  why: z.string(),
  at: time,
  /** True when an event that tells of it was written. */
  reported: z.boolean(),
});
export type GapEntry = z.output<typeof gapEntry>;
export const gapList = z.object({ items: z.array(gapEntry) });

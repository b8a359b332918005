import { z } from 'zod';
import { type ClockQuality, clockQuality } from './ids.ts';

/** What an audit entry is about. */
export const auditKinds = ['command', 'transition', 'refusal', 'conflict', 'config', 'login', 'export'] as const;
export type AuditKind = (typeof auditKinds)[number];

/** Members of an entry beside its time as everybody on the site may see them; each room of the LAN says how it writes times. */
export const auditMembers = {
  clock: clockQuality,
  kind: z.enum(auditKinds),
  source: z.string(),
  actor_ref: z.string().optional(),
  client_id: z.string().optional(),
  command_id: z.string().optional(),
  target: z.string(),
  action: z.string(),
  outcome: z.string().optional(),
  /** Code of a refusal. */
  reason: z.string().optional(),
  before: z.string().optional(),
  after: z.string().optional(),
  /** The arming sequence of the partition. */
  seq: z.int().optional(),
  /** Refusals before this one that were only counted. */
  omitted: z.int().nonnegative().optional(),
  epoch: z.int(),
};

/**
 * One thing that was done, or refused, as whoever decided it tells it. Ids and words only: no codes, and no names, so
 * that the chain can be handed out (safety 10 and 11).
 */
export interface AuditDraft {
  readonly kind: AuditKind;
  /** Where it came from: a source of commands, or the part of siteward that did it. */
  readonly source: string;
  readonly actor_ref?: string;
  readonly client_id?: string;
  readonly command_id?: string;
  /** A partition, `all`, or what else was touched. */
  readonly target: string;
  readonly action: string;
  readonly outcome?: string;
  /** Code of a refusal. */
  readonly reason?: string;
  readonly before?: string;
  readonly after?: string;
  /** The arming sequence of the partition. */
  readonly seq?: number;
  /** Entries before this one that were only counted: refusals in a flood, or what a disk that took none left no room for. */
  readonly omitted?: number;
  /** Hold-up and duress: for nobody else's eyes (safety 4). It is chained like any other. */
  readonly visibility?: 'auditor';
}

export interface AuditRecord extends AuditDraft {
  readonly at_wall: number;
  readonly at_mono: number;
  readonly clock: ClockQuality;
  readonly epoch: number;
}

/** As it lies in the chain: the hash of the entry before it is part of it. */
export interface AuditEntry extends AuditRecord {
  /** Rises by one. A store that was made anew begins a new chain, far above. */
  readonly n: number;
  /** SHA-256 of the entry before, hex; zeros where a chain begins. */
  readonly prev_hash: string;
  /** Number of the transaction it was written with; one that is repeated is told by it. */
  readonly commit: number;
}

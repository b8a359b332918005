import type { Lane } from './basics.ts';

/** How well the bridge's own disk takes events; `low`: little room, `full`: something must give way for each event. */
export type StorageCondition = 'ok' | 'low' | 'full' | 'read_only' | 'failing';

/** Why an event was given up before the cloud had it. */
export type GapReason = 'disk_full' | 'memory_full' | 'damage' | 'technician';

/** Events that were given up before the cloud had them, as one gap record tells it. */
export interface LostEvents {
  readonly record: number;
  readonly lane: Lane;
  readonly count: number;
  /** Numbers as everybody sees them (`SiteEvent.seq`). */
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly why: GapReason;
  /** Wall clock of the loss, milliseconds. */
  readonly at: number;
}

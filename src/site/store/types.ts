import type { Part } from '#lib/health.ts';
import type {
  ArmingRecord,
  AuditEntry,
  AuditRecord,
  ClockQuality,
  GapReason,
  Lane,
  MediaItem,
  MediaUpdate,
  PartitionId,
  SiteEvent,
} from '#site/model/index.ts';
import type { AuditLink, AuditSlice, AuditVerdict } from './audit-types.ts';
import type { PlaybackStore } from './playback-row.ts';
import type { RoomMemory } from './room-memory.ts';
import type { VerificationRow, VerificationStore } from './verification-row.ts';

export type { GapReason } from '#site/model/index.ts';

/**
 * One event as it lies in the outbox. `seq` is the number of its row and stays inside; what everybody sees is `event.seq`, in
 * which silent events leave no gap (`NumberStore`). `body` is the cloud's event as JSON text without `event_time` and `sent_at`,
 * ready to be sent: the sender puts both times in front. It never changes, so every try carries the same bytes.
 */
export interface OutboxRow {
  readonly seq: number;
  readonly lane: Lane;
  readonly eventId: string;
  /** Rows of one key leave in the order of `seq`: the partition, or the device where there is none. */
  readonly orderKey: string;
  readonly mono: number;
  readonly wall: number;
  readonly boot: string;
  readonly clock: ClockQuality;
  readonly body: string;
  /** The public event, as shown on the LAN and in `siteward events`. */
  readonly event: SiteEvent;
  readonly media: readonly MediaItem[];
  /** False: kept for the history only, never offered to the cloud. */
  readonly toCloud: boolean;
  /** Kept and sent, but in no count and no list: nobody on the site may notice it (safety 4). */
  readonly silent?: true;
}

/** All that one decision makes durable. It is one transaction in each file it touches; `site.db` goes first. */
export interface Commit {
  readonly rows: readonly OutboxRow[];
  readonly arming: readonly ArmingRecord[];
  /**
   * The core's state after this decision: texts that make it when they are put together; only the newest is kept, and of it only those are
   * written that were not in the one before. Absent when nothing durable changed.
   */
  readonly state?: readonly string[];
  /** Input log entries as JSON lines, codes removed; bounded, oldest give way. */
  readonly inputs: readonly string[];
  /** What the audit log is told of this decision; it is chained in the transaction itself. */
  readonly audit?: readonly AuditRecord[];
  /** Gap records that the rows tell of: they count as reported in the same transaction, each in its own file. */
  readonly reported?: readonly GapMark[];
  /** Alarm verifications, each as a whole; the caller lets no older one follow a newer one. */
  readonly verifications?: readonly VerificationRow[];
  /** Nothing in it may be seen: it stands in no count (safety 4). */
  readonly silent?: true;
}

/** What the store found when it opened. */
export interface Recovery {
  readonly epoch: number;
  /** A UUID made with the state directory: the cloud still knows the event ids of a box that was set up anew. */
  readonly storeId: string;
  /** The first free seq; above every seq ever handed out in this epoch that may have been committed. */
  readonly nextSeq: number;
  /** The highest seq that is known to have been kept before this start: no event has one between it and `nextSeq`. */
  readonly lastSeq: number;
  /**
   * How much the number of an event that everybody sees is below its seq: the silent events so far. Where it is not known it is
   * too low, so that numbers are left out and none is given twice.
   */
  readonly hidden: number;
  /** The core's last durable state as JSON; undefined for a new or lost store. */
  readonly state: string | undefined;
  /** A store existed before (the side file says so) and its contents are gone; or it is a backup that was put in place. */
  readonly lost: boolean;
  readonly restored: boolean;
  /** Boot id of the machine at the last run, undefined for a new store. */
  readonly lastBoot: string | undefined;
  readonly pending: Readonly<Record<Lane, number>>;
}

/** Where an event lies: the lane says in which file. */
export interface EventAt {
  readonly seq: number;
  readonly lane: Lane;
}

export interface PendingRow {
  readonly seq: number;
  readonly lane: Lane;
  readonly eventId: string;
  readonly orderKey: string;
  readonly wall: number;
  readonly mono: number;
  readonly boot: string;
  readonly clock: ClockQuality;
  readonly body: string;
  /** Its delivery shows in no metric, log line or state (safety 4). */
  readonly silent?: true;
}

export type Verdict = {
  readonly seq: number;
  readonly lane: Lane;
  readonly at: number;
  readonly tries: number;
  /** Its writing shows in no metric (safety 4). */
  readonly silent?: true;
} & (
  | { readonly verdict: 'delivered' }
  | { readonly verdict: 'parked'; readonly status: number | undefined; readonly reason: string }
);

export type MediaState = 'planned' | 'ready' | 'uploaded' | 'failed';

export interface MediaRow {
  readonly seq: number;
  readonly lane: Lane;
  readonly eventId: string;
  readonly index: number;
  readonly kind: MediaItem['kind'];
  readonly camera: string;
  readonly offsetMs: number;
  /** Wall clock of the event, milliseconds. */
  readonly eventWall: number;
  readonly state: MediaState;
  readonly file?: string;
  readonly bytes?: number;
  readonly sha256?: string;
  readonly mime?: string;
  /** Why it failed; of others what is to be known of it. */
  readonly reason?: string;
  /** Its upload shows in no metric or log line (safety 4). */
  readonly silent?: true;
}

/** A refused event, with all a technician needs to explain, retry, export or drop it. */
export interface ParkedRecord {
  readonly seq: number;
  readonly lane: Lane;
  readonly eventId: string;
  /** Wall clock milliseconds of the refusal. */
  readonly at: number;
  readonly tries: number;
  readonly status?: number;
  readonly reason: string;
  /** The cloud's event as JSON text without `event_time` and `sent_at`; see `OutboxRow.body`. */
  readonly body: string;
  /** Wall clock milliseconds of the event. */
  readonly wall: number;
  readonly event: SiteEvent;
}

/** Events that were given up before the cloud had them. The record is written with the loss, and itself reported. */
export interface Gap {
  readonly id: number;
  /** The lane of the events; its file holds the record. */
  readonly lane: Lane;
  readonly seqFrom: number;
  readonly seqTo: number;
  /** Events lost between both, inclusive. */
  readonly count: number;
  readonly why: GapReason;
  /** Wall clock milliseconds of the loss. */
  readonly at: number;
  /** True when an event that tells of it is on disk. */
  readonly reported: boolean;
  /** Of silent events: it stands in no count and no list, and a silent event tells of it (safety 4). */
  readonly silent?: true;
}

/** What a loss is recorded with. */
export type NewGap = Omit<Gap, 'id' | 'reported' | 'silent'>;

/** A gap record as it was read; one that has changed since, or has another's id, is not meant. */
export type GapMark = Pick<Gap, 'lane' | 'id' | 'seqFrom' | 'seqTo'>;

/** `soft`: history gives way. `hard`: `bulk.db` grows no more. `full`: nothing fits. The last two take no writes. */
export const storageLevels = ['ok', 'soft', 'hard', 'full', 'readonly', 'failing'] as const;
export type StorageLevel = (typeof storageLevels)[number];

/** The disk under the state directory. */
export interface StorageState {
  readonly level: StorageLevel;
  /** Bytes; undefined where the file system does not say. */
  readonly freeBytes: number | undefined;
  readonly totalBytes: number | undefined;
  /** Bytes held back for deleting on a full disk; 0 while they are spent. */
  readonly reserveBytes: number;
}

/** A moment of a boot whose true wall clock is known; by it the times of events around it are corrected. */
export interface Anchor {
  readonly boot: string;
  /** Monotonic milliseconds of that boot. */
  readonly mono: number;
  /** True wall clock at that moment, milliseconds. */
  readonly wall: number;
  /** Where it comes from, such as `ntp` or `cloud`. */
  readonly source: string;
}

export type MediaTrail = Omit<MediaRow, 'seq' | 'lane' | 'eventId' | 'eventWall' | 'silent'>;

/** An event with its delivery trail, for people. */
export interface EventRecord {
  readonly seq: number;
  readonly event: SiteEvent;
  readonly delivery: 'waiting' | 'delivered' | 'parked' | 'local';
  readonly deliveredAt?: number;
  readonly tries?: number;
  readonly reason?: string;
  readonly media: readonly MediaTrail[];
}

/** What of one lane is not delivered. */
export interface LaneStats {
  /** Since when the oldest event waits, by the wall clock of now, milliseconds; undefined when none waits. */
  readonly oldest: number | undefined;
  readonly parked: number;
  /** Events given up, as far as gap records are kept. */
  readonly lost: number;
}

export interface OutboxStats {
  readonly pending: Readonly<Record<Lane, number>>;
  readonly lanes: Readonly<Record<Lane, LaneStats>>;
  readonly parked: number;
  /** Since when the oldest event waits, by the wall clock of now, milliseconds; undefined when none waits. */
  readonly oldest: number | undefined;
  readonly mediaPending: number;
  /** Pictures and clips that could not be made or were never taken, of the events kept. */
  readonly mediaFailed: number;
  /** Events given up so far, as far as gap records are kept. */
  readonly lost: number;
  readonly bytes: { readonly site: number; readonly bulk: number };
}

export interface CommitStore {
  /** What was found at start; throws before `start` has returned. */
  recovery(): Recovery;
  /** Resolves when everything in it is on disk (`synchronous=FULL`). Repeating it under the same seq changes nothing. */
  commit(commit: Commit): Promise<void>;
}

export interface DeliveryStore {
  /**
   * Waiting rows, oldest first within the lane, at most `limit` and 256 KiB of bodies, with seq above `afterSeq`.
   */
  take(lane: Lane, afterSeq: number, limit: number): Promise<PendingRow[]>;
  /** Waiting rows of the same order key and lower seq in any lane of `site.db`, oldest first, at most 64. */
  before(row: { orderKey: string; seq: number }): Promise<PendingRow[]>;
  /**
   * With `until` it may ride: it leaves with the next request of any kind, or when the signal aborts, since a write of
   * its own costs the disk as much as an alarm does. Whoever reads is shown it.
   */
  settle(verdicts: readonly Verdict[], options?: { until?: AbortSignal }): Promise<void>;
  /**
   * One event whatever its state, delivered ones included; undefined when it is gone. Needed to ask for upload
   * addresses again after a restart: the same body goes out under the same id.
   */
  row(at: EventAt): Promise<PendingRow | undefined>;
}

/** From the numbers everybody sees to rows and back; neither ever falls. */
export interface NumberStore {
  /** The first row whose number is at least this: rows below it have lower numbers. */
  rowOf(number: number): Promise<number>;
  /** The numbers of rows, also of rows that are gone. */
  numbersOf(seqs: readonly number[]): Promise<number[]>;
}

/** Events the cloud refused for good. */
export interface ParkedStore {
  /** Newest first; silent ones never. */
  parked(query: { limit: number; beforeSeq?: number }): Promise<ParkedRecord[]>;
  /** The one of exactly this number; a silent one never (safety 4). */
  parkedOf(number: number): Promise<ParkedRecord | undefined>;
  /**
   * Puts parked events back in line; returns how many, fewer than are parked when one of both files failed. Rejects
   * only when none was.
   */
  retryParked(events: readonly EventAt[]): Promise<number>;
  /** Gives parked events up for good, each counted in a gap record (`technician`); answers as `retryParked`. */
  dropParked(events: readonly EventAt[]): Promise<number>;
}

export interface GapStore {
  /** Gap records, newest first; those of silent events only where `withSilent` says so. */
  gaps(query: { limit: number; unreported?: boolean; withSilent?: boolean }): Promise<Gap[]>;
  /** Records events that were lost outside the database (memory was full). */
  addGap(gap: NewGap): Promise<void>;
  /**
   * `losses` is asked once, when the store has stopped: what is in memory only then is left for the next start, which
   * makes gap records of it.
   */
  leave(losses: () => readonly NewGap[]): void;
  gapsReported(gaps: readonly GapMark[]): Promise<void>;
}

export interface AnchorStore {
  /** All kept anchors, oldest first; at most 64. */
  anchors(): Promise<Anchor[]>;
  addAnchor(anchor: Anchor): Promise<void>;
}

export interface MediaStore {
  updateMedia(updates: readonly MediaUpdate[]): Promise<void>;
  /** Media rows in one of the states, oldest event first, at most `limit`. */
  media(states: readonly MediaState[], limit: number): Promise<MediaRow[]>;
}

/** A line of the input log and its place in it; later lines have higher places, with gaps. */
export interface StoredInput {
  readonly id: number;
  readonly line: string;
}

/** What was, for people. */
export interface HistoryStore {
  /** Newest first; `beforeSeq` pages. Silent events only with `withSilent`: for delivery and the role `auditor`. */
  events(query: {
    limit: number;
    beforeSeq?: number;
    partition?: PartitionId;
    class?: string;
    withSilent?: boolean;
    /** Only events with such pictures or clips. */
    media?: { state?: MediaState; camera?: string };
  }): Promise<EventRecord[]>;
  /** The one of exactly this number; a silent one never (safety 4). */
  eventOf(number: number): Promise<EventRecord | undefined>;
  /** Newest first. */
  arming(query: { partition?: PartitionId; limit: number }): Promise<ArmingRecord[]>;
  /** Newest first; `before` pages. What only the role `auditor` may see is in it (safety 4). */
  audit(query: { limit: number; before?: number }): Promise<AuditEntry[]>;
  /** Goes through the whole audit log, a slice at a time, so that no commit is held up for long. */
  verifyAudit(): Promise<AuditVerdict>;
  /** Entries by number, oldest first unless `newest`; `from` and `to` count. For the role `auditor` and `chainWalk`. */
  auditSlice(query: { from?: number; to?: number; limit: number; newest?: boolean }): Promise<AuditSlice>;
  /** What an export holds may give way. False when the log has no such entry. */
  auditExported(last: AuditLink): Promise<boolean>;
  /** The newest `limit` lines, in the order they were written. */
  inputs(query: { limit: number }): Promise<string[]>;
  /** The oldest lines behind a place, at most `limit` and about 256 KiB; empty only when there are no more. */
  inputsAfter(query: { after: number; limit: number }): Promise<StoredInput[]>;
}

/**
 * The store as the main thread sees it. Every call may reject with `queue_full`, `store_failed` (unknown: repeat the
 * same call, it is idempotent by seq), `store_unavailable` or `stopped`.
 */
export interface Store
  extends Part,
    CommitStore,
    DeliveryStore,
    ParkedStore,
    NumberStore,
    GapStore,
    AnchorStore,
    VerificationStore,
    PlaybackStore,
    MediaStore,
    HistoryStore {
  stats(): Promise<OutboxStats>;
  /** As the store last saw it. */
  storage(): StorageState;
  hold(isOn: boolean): Promise<boolean>;
  /** Small bounded memory for rooms, in `bulk.db`: at most 2,000 keys per room and 4 KiB per value. */
  memory(room: string): RoomMemory;
}

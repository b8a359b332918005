import type { ErrorCode, Facts } from '#errors.ts';
import type { ArmingRecord, AuditRecord, Lane, MediaUpdate, PlaybackRow } from '#site/model/index.ts';
import type { AuditLink, AuditSlice } from './audit-types.ts';
import type { FileName } from './lanes.ts';
import type { StoreLimits } from './limits.ts';
import type { Packed } from './pack.ts';
import type { StoredEvent } from './public-event.ts';
import type {
  Anchor,
  EventAt,
  Gap,
  GapMark,
  MediaRow,
  MediaState,
  MediaTrail,
  NewGap,
  ParkedRecord,
  PendingRow,
  Recovery,
  StorageState,
  StoredInput,
  Verdict,
} from './types.ts';
import type { VerificationRow } from './verification-row.ts';
import type { StampedStats } from './waited.ts';

/** A row of `ev`, in the order of `evColumns`: what crosses the thread is bound as it is. */
export type EvValues = readonly [
  seq: number,
  lane: number,
  eventId: string,
  orderKey: string,
  mono: number,
  wall: number,
  boot: string,
  clock: string,
  /** Of the body, made where the body was made. */
  crc: number,
  eventClass: string,
  partition: string | null,
  body: string,
  event: string,
  silent: 0 | 1,
];
/** Places in `EvValues` by name. Read by index: a pattern walks through all values before, for every row of a rush. */
export const evAt = { seq: 0, lane: 1, orderKey: 3, wall: 5, body: 11, event: 12, silent: 13 } as const;
/** One outbox row; also a line of `alarm.log`. */
export type WireRow = readonly [ev: EvValues, toCloud: boolean, media: readonly WireMedia[] | null];
export type WireMedia = readonly [index: number, kind: string, camera: string, offsetMs: number];

/** A commit, its rows by file; null stands for an empty list. It crosses the thread as `pack.ts` says. */
export interface WireCommit {
  /** Counts commits over all runs; a repeat keeps its number, so an older state never overwrites a newer one. */
  readonly order: number;
  /** Highest seq in it, 0 for none. */
  readonly maxSeq: number;
  readonly site: readonly WireRow[] | null;
  readonly bulk: readonly WireRow[] | null;
  readonly arming: readonly ArmingRecord[] | null;
  readonly state: readonly string[] | null;
  readonly inputs: readonly string[] | null;
  readonly reported: readonly GapMark[] | null;
  readonly audit: readonly AuditRecord[] | null;
  readonly verifications: readonly VerificationRow[] | null;
  /** It stands in no count (safety 4). */
  readonly silent: boolean;
}

export interface EventsQuery {
  readonly limit: number;
  readonly beforeSeq: number;
  readonly partition: string | null;
  readonly eventClass: string | null;
  readonly withSilent: boolean;
  /** Only events with such pictures or clips. */
  readonly media: { readonly state: MediaState | null; readonly camera: string | null } | null;
}

export type StoreRequest = { readonly id: number } & (
  | { readonly op: 'commit'; readonly commit: WireCommit }
  | { readonly op: 'settle'; readonly verdicts: readonly Verdict[] }
  | { readonly op: 'retryParked'; readonly events: readonly EventAt[] }
  | { readonly op: 'dropParked'; readonly events: readonly EventAt[]; readonly at: number }
  | { readonly op: 'addGap'; readonly gap: NewGap }
  | { readonly op: 'gapsReported'; readonly gaps: readonly GapMark[] }
  | { readonly op: 'addAnchor'; readonly anchor: Anchor }
  | { readonly op: 'updateMedia'; readonly updates: readonly MediaUpdate[] }
  | { readonly op: 'setPlaybacks'; readonly rows: readonly PlaybackRow[]; readonly alarm: boolean }
  | { readonly op: 'playbacks' }
  | { readonly op: 'remember'; readonly room: string; readonly key: string; readonly value: string }
  | { readonly op: 'forget'; readonly room: string; readonly key: string }
  | { readonly op: 'recall'; readonly room: string; readonly key: string }
  | { readonly op: 'keys'; readonly room: string }
  | { readonly op: 'take'; readonly lane: Lane; readonly afterSeq: number; readonly limit: number }
  | { readonly op: 'before'; readonly orderKey: string; readonly seq: number }
  | { readonly op: 'row'; readonly lane: Lane; readonly seq: number }
  | { readonly op: 'media'; readonly states: readonly MediaState[]; readonly limit: number }
  | { readonly op: 'events'; readonly query: EventsQuery }
  | { readonly op: 'parked'; readonly limit: number; readonly beforeSeq: number }
  | { readonly op: 'gaps'; readonly limit: number; readonly unreported: boolean; readonly withSilent: boolean }
  | { readonly op: 'anchors' }
  | { readonly op: 'verifications' }
  | { readonly op: 'arming'; readonly partition: string | null; readonly limit: number }
  | {
      readonly op: 'audit';
      readonly from: number;
      readonly to: number;
      readonly limit: number;
      readonly newest: boolean;
    }
  | { readonly op: 'auditExported'; readonly last: AuditLink }
  | { readonly op: 'inputs'; readonly limit: number }
  | { readonly op: 'inputsAfter'; readonly after: number; readonly limit: number }
  | { readonly op: 'stats' }
  | { readonly op: 'synchronous' }
  | { readonly op: 'hold'; readonly isOn: boolean }
  | { readonly op: 'rowOf'; readonly number: number }
  | { readonly op: 'numbersOf'; readonly seqs: readonly number[] }
);
export type StoreOp = StoreRequest['op'];
/** A request without its id: what a caller asks. */
export type StoreCall = StoreRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

/** An event with its trail as it crosses the thread. */
export interface WireRecord extends StoredEvent {
  readonly delivery: 'waiting' | 'delivered' | 'parked' | 'local';
  readonly at: number | null;
  readonly tries: number | null;
  readonly reason: string | null;
  readonly media: readonly MediaTrail[];
}

/** As `ParkedRecord`, the public event as it is stored. */
export type WireParked = Omit<ParkedRecord, 'event'> & StoredEvent;

/** What each request answers with. */
export interface StoreAnswers {
  commit: undefined;
  settle: undefined;
  retryParked: number;
  dropParked: number;
  addGap: undefined;
  gapsReported: undefined;
  addAnchor: undefined;
  parked: WireParked[];
  gaps: Gap[];
  anchors: Anchor[];
  verifications: VerificationRow[];
  setPlaybacks: undefined;
  playbacks: PlaybackRow[];
  updateMedia: undefined;
  remember: undefined;
  forget: undefined;
  recall: string | undefined;
  keys: string[];
  take: PendingRow[];
  before: PendingRow[];
  row: PendingRow | undefined;
  media: MediaRow[];
  /** `next`: where the following slice begins, 0 at the end. */
  events: { records: WireRecord[]; next: number };
  arming: ArmingRecord[];
  audit: AuditSlice;
  /** 1 when the log has that entry. */
  auditExported: number;
  inputs: string[];
  inputsAfter: StoredInput[];
  stats: StampedStats;
  /** `PRAGMA synchronous` of both connections as it reads now; 2 is FULL. */
  synchronous: { site: number; bulk: number };
  /** Whether the files are held now. */
  hold: boolean;
  rowOf: number;
  numbersOf: number[];
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly facts?: Facts;
}

export type StoreReply =
  | { readonly id: number; readonly ok: true; readonly value: StoreAnswers[StoreOp] }
  | { readonly id: number; readonly ok: false; readonly failure: Failure };

/** One transaction that ended well. */
export interface TransactionReport {
  readonly file: FileName;
  /** Requests in it, without those of silent events alone. */
  readonly rows: number;
  /** False when it holds nothing that may be seen: it stands in no metric then (safety 4). */
  readonly shown: boolean;
  readonly seconds: number;
}

export type ToWorker =
  /** `more`: another message follows as soon as the code that runs in the main thread now is done. */
  | { readonly kind: 'requests'; readonly requests: Packed; readonly more: boolean }
  | { readonly kind: 'close'; readonly maxSeq: number };

export type FromWorker =
  | { readonly kind: 'opened'; readonly recovery: Recovery; readonly nextOrder: number; readonly files: FileStates }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | {
      readonly kind: 'replies';
      /** Ids of requests that ended well and answer nothing. */
      readonly done: readonly number[];
      readonly replies: readonly StoreReply[];
    }
  | { readonly kind: 'report'; readonly report: Report }
  | { readonly kind: 'note'; readonly level: 'info' | 'warn' | 'error'; readonly text: string; readonly facts: Facts };

export interface Report {
  readonly transactions: readonly TransactionReport[];
  readonly errors: readonly { readonly file: FileName; readonly code: string }[];
  readonly trimmed: Readonly<Record<Trimmed, number>>;
  readonly pending: Readonly<Record<Lane, number>>;
  readonly bytes: Readonly<Record<FileName, number>>;
  readonly files: FileStates;
  readonly storage: StorageState;
  /** Events given up, as far as gap records are kept. */
  readonly lost: Readonly<Record<Lane, number>>;
  /** Gap records that no event tells of yet. */
  readonly openGaps: number;
  /** Events a damaged file gave back since the last report. */
  readonly restored: number;
  /** Pictures that were given up since the last report, by themselves or with their events. */
  readonly forgotten: readonly string[];
}
export const trimmedKinds = ['inputs', 'history', 'arming', 'activity', 'pictures'] as const;
export type Trimmed = (typeof trimmedKinds)[number];

/** Why a file is not served, and what was found wrong in this run. */
export interface FileState {
  readonly open: boolean;
  readonly reason?: string;
  readonly damage?: string;
  /** Size of the write-ahead log. */
  readonly walBytes?: number;
  /** True while what a damaged file held is being brought back. */
  readonly mending?: boolean;
  /** True until the file has been read as a whole once: damage may still come to light. */
  readonly checking?: boolean;
}
export type FileStates = Readonly<Record<FileName, FileState>>;

export interface WorkerData {
  readonly dir: string;
  readonly bootId: string;
  readonly limits: StoreLimits;
  /** Shared; counts the messages to the worker, which can sleep until the next. */
  readonly sent: Int32Array;
}

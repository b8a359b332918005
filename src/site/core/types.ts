import type {
  ArmAction,
  ArmingRecord,
  ArmingSource,
  ArmMode,
  AuditDraft,
  AuthorityState,
  Command,
  CommandResult,
  CommandVerb,
  Deadline,
  DetectionClass,
  DeviceId,
  DeviceRef,
  EventDraft,
  LostEvents,
  PartitionId,
  PartitionState,
  ReplyCode,
  ReportedCode,
  SecurityType,
  Signal,
  SitePlan,
  Stamp,
  StorageCondition,
  TroubleKind,
  Undone,
  WalkTestResult,
  ZoneNumber,
  ZoneState,
} from '#site/model/index.ts';
import type { SyncAction } from './cloud-sync/index.ts';
import type { SchedulesState } from './schedule/index.ts';
import type { TimerKind } from './timers.ts';

/** Everything the core knows. Plain data: it is stored as JSON and comes back equal. */
export interface SiteState {
  readonly partitions: Readonly<Record<PartitionId, PartitionState>>;
  readonly zones: Readonly<Record<ZoneNumber, ZoneState>>;
  /** Links to panels and cameras by `kind:id`; absent means "not heard yet". */
  readonly links: Readonly<Record<string, LinkState>>;
  /** Active troubles by `kind|device|zone`. */
  readonly troubles: Readonly<Record<string, TroubleState>>;
  readonly timers: Readonly<Record<string, TimerState>>;
  /** Results of past commands (rule C2), the oldest first, at most 1,000: a record of so many is far dearer to copy, and sorts ids that are numbers. */
  readonly commands: readonly SeenCommand[];
  /** The latest answer, wall clock milliseconds, of a command with an effect that gave way there. */
  readonly forgotten?: number;
  /** Wrong codes per client (rule C8); at most 64 clients. */
  readonly wrongCodes: Readonly<Record<string, readonly number[]>>;
  /** Counts incidents, so that an incident id needs no random number. */
  readonly incidents: number;
  /** The same for silent ones (safety 4). */
  readonly silentIncidents?: number;
  /** Commands that called for help silently, so that a repeat calls once; at most 64. */
  readonly calls?: readonly string[];
  readonly periods: Readonly<Record<PartitionId, PeriodState>>;
  /** Commands that wait for a panel, by id; at most one per partition. */
  readonly inFlight: Readonly<Record<string, InFlight>>;
  /** Levels of silent hold-up zones, and which were pressed before their camera went: apart from `zones`, so that no view shows them. */
  readonly silent: Readonly<Record<ZoneNumber, boolean>>;
  readonly silentBefore?: readonly ZoneNumber[];
  /** What of the zones of panels is not certain. */
  readonly zoneDoubts?: Readonly<Record<ZoneNumber, ZoneDoubts>>;
  /** Detections that last, by camera: `class|item`, at most 32 per camera. */
  readonly seeing: Readonly<Record<DeviceId, readonly string[]>>;
  /** Cameras that were once not covered (`camera:yard|tamper`), and had a picture (`|video_loss`); at most 512. */
  readonly wasClear?: readonly string[];
  /** What cameras saw last, for evidence: one entry per camera and class, at most 16. */
  readonly sightings: readonly Sighting[];
  /** Retained knowledge of a panel whose link is not up yet, by `partition:p1` or `zone:12`; it counts once it is. */
  readonly held: Readonly<Record<string, Holdable>>;
  /** What removed partitions leave behind: their sequence is never reused, and they never come back disarmed by themselves. */
  readonly retired: Readonly<Record<PartitionId, { readonly seq: number; readonly disarmed: boolean }>>;
  /** Commands of the last minute and locks per client (rule C8); at most 64 clients. */
  readonly rates?: Readonly<Record<string, RateState>>;
  /** Refusals the audit was told of within a minute, and how many it was not. */
  readonly refusals?: { readonly from: number; readonly told: number; readonly omitted: number };
  /** Conditions that were, or may come again, by the key of their trouble. */
  readonly watches?: Readonly<Record<string, WatchState>>;
  /** The last arm or disarm of each partition that was not refused (safety 5). */
  readonly given?: Readonly<Record<PartitionId, GivenCommand>>;
  /** Alarms that waited in partitions a new plan no longer has; told with the next input. At most 64. */
  readonly abandoned?: readonly AbandonedAlarm[];
  /** Motion detectors settle until then after a start of the machine (safety 3). */
  readonly settleUntil?: Deadline;
  /** What schedules have done and are about to do. */
  readonly schedules?: SchedulesState;
  /** Reports panels made lately, the newest last; at most 64. */
  readonly reports?: readonly ToldReport[];
  /** Which security system handles the site, once that was decided; absent: as the plan derives it. */
  readonly authority?: AuthorityState;
}

export type ZoneLevel = 'open' | 'alarm' | 'tamper';
export type ZoneDoubts = { readonly [L in ZoneLevel]?: LevelDoubt };

/** Of a level that holds. */
export interface LevelDoubt {
  /** Its end was told by a word that may be older: what is told of it next is another one. */
  readonly ended?: true;
  /** A queue of the broker has told it: the moment since which it was filled, wall clock milliseconds; 0 where that is not known. */
  readonly queue?: number;
}

export interface ToldReport {
  /** What it is about: `zone:12`, `partition:p1`, `test:panel:main`. */
  readonly about: string;
  readonly id: string;
  readonly at: Deadline;
  /** The panel, and when it sent it by its own clock. */
  readonly by?: string;
  readonly sent?: number;
}

/** What a partition remembers over one arming period: from one arming or disarming to the next. */
export interface PeriodState {
  /** Zones left out by the command that armed the partition, until it is disarmed. */
  readonly bypassed: readonly ZoneNumber[];
  /** When it became armed: an alarm soon after is marked "recent close". */
  readonly armedAt?: Deadline;
  /** The mode whose protection goes on during an exit delay towards a wider mode (C10). */
  readonly guard?: ArmMode;
  /** Zones that tripped on the way in, while the entry delay ran; at most 16. */
  readonly entered: readonly ZoneNumber[];
  /** That it is disarmed is known from a retained word of its panel only, which may be older than an arming. */
  readonly unproven?: true;
  /** When a panel's live word ended the last alarm by a disarming, and the zones it was about; `retold`: one was retained since, and was told. */
  readonly calledOff?: { readonly at: Deadline; readonly zones: readonly ZoneNumber[]; readonly retold?: true };
  /** The end of its alarm was told by a word that may be older than the alarm: the next `triggered` is another one. */
  readonly endDoubted?: true;
  /** The burglary that a panel's alarm began with, as it was told. */
  readonly burglary?: { readonly kind: string; readonly zone?: ZoneNumber };
  /** Zones of life safety whose alarm its panel has told, and until when it shows. */
  readonly inSight?: Readonly<Record<ZoneNumber, 'end' | 'opening'>>;
  /** The zone a panel's `triggered` was reported for before the zone itself reported its alarm. */
  readonly expected?: ZoneNumber;
  /** Signalled alarms per `zone:12` or `camera:yard` (safety 8). */
  readonly signalled: Readonly<Record<string, SignalCount>>;
  /** The last change caused on the site (C3). */
  readonly local?: Stamp;
  /** The same as states before it told it: by the wall clock alone. */
  readonly localAt?: number;
  /** When, by the wall clock, what its panel has reported last of opening, closing and alarm had happened, and the report. */
  readonly saidAt?: number;
  readonly saidBy?: string;
  /** Of those left out, the ones by a command of their own. */
  readonly bypasses?: Readonly<Record<ZoneNumber, BypassState>>;
  /** The walk test that runs. */
  readonly test?: TestState;
  /** Zones that were in alarm in it, for evidence; the memory of the partition may be older. `over`: whose alarm is from before it. */
  readonly alarmed?: readonly ZoneNumber[];
  readonly over?: readonly ZoneNumber[];
  /** Who armed it (C12). */
  readonly armedBy?: { readonly source: ArmingSource; readonly actor?: string };
  /** Alarms per zone, for the swinger shutdown. */
  readonly trips?: Readonly<Record<ZoneNumber, number>>;
  /** How often a shut zone has tripped since it was shut. */
  readonly shutTrips?: Readonly<Record<ZoneNumber, number>>;
  /** Alarms that wait for the end of the abort window; empty once it has ended, absent before it begins. At most 16. */
  readonly waiting?: readonly WaitingAlarm[];
  /** When the last alarm was signalled, for the cancel window. */
  readonly toldAt?: Deadline;
  /** Zones of a cross-zone pair that tripped alone, and when. */
  readonly crossing?: Readonly<Record<ZoneNumber, Deadline>>;
  /** An entry delay has begun: what is on the way in confirms nothing any more. */
  readonly entry?: true;
  /** The first alarm of a sequential confirmation. */
  readonly first?: { readonly zone: ZoneNumber; readonly at: Deadline; readonly confirmed: boolean };
  /** How often an exit door opened during the exit delay, and whether that began anew. */
  readonly exit?: { readonly opened: number; readonly restarted: boolean };
}

export interface BypassState {
  /** `time`: until its timer ends it; the others end sooner when one runs. */
  readonly until: 'disarm' | 'cleared' | 'time';
  readonly by?: string;
}

export interface TestState {
  /** Zones that have tripped. */
  readonly walked: readonly ZoneNumber[];
  /** Only these are tested; absent: all of the partition. */
  readonly zones?: readonly ZoneNumber[];
  readonly by?: string;
  /** When it was first begun. */
  readonly since?: Deadline;
}

/** What became of a command that needs no panel. */
export interface Done {
  readonly changed: boolean;
  /** Walk tests that it ended. */
  readonly tests?: readonly WalkTestResult[];
}

export interface GivenCommand {
  readonly verb: 'arm' | 'disarm';
  readonly source: Command['source'];
  /** A person on the site with a good code gave it. */
  readonly person: boolean;
  readonly actor?: string;
  readonly at: Deadline;
}

/** An alarm that sounds and is not signalled yet. */
export interface WaitingAlarm {
  readonly zone: ZoneNumber;
  readonly kind: string;
  readonly at: Deadline;
  readonly evidence: readonly Evidence[];
}

/** Nobody can take it back any more. */
export interface AbandonedAlarm extends WaitingAlarm {
  readonly partition: PartitionId;
  readonly incident?: string;
  /** It ran in an entry delay, not in an abort window. */
  readonly entry?: true;
}

/** One thing the person who scores an alarm should know. */
export type Evidence = Readonly<Record<string, string | number | boolean>>;

/** Milliseconds of the monotonic clock. */
export interface RateState {
  /** At most 64; the oldest give way. */
  readonly recent: readonly { readonly target: string; readonly at: number }[];
  readonly lockedAt?: number;
}

export interface SignalCount {
  readonly count: number;
  readonly since: Deadline;
}

export interface InFlight {
  readonly client: string;
  readonly target: PartitionId | 'all';
  readonly verb: CommandVerb;
  readonly source: Command['source'];
  readonly actor?: string;
  /** A person on the site with a good code gave it (safety 5). */
  readonly person: boolean;
  readonly waiting: readonly PartitionId[];
  /** Whether a partition of it has changed already. */
  readonly changed: boolean;
  readonly failure?: Failure;
  /** Partitions it did not reach so far, where it is for all. */
  readonly undone?: readonly Undone[];
}

/** Why a command did not do what it asked for. */
export interface Failure {
  readonly outcome: 'refused' | 'expired' | 'superseded' | 'unconfirmed';
  readonly code: ReplyCode;
  readonly field?: string;
  readonly zones?: readonly ZoneNumber[];
  readonly retryAfterS?: number;
}

export interface Sighting {
  readonly camera: DeviceId;
  readonly detection: DetectionClass;
  readonly at: Deadline;
}

export interface LinkState {
  readonly bridge: boolean | null;
  readonly device: boolean | null;
  readonly since: number;
  readonly reason?: string;
  /** When it came up, while it is. */
  readonly upAt?: Deadline;
}

export interface TroubleState {
  readonly trouble: TroubleKind;
  readonly source: DeviceRef;
  readonly zone?: ZoneNumber;
  readonly since: number;
  readonly unstable?: true;
  /** Which of several conditions holds, where a trouble has them. */
  readonly condition?: string;
  /** What its panel has reported; `apart`: it is one of several of its kind, by that. */
  readonly reported?: ReportedCode;
  readonly apart?: true;
}

/** What is remembered of a condition that comes and goes. */
export interface WatchState {
  /** When it began within the last window, the latest last; at most 20. */
  readonly begins: readonly Deadline[];
  /** It holds and is shown; it is reported when it has lasted. */
  readonly waiting?: { readonly at: Stamp; readonly detail?: string };
  readonly unstable?: {
    readonly since: Deadline;
    readonly changes: number;
    readonly changedAt: Stamp;
    /** Whether it holds now. */
    readonly active: boolean;
    readonly detail?: string;
  };
}

export interface TimerState {
  readonly id: string;
  readonly kind: TimerKind;
  /** What it runs for: a partition, a zone within one, a zone, or a trouble. */
  readonly partition?: PartitionId;
  readonly zone?: ZoneNumber;
  /** The key of a trouble. */
  readonly trouble?: string;
  readonly due: Deadline;
}

export interface SeenCommand {
  readonly id: string;
  readonly bodyHash: string;
  readonly at: number;
  readonly result?: CommandResult;
}

/** The signals that can be retained knowledge of a panel. */
export type Holdable = Extract<Signal, { kind: 'zone' | 'partition' }>;

/** What the bridge says of itself; no adapter can. */
export type BridgeNews =
  /** Its own disk: a pair of trouble and restore, and a further event when the condition changes. */
  | { readonly kind: 'storage'; readonly condition: StorageCondition }
  /** At most 16 records; one event tells of them all. `silent`: they are of silent events, and so is the news as a whole. */
  | { readonly kind: 'loss'; readonly losses: readonly LostEvents[]; readonly silent?: true }
  /** A duress code was given for something that is no command, such as the consent to a user. It is silent as a whole. */
  | {
      readonly kind: 'duress';
      readonly source: 'cli';
      readonly client: string;
      readonly actor: string;
      readonly target: string;
    }
  | ({ readonly kind: 'arming.conflict' } & ConflictNews)
  /** The cloud or a technician names the security type; `whileArmed`: also while a partition is armed. */
  | {
      readonly kind: 'security_type';
      readonly securityType: SecurityType;
      readonly by: 'cloud' | 'cli';
      readonly whileArmed: boolean;
      /** Whose code confirmed it. */
      readonly actor?: string;
    };

/** The two-way sync does not do what the cloud says. */
export type ConflictNews = Pick<Extract<SyncAction, { kind: 'conflict' }>, 'reason' | 'cloud' | 'local' | 'code'>;

/** What enters the core. Codes are checked before; nothing here can hold one. */
export type Input = { readonly at: Stamp } & (
  | BridgeNews
  | { readonly kind: 'signal'; readonly signal: Signal }
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'timer.fired'; readonly timer: string }
  /** Time for the schedules to look at the clock: at least once a minute, and after each start and step of the clock. */
  | { readonly kind: 'tick' }
  /** A new plan was adopted. */
  | { readonly kind: 'replanned' }
  /** First input after each start. `sameBoot`: only the daemon restarted, the machine did not. */
  | { readonly kind: 'started'; readonly sameBoot: boolean; readonly storeLost: boolean }
);

/** What the core wants done. The controller knows the class of each: protect, command or record. */
export type Effect =
  /** Record: becomes an outbox row. `ref` lets a protect effect of the same decision name the event. */
  | { readonly kind: 'event'; readonly ref: number; readonly event: EventDraft }
  /** Record: a committed transition of a partition. */
  | { readonly kind: 'transition'; readonly record: Omit<ArmingRecord, 'epoch'> }
  /** Record: what the audit log is told. */
  | { readonly kind: 'audit'; readonly entry: AuditDraft }
  | { readonly kind: 'timer.set'; readonly timer: TimerState }
  | { readonly kind: 'timer.clear'; readonly timer: string }
  /** Protect: pictures for the event `ref`, taken at once. */
  | { readonly kind: 'capture'; readonly ref: number }
  /** Command: goes to the panel after the commit of its `accepted` row. */
  | {
      readonly kind: 'panel';
      readonly panel: DeviceId;
      readonly partition: PartitionId;
      readonly action: ArmAction;
      readonly commandId: string;
    }
  /** Answers a command; a final one leaves after the commit of what it reports. */
  | { readonly kind: 'reply'; readonly result: CommandResult; readonly client: string };

export interface Decision {
  readonly state: SiteState;
  readonly effects: readonly Effect[];
  /** Rule numbers that decided, for `siteward replay` and the debug log: "C3", "I3", "safety 2". */
  readonly rules: readonly string[];
}

export type Decide = (plan: SitePlan, state: SiteState, input: Input) => Decision;

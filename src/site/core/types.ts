import type {
  ArmingRecord,
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
  PanelAction,
  PanicCall,
  PartitionId,
  PartitionState,
  ReplyCode,
  ReportedCode,
  SecurityType,
  Signal,
  SignalOf,
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
import type { PeriodState, WaitingAlarm } from './period.ts';
import type { SchedulesState } from './schedule/index.ts';
import type { TimerKind } from './timers.ts';

export type * from './period.ts';

/** Everything the core knows. Plain data: it is stored as JSON and comes back equal. */
export interface SiteState {
  readonly partitions: Readonly<Record<PartitionId, PartitionState>>;
  readonly zones: Readonly<Record<ZoneNumber, ZoneState>>;
  /** Whose state that is, as `detectorOf` names it: what was heard of one detector is nothing heard of another. */
  readonly detectors?: Readonly<Record<ZoneNumber, string>>;
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
  /** Commands and calls that called for help silently, so that a repeat calls once; at most 256. */
  readonly calls?: readonly string[];
  /** The same of calls that everybody may see. */
  readonly panics?: readonly string[];
  readonly periods: Readonly<Record<PartitionId, PeriodState>>;
  /** Commands that wait for a panel, by id; at most one per partition, and one per zone. */
  readonly inFlight: Readonly<Record<string, InFlight>>;
  /** Levels of silent hold-up zones, and which were pressed before their camera went: apart from `zones`, so that no view shows them. */
  readonly silent: Readonly<Record<ZoneNumber, boolean>>;
  readonly silentBefore?: readonly ZoneNumber[];
  /** What of the zones of panels is not certain. */
  readonly zoneDoubts?: Readonly<Record<ZoneNumber, ZoneDoubts>>;
  /** Detections that last, by camera: `class|item`, at most 32 per camera. */
  readonly seeing: Readonly<Record<DeviceId, readonly string[]>>;
  /** What a camera that was away, or siteward, saw last before that, until the camera says something of it. */
  readonly seenBefore?: Readonly<Record<DeviceId, readonly string[]>>;
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
  /** Reports panels made lately, the newest last; at most 512. */
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

/** What became of a command that needs no panel. */
export interface Done {
  readonly changed: boolean;
  /** Walk tests that it ended. */
  readonly tests?: readonly WalkTestResult[];
  /** Of a command that is done where it can be: where it is not, and why first. */
  readonly failure?: Failure | undefined;
  readonly undone?: readonly Undone[];
}

export interface GivenCommand extends Given {
  /** What others gave of the same verb shortly before. */
  readonly others?: readonly Given[];
}

export interface Given {
  readonly verb: 'arm' | 'disarm';
  readonly source: Command['source'];
  /** A person on the site with a good code gave it. */
  readonly person: boolean;
  readonly actor?: string;
  /** Of an account or API key, where no code says more. */
  readonly client?: string;
  readonly at: Deadline;
}

/** Nobody can take it back any more. */
export interface AbandonedAlarm extends WaitingAlarm {
  readonly partition: PartitionId;
  readonly incident?: string;
  /** It ran in an entry delay, not in an abort window. */
  readonly entry?: true;
}

/** Milliseconds of the monotonic clock. */
export interface RateState {
  /** At most 64; the oldest give way. */
  readonly recent: readonly { readonly target: string; readonly at: number }[];
  readonly lockedAt?: number;
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
  /** It asks the panel for this zone alone. */
  readonly zone?: ZoneNumber;
  readonly reason?: string;
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
export type Holdable = SignalOf<'zone' | 'partition'>;

/** What the bridge says of itself; no adapter can. */
export type BridgeNews =
  /** Its own disk: a pair of trouble and restore, and a further event when the condition changes. */
  | { readonly kind: 'storage'; readonly condition: StorageCondition }
  /** At most 16 records; one event tells of them all. `silent`: they are of silent events, and so is the news as a whole. */
  | { readonly kind: 'loss'; readonly losses: readonly LostEvents[]; readonly silent?: true }
  /** A duress code was given for something that is no command, such as the consent to a user. It is silent as a whole. */
  | {
      readonly kind: 'duress';
      readonly source: 'cli' | 'lan';
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
  /** A call for help by a client of the site. */
  | { readonly kind: 'panic'; readonly call: PanicCall }
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
  /** Protect: the sound of a burglary alarm ends. */
  | { readonly kind: 'silence'; readonly partition: PartitionId }
  /** Command: goes to the panel after the commit of its `accepted` row. */
  | {
      readonly kind: 'panel';
      readonly panel: DeviceId;
      readonly partition: PartitionId;
      readonly zone?: ZoneNumber;
      readonly action: PanelAction;
      readonly commandId: string;
    }
  /** Answers a command; a final one leaves after the commit of what it reports. `call`: a call for help, which is done only once it is on disk. */
  | { readonly kind: 'reply'; readonly result: CommandResult; readonly client: string; readonly call?: string };

export interface Decision {
  readonly state: SiteState;
  readonly effects: readonly Effect[];
  /** Rule numbers that decided, for `siteward replay` and the debug log: "C3", "I3", "safety 2". */
  readonly rules: readonly string[];
}

export type Decide = (plan: SitePlan, state: SiteState, input: Input) => Decision;

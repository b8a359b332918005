import type {
  ArmAction,
  ArmingRecord,
  ArmingSource,
  ArmMode,
  Command,
  CommandResult,
  Deadline,
  DetectionClass,
  DeviceId,
  DeviceRef,
  EventDraft,
  PartitionId,
  PartitionState,
  ReplyCode,
  Signal,
  SitePlan,
  Stamp,
  TroubleKind,
  ZoneNumber,
  ZoneState,
} from '#site/model/index.ts';

/** Everything the core knows. Plain data: it is stored as JSON and comes back equal. */
export interface SiteState {
  readonly partitions: Readonly<Record<PartitionId, PartitionState>>;
  readonly zones: Readonly<Record<ZoneNumber, ZoneState>>;
  /** Links to panels and cameras by `kind:id`; absent means "not heard yet". */
  readonly links: Readonly<Record<string, LinkState>>;
  /** Active troubles by `kind|device|zone`. */
  readonly troubles: Readonly<Record<string, TroubleState>>;
  readonly timers: Readonly<Record<string, TimerState>>;
  /** Results of past commands by id (rule C2); the oldest give way at 1,000. */
  readonly commands: Readonly<Record<string, SeenCommand>>;
  /** Wrong codes per client (rule C8); at most 64 clients. */
  readonly wrongCodes: Readonly<Record<string, readonly number[]>>;
  /** Counts incidents, so that an incident id needs no random number. */
  readonly incidents: number;
  readonly periods: Readonly<Record<PartitionId, PeriodState>>;
  /** Commands that wait for a panel, by id; at most one per partition. */
  readonly inFlight: Readonly<Record<string, InFlight>>;
  /** Levels of silent hold-up zones: kept apart from `zones`, so that no view and no change list can show them. */
  readonly silent: Readonly<Record<ZoneNumber, boolean>>;
  /** Detections that last, by camera: `class|rule`, at most 32 per camera. */
  readonly seeing: Readonly<Record<DeviceId, readonly string[]>>;
  /** What cameras saw last, for evidence: one entry per camera and class, at most 16. */
  readonly sightings: readonly Sighting[];
  /** Retained knowledge of a panel whose link is not up yet, by `partition:p1` or `zone:12`; it counts once it is. */
  readonly held: Readonly<Record<string, Signal>>;
  /** What removed partitions leave behind: their sequence is never reused, and they never come back disarmed by themselves. */
  readonly retired: Readonly<Record<PartitionId, { readonly seq: number; readonly disarmed: boolean }>>;
  /** Motion detectors settle until then after a start of the machine (safety 3). */
  readonly settleUntil?: Deadline;
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
  /** The zone a panel's `triggered` was reported for before the zone itself reported its alarm. */
  readonly expected?: ZoneNumber;
  /** Signalled alarms per `zone:12` or `camera:yard` (safety 8). */
  readonly signalled: Readonly<Record<string, SignalCount>>;
  /** Wall clock of the last change caused on the site (C3). */
  readonly localAt?: number;
  /** Who armed it (C12). */
  readonly armedBy?: { readonly source: ArmingSource; readonly actor?: string };
}

export interface SignalCount {
  readonly count: number;
  readonly since: Deadline;
}

export interface InFlight {
  readonly client: string;
  readonly target: PartitionId | 'all';
  readonly verb: 'arm' | 'disarm';
  readonly source: Command['source'];
  readonly actor?: string;
  /** A person on the site with a good code gave it (safety 5). */
  readonly person: boolean;
  readonly waiting: readonly PartitionId[];
  /** Whether a partition of it has changed already. */
  readonly changed: boolean;
  readonly failure?: Failure;
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
}

export interface TroubleState {
  readonly trouble: TroubleKind;
  readonly source: DeviceRef;
  readonly zone?: ZoneNumber;
  readonly since: number;
  /** Which of several conditions holds, where a trouble has them. */
  readonly condition?: string;
}

export interface TimerState {
  readonly id: string;
  readonly kind: 'exit' | 'entry' | 'confirm';
  readonly partition: PartitionId;
  readonly due: Deadline;
}

export interface SeenCommand {
  readonly bodyHash: string;
  readonly at: number;
  readonly result?: CommandResult;
}

/** What enters the core. Codes are checked before; nothing here can hold one. */
export type Input = { readonly at: Stamp } & (
  | { readonly kind: 'signal'; readonly signal: Signal }
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'timer.fired'; readonly timer: string }
  /** First input after each start. `sameBoot`: only the daemon restarted, the machine did not. */
  | { readonly kind: 'started'; readonly sameBoot: boolean; readonly storeLost: boolean }
);

/** What the core wants done. The controller knows the class of each: protect, command or record. */
export type Effect =
  /** Record: becomes an outbox row. `ref` lets a protect effect of the same decision name the event. */
  | { readonly kind: 'event'; readonly ref: number; readonly event: EventDraft }
  /** Record: a committed transition of a partition. */
  | { readonly kind: 'transition'; readonly record: Omit<ArmingRecord, 'epoch'> }
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

import type {
  ArmingRecord,
  Command,
  CommandResult,
  Deadline,
  DeviceId,
  DeviceRef,
  EventDraft,
  PartitionId,
  PartitionState,
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
      readonly action: 'disarm' | 'arm_away' | 'arm_home' | 'arm_night' | 'arm_vacation' | 'arm_custom';
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

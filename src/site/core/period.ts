import type { ArmingSource, ArmMode, Deadline, Stamp, ZoneNumber } from '#site/model/index.ts';

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
  /** Its sound was ended; the next alarm sounds again. */
  readonly silenced?: true;
  /** Calls for help, each kind and hold-up zone once: they run until the next opening, since nobody tells their end. */
  readonly called?: readonly CalledHelp[];
  /** How often an exit door opened during the exit delay, and whether that began anew. */
  readonly exit?: { readonly opened: number; readonly restarted: boolean };
}

/** `zone`: a hold-up button; without one, a client of the site. */
export interface CalledHelp {
  readonly kind: string;
  readonly zone?: ZoneNumber;
  readonly since: number;
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

/** An alarm that sounds and is not signalled yet. */
export interface WaitingAlarm {
  readonly zone: ZoneNumber;
  readonly kind: string;
  readonly at: Deadline;
  readonly evidence: readonly Evidence[];
}

/** One thing the person who scores an alarm should know. */
export type Evidence = Readonly<Record<string, string | number | boolean>>;

export interface SignalCount {
  readonly count: number;
  readonly since: Deadline;
}

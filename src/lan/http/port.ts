import type { AudioPort, VerificationsPort } from '#site/model/index.ts';
import type { ActivityPort } from './activity-operations.ts';
import type { AuditPort, InputsPort } from './audit-port.ts';
import type { CamerasPort } from './cameras-handlers.ts';
import type { CommandAnswer, CommandBody } from './commands-schemas.ts';
import type { MediaPort } from './media-handlers.ts';
import type {
  GapEntry,
  OutboxDocument,
  ParkedDetail,
  ParkedEntry,
  ParkedQuery,
  WaitingList,
  WaitingQuery,
} from './outbox-schemas.ts';
import type { PostponedAnswer, ScheduleList } from './schedules-schemas.ts';
import type { EventEntry, EventsQuery, Readiness, StatusDocument } from './schemas.ts';
import type { SecurityTypePort } from './security-type.ts';
import type { NewCodesBody, NewUserBody, UserEntry } from './users-schemas.ts';
import type { ZoneEntry } from './zones.ts';

/** What the LAN API shows; `daemon.ts` fills it in. Calls may reject with a `SitewardError`. */
export interface LanPort {
  status(): Promise<StatusDocument>;
  zones(): readonly ZoneEntry[];
  /** Newest first, at most `limit`, with seq below `before`; empty only when there are no more. */
  events(query: EventsQuery): Promise<readonly EventEntry[]>;
  /** Local protection only: a cloud that is away is no reason. */
  ready(): Readiness;
  /** Text format of Prometheus. */
  metrics(): Promise<string>;
  readonly outbox: OutboxPort;
  readonly users: UsersPort;
  readonly schedules: SchedulesPort;
  readonly audit: AuditPort;
  readonly inputs: InputsPort;
  readonly activity: ActivityPort;
  readonly commands: CommandsPort;
  readonly verifications: VerificationsPort;
  readonly securityType: SecurityTypePort;
  readonly cameras: CamerasPort;
  readonly media: MediaPort;
  readonly audio: AudioPort;
}

/** Parked events to be changed, and who asked for it; the port logs both once it is done. */
export interface ParkedChange {
  readonly seqs: readonly number[];
  readonly actor: string;
}

/** The outbox as a technician sees and mends it. Silent events do not exist here (safety 4). */
export interface OutboxPort {
  /** Never rejects for a store that cannot be read: that is what it shows then. */
  show(): Promise<OutboxDocument>;
  waiting(query: WaitingQuery): Promise<WaitingList>;
  /** Newest first, at most `limit`, with seq below `before`; empty only when there are no more. */
  parked(query: ParkedQuery): Promise<readonly ParkedEntry[]>;
  /** Rejects with `not_parked`. */
  parkedOne(seq: number): Promise<ParkedDetail>;
  /** Puts events back in line; resolves with how many. Rejects with `not_parked`, naming them, and does nothing then. */
  retry(change: ParkedChange): Promise<number>;
  /** Gives events up for good; as `retry`. */
  drop(change: ParkedChange): Promise<number>;
  /** Newest first. */
  gaps(limit: number): Promise<readonly GapEntry[]>;
}

/** Commands to the site, through the same gate as those of the LAN. */
export interface CommandsPort {
  /**
   * Resolves with the final answer, a refusal included. Rejects with `deadline` when a panel, or the site, did not come
   * to one: the same command under its id then tells what became of it. Codes are neither kept nor logged.
   */
  give(command: CommandBody, signal: AbortSignal): Promise<CommandAnswer>;
}

/** The users of the site. Codes go in and never come out; calls reject with what `site/users` throws. */
export interface UsersPort {
  list(): Promise<readonly UserEntry[]>;
  add(user: NewUserBody, actor: string): Promise<UserEntry>;
  /** The old code counts no more when it resolves. */
  setCode(change: NewCodesBody & { readonly id: string; readonly actor: string }): Promise<void>;
  remove(change: { readonly id: string; readonly lastOwner: boolean; readonly actor: string }): Promise<void>;
}

/** What is done by the clock. Calls reject with `schedule_unknown`, `postpone_refused` and what checking a code throws. */
export interface SchedulesPort {
  /** The next `count` runs, those a holiday takes away among them. */
  list(count: number): Promise<ScheduleList>;
  /** Puts the next arming of a schedule off. The code goes in and never comes out. */
  postpone(wish: { readonly id: string; readonly minutes: number; readonly code: string }): Promise<PostponedAnswer>;
}

import type { Access } from '#lan/access/index.ts';
import type { Asker, AudioPort, VerificationsPort } from '#site/model/index.ts';
import type { ActivityPort } from './activity-operations.ts';
import type { AuditPort, InputsPort } from './audit-port.ts';
import type { BackupPort } from './backup-operations.ts';
import type { BundlePort } from './bundle-handlers.ts';
import type { CamerasPort } from './cameras-handlers.ts';
import type { CloudChangesPort } from './cloud-changes.ts';
import type { CloudDevicesPort } from './cloud-devices.ts';
import type { CloudPathsPort } from './cloud-port.ts';
import type { CommandAnswer, CommandBody } from './commands-schemas.ts';
import type { ConfigPort } from './config-handlers.ts';
import type { DangerPort } from './danger.ts';
import type { DeviceEntry } from './devices.ts';
import type { FindCamerasPort } from './find-cameras.ts';
import type { Idempotency } from './idempotency.ts';
import type { Live } from './live.ts';
import type { LogPort } from './log-handlers.ts';
import type { MediaPort } from './media-handlers.ts';
import type { MirrorPort } from './mirror-operations.ts';
import type {
  GapEntry,
  OutboxDocument,
  OutboxHistory,
  ParkedDetail,
  ParkedEntry,
  ParkedQuery,
  WaitingList,
  WaitingQuery,
} from './outbox-schemas.ts';
import type { PartitionEntry } from './partitions.ts';
import type { PostponedAnswer, ScheduleList } from './schedules-schemas.ts';
import type { EventEntry, EventsQuery, Readiness, StatusDocument } from './schemas.ts';
import type { SecurityTypePort } from './security-type.ts';
import type { NewCodesBody, NewUserBody, UserEntry } from './users-schemas.ts';
import type { ZoneEntry } from './zones.ts';

/** What the LAN API shows; `daemon.ts` fills it in. Calls may reject with a `SitewardError`. */
export interface LanPort {
  status(): Promise<StatusDocument>;
  zones(): readonly ZoneEntry[];
  partitions(): readonly PartitionEntry[];
  devices(): readonly DeviceEntry[];
  /** Newest first, at most `limit`, with seq below `before`; empty only when there are no more. */
  events(query: EventsQuery): Promise<readonly EventEntry[]>;
  /** Local protection only: a cloud that is away is no reason. */
  ready(): Readiness;
  /** Text format of Prometheus. */
  metrics(): Promise<string>;
  readonly idempotency: Idempotency;
  readonly outbox: OutboxPort;
  /** The certificate authority of the site, PEM. Rejects with `authority_unknown` where the bridge shows no certificate of it. */
  authority(): Promise<string>;
  /** Throws `stopped` while nobody can be let in. */
  access(): Access;
  /** Throws `stopped` at a start and a stop. */
  live(): Pick<Live, 'open'>;
  readonly users: UsersPort;
  readonly schedules: SchedulesPort;
  readonly audit: AuditPort;
  readonly inputs: InputsPort;
  readonly activity: ActivityPort;
  readonly commands: CommandsPort;
  readonly verifications: VerificationsPort;
  readonly securityType: SecurityTypePort;
  readonly cameras: CamerasPort;
  readonly cloudDevices: CloudDevicesPort;
  readonly cloudChanges: CloudChangesPort;
  readonly media: MediaPort;
  readonly audio: AudioPort;
  /** Rejects with `code_refused` unless it is the code of somebody who may disarm. Wrong ones lock (C8). */
  mayEndAlarms(code: string | undefined, by: Asker, signal: AbortSignal): Promise<void>;
  readonly log: LogPort;
  readonly config: ConfigPort;
  readonly danger: DangerPort;
  readonly findCameras: FindCamerasPort;
  readonly bundle: BundlePort;
  readonly backup: BackupPort;
  readonly cloudPaths: CloudPathsPort;
  readonly mirror: MirrorPort;
}

/** Parked events to be changed, and who asked for it; the port logs both once it is done. */
export interface ParkedChange {
  readonly seqs: readonly number[];
  readonly by: Asker;
}

/** The outbox as a technician sees and mends it. Silent events do not exist here (safety 4). */
export interface OutboxPort {
  /** Never rejects for a store that cannot be read: that is what it shows then. */
  show(): Promise<OutboxDocument>;
  /** The last day; what was before the start of siteward is not known. */
  history(): OutboxHistory;
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
  give(command: CommandBody, by: Asker, signal: AbortSignal): Promise<CommandAnswer>;
}

/** The users of the site. Codes go in and never come out; calls reject with what `site/users` throws. */
export interface UsersPort {
  list(): Promise<readonly UserEntry[]>;
  add(user: NewUserBody, by: Asker): Promise<UserEntry>;
  /** The old code counts no more when it resolves. */
  setCode(change: NewCodesBody & { readonly id: string; readonly by: Asker }): Promise<void>;
  remove(change: { readonly id: string; readonly lastOwner: boolean; readonly by: Asker }): Promise<void>;
}

/** What is done by the clock. Calls reject with `schedule_unknown`, `postpone_refused` and what checking a code throws. */
export interface SchedulesPort {
  /** The next `count` runs, those a holiday takes away among them. */
  list(count: number): Promise<ScheduleList>;
  /** Puts the next arming of a schedule off. The code goes in and never comes out. */
  postpone(wish: {
    readonly id: string;
    readonly minutes: number;
    readonly code: string;
    readonly by: Asker;
  }): Promise<PostponedAnswer>;
}

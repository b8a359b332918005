import type {
  AudioPort,
  CodeCheck,
  Command,
  CommandResult,
  DispatchKind,
  PanicCall,
  SiteEvent,
  SiteView,
  VerificationsPort,
} from '#site/model/index.ts';
import type { AuditPage } from './audit-feed.ts';

export interface DispatchRequest {
  readonly id: string;
  /** `responder`: whoever the service sends. */
  readonly kind: DispatchKind | 'responder';
  readonly client: string;
  readonly partition?: string;
  readonly eventId?: string;
  readonly note?: string;
}

export type DispatchOutcome =
  | { readonly kind: 'requested'; readonly dispatchId?: string }
  /** It did not leave. */
  | { readonly kind: 'offline' }
  /** It left, and nobody knows what came of it. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused' };

/** What this room needs of the site; `daemon.ts` fills it in. */
export interface SitePort {
  view(): SiteView;
  /** `reply` is called for `accepted` and once more with `final: true`. */
  submit(command: Command, reply: (result: CommandResult) => void): void;
  /** A call for help. `reply` is called once: `done` when it is on disk, `failed` when it is not within 2 s. */
  panic(call: PanicCall, reply: (result: CommandResult) => void): void;
  /**
   * A picture as the camera gives it. Throws `camera_unknown`, `camera_refused` where none may be taken now (safety 11), and what else
   * the camera's room throws.
   */
  snapshot(camera: string, client: string, signal: AbortSignal): Promise<Uint8Array>;
  /** Asks the service to send somebody, now or not at all. Undefined where the service takes no such request. */
  readonly dispatch?: ((request: DispatchRequest, signal: AbortSignal) => Promise<DispatchOutcome>) | undefined;
  /** Finds the user of a code. The code is not kept by either side. */
  checkCode(code: string | undefined): Promise<CodeCheck>;
  /** The newest events first, at most `limit`. */
  events(limit: number): Promise<readonly SiteEvent[]>;
  /** Counts as anyone may see them: without silent hold-up and duress (safety 4). `oldestS` is null when empty. */
  outbox(): Promise<{ readonly depth: number; readonly oldestS: number | null; readonly dropped: number }>;
  /** Begins to show what a panel's bridge says, for no minutes ends it; false where there is no such panel. */
  watchPanel(panel: string, minutes: number, client: string): boolean;
  /** Lines of the audit log everybody may see; without `after` none, only the place where new ones will be. */
  auditLines(after: number | undefined, limit: number): Promise<AuditPage | undefined>;
  /** A retained command was refused; for the audit log. */
  retainedRefused(verb: string): void;
  cloudLink(): 'online' | 'offline';
  readonly verifications: VerificationsPort;
  /** Messages on speakers. */
  readonly audio: Pick<AudioPort, 'messages' | 'speakers' | 'playbacks' | 'play' | 'cancel'>;
}

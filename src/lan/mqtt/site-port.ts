import type {
  CodeCheck,
  Command,
  CommandResult,
  PanicCall,
  SiteEvent,
  SiteView,
  VerificationsPort,
} from '#site/model/index.ts';

/** What this room needs of the site; `daemon.ts` fills it in. */
export interface SitePort {
  view(): SiteView;
  /** `reply` is called for `accepted` and once more with `final: true`. */
  submit(command: Command, reply: (result: CommandResult) => void): void;
  /** A call for help. `reply` is called once: `done` when it is on disk, `failed` when it is not within 2 s. */
  panic(call: PanicCall, reply: (result: CommandResult) => void): void;
  /** Finds the user of a code. The code is not kept by either side. */
  checkCode(code: string | undefined): Promise<CodeCheck>;
  /** The newest events first, at most `limit`. */
  events(limit: number): Promise<readonly SiteEvent[]>;
  /** Counts as anyone may see them: without silent hold-up and duress (safety 4). `oldestS` is null when empty. */
  outbox(): Promise<{ readonly depth: number; readonly oldestS: number | null; readonly dropped: number }>;
  cloudLink(): 'online' | 'offline';
  readonly verifications: VerificationsPort;
}

/** Who or what can ask for something, or do it. */
export type Side = 'keypad' | 'tablet' | 'home assistant' | 'http' | 'panel' | 'schedule' | 'world';

/** Something that was done at the site, by its doer's own record. */
export interface Deed {
  readonly partition: string;
  /** For people: `arm`, `open 12`. */
  readonly what: string;
  readonly by: Side;
  /** Whether somebody gave a code that may do it; a panel has its own. */
  readonly code?: 'right' | 'wrong';
  /** Of a detector: it says anew what lasts to a daemon that has started, which may make a second alarm of it (docs/panels.md). */
  readonly saysAnew?: boolean;
  /** What a command was answered, each time it was given. */
  readonly answers?: readonly string[];
  /** Wall clock of the machine, milliseconds. */
  readonly from: number;
  readonly to: number;
  /** The events that must come of it, in their order, as `keyOf` writes them. */
  readonly expects: readonly string[];
  /** Those that may come earlier or later: a panel that siteward hears again tells its zones before its partitions. */
  readonly anywhere?: readonly string[];
}

/** Something that went wrong, or was put right. */
export interface Fault {
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

/** An order a panel was given. */
export interface Order {
  readonly partition: string;
  readonly verb: string;
  readonly at: number;
}

/** What a contact has answered to a request to verify an alarm. */
export interface Answered {
  readonly verification_id: string;
  readonly action: string;
}

/** What really happened: the doers' own record, which the daemon has no part in. */
export interface History {
  readonly deeds: readonly Deed[];
  readonly faults: readonly Fault[];
  readonly orders: readonly Order[];
  readonly answers: readonly Answered[];
  /** What somebody waited for in vain. */
  readonly unseen: readonly string[];
}

/** An event as deeds expect it. */
export const keyOf = (event: { class: string; kind: string; status: string; zone?: string | undefined }): string =>
  `${event.class} ${event.kind} ${event.status} ${event.zone ?? '-'}`;

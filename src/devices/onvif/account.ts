import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';

/** Where a device may ask for user and password: for its events, its pictures, its streams, its speaker. */
export type Door = 'events' | 'pictures' | 'streams' | 'speaker';

/**
 * Keeps siteward from locking a device's account, for which the device counts the wrong tries of all doors. A door that
 * refused twice gets none for `holdMs`, then one. After two refusals in a row, at whichever doors, all but the events get
 * none; the events have two of their own all the same, since nothing is worse than to lose them, and one or two are pardoned
 * them. In all that stays below the five in a row after which devices lock. A changed configuration makes a new account.
 */
export interface Account {
  /** Throws `camera_auth` while no password may be tried at the door, `camera_fault` during a rest. */
  check(door: Door): void;
  /** Milliseconds until one may; 0 when it may. The others wait for the events, too. */
  leftMs(door: Door): number;
  error(door: Door): SitewardError;
  accepted(door: Door): void;
  refused(door: Door): void;
  /**
   * A refusal of the events that may not be the password's counts in the row alone: one after a start or an acceptance, two
   * after an absence since, less those in the row. False, and nothing is counted, where none is left.
   */
  pardon(): boolean;
  /** What proves nothing was refused: it counts in the row alone, and who was let in stays so. */
  doubted(): void;
  /** The last verdict of a door; undefined before there is one. */
  wasAccepted(door: Door): boolean | undefined;
  readonly wasAcceptedAnywhere: boolean;
  /** How many of the others than the events may be under way at once. */
  readonly triesLeft: number;
  /** The events are let in, with a password or without, since the device was away and since it was doubted. */
  isLetIn: boolean;
  /** It answers again after an absence. If it took the password before, refusals of the next minutes may be its start. */
  returned(): void;
  readonly isStarting: boolean;
  /** No password is tried for `ms`. */
  rest(reason: string, ms: number): void;
  /** As after two refusals. */
  close(reason: string): void;
  /** What a later run must know; undefined where all is well. */
  counts(): Counts | undefined;
  /** What it must know while a password is tried at the door: nobody may be left to hear that it was refused. */
  countsIfRefused(door: Door): Counts;
  countsIfDoubted(): Counts;
  resume(counts: Counts): void;
}

/** Refusals, and until when (monotonic) they keep the door shut, or count in the row. */
export interface Count {
  readonly refusals: number;
  readonly until: number;
}
/** Of each door since it last accepted, and of all since any did: the device forgets those, too, after a while. */
export type Counts = Readonly<Record<Door | 'row', Count>>;

const triesAllowed = 2;
/** How long after its start a device may refuse what is right: its clock and its users come late. */
const startMs = 5 * 60_000;
const none: Count = { refusals: 0, until: 0 };
const refusedText = 'the user name or password was refused';

export function createAccount(clock: Clock, holdMs: number, whose: 'camera' | 'speaker' = 'camera'): Account {
  const counts: Record<Door | 'row', Count> = {
    ...{ row: none, events: none, pictures: none, streams: none, speaker: none },
  };
  const accepted: Partial<Record<Door, boolean>> = {};
  let pardons = 1;
  let startUntil = 0;
  let reason = refusedText;
  let isResting = false;

  const left = ({ until }: Count) => Math.max(0, until - clock.monotonic());
  const after = (ms: number) => clock.monotonic() + ms;
  const inRow = () => (left(counts.row) > 0 ? counts.row.refusals : 0);

  const countedRow = (): Count => ({ refusals: inRow() + 1, until: after(holdMs) });

  function count(): void {
    counts.row = countedRow();
    account.isLetIn = false;
  }

  // The next refusal after the pause shuts it again at once.
  const shutCount = (): Count => ({ refusals: triesAllowed - 1, until: after(holdMs) });

  function shut(door: Door, why: string): void {
    counts[door] = shutCount();
    if (door !== 'events') return;
    pardons = 0;
    reason = why;
    isResting = false;
  }

  const account: Account = {
    check(door) {
      if (account.leftMs(door) > 0) throw account.error(door);
    },
    leftMs(door) {
      const events = left(counts.events);
      if (door === 'events') return events;
      return Math.max(events, left(counts[door]), inRow() >= triesAllowed ? left(counts.row) : 0);
    },
    error(door) {
      const facts = { retryInS: Math.ceil(account.leftMs(door) / 1000) };
      const why = left(counts.events) > 0 ? reason : refusedText;
      if (isResting && why === reason)
        return new SitewardError('camera_fault', `The camera does not let siteward in yet: ${why}`, { facts });
      const text = `The ${whose} does not let siteward in: ${why}. Correct username and password`;
      return new SitewardError('camera_auth', text, { facts });
    },
    accepted(door) {
      counts.row = none;
      counts[door] = none;
      accepted[door] = true;
      pardons = 1;
      if (door === 'events') account.isLetIn = true;
    },
    refused(door) {
      count();
      accepted[door] = false;
      counts[door] = { ...counts[door], refusals: counts[door].refusals + 1 };
      if (counts[door].refusals >= triesAllowed) shut(door, refusedText);
    },
    pardon() {
      if (inRow() >= pardons) return false;
      count();
      return true;
    },
    doubted() {
      const { isLetIn } = account;
      count();
      account.isLetIn = isLetIn;
    },
    wasAccepted: (door) => accepted[door],
    get wasAcceptedAnywhere() {
      return Object.values(accepted).includes(true);
    },
    get triesLeft() {
      return triesAllowed - inRow();
    },
    isLetIn: false,
    returned() {
      if (accepted.events !== true) return;
      startUntil = after(startMs);
      pardons = 2;
    },
    get isStarting() {
      return startUntil > clock.monotonic();
    },
    rest(why, ms) {
      reason = why;
      isResting = true;
      counts.events = { ...counts.events, until: after(ms) };
    },
    close: (why) => shut('events', why),
    counts() {
      if (Object.values(counts).every(({ refusals }) => refusals === 0)) return undefined;
      // A rest is not for the next run, which would call it a refusal.
      return { ...counts, ...(isResting && { events: { ...counts.events, until: 0 } }) };
    },
    countsIfDoubted: () => ({ ...counts, row: countedRow() }),
    countsIfRefused(door) {
      const refusals = counts[door].refusals + 1;
      const one = refusals >= triesAllowed ? shutCount() : { ...counts[door], refusals };
      return { ...counts, row: countedRow(), [door]: one };
    },
    resume(found) {
      Object.assign(counts, found);
      if (found.events.refusals > 0) pardons = 0;
      for (const door of ['events', 'pictures', 'streams', 'speaker'] as const)
        if (left(counts[door]) > 0) accepted[door] ??= false;
    },
  };
  return account;
}

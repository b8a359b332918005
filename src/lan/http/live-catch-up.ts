import { never, withDeadline } from '#lib/wait.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { answerDeadlineMs } from './answering.ts';

/** The oldest kept events behind a number. */
export interface EventPage {
  /** Oldest first; silent ones are not among them (safety 4). */
  readonly events: readonly SiteEvent[];
  /** All that are kept up to this number are among them. */
  readonly through: number;
  /** There are no more. */
  readonly isEnd: boolean;
}

/**
 * Numbers that no event has: after a kill siteward goes on with higher ones. `last` is the last before this start, `next` the first
 * since.
 */
export interface NumberJump {
  readonly last: number;
  readonly next: number;
}

export interface EventHistory {
  /** Undefined where nobody knows which numbers there were. */
  jump(): Promise<NumberJump | undefined>;
  /** Number of the newest event that is kept; 0 for none. */
  newest(): Promise<number>;
  after(number: number, limit: number): Promise<EventPage>;
}

/** Each question within its time: a store that hangs holds up no stream. What it is asked for pages has its time where it is read. */
export function timely(history: EventHistory): EventHistory {
  const within = <T>(work: () => Promise<T>) => withDeadline(answerDeadlineMs, never(), work, 'reading events');
  return { ...history, jump: () => within(history.jump), newest: () => within(history.newest) };
}

/** The events that should lie between two and are not there; undefined for none. */
export function missing(
  last: number,
  next: number,
  jump?: NumberJump,
): readonly [from: number, to: number] | undefined {
  const isBehind = jump !== undefined && last >= jump.last && last < jump.next;
  const isBefore = jump !== undefined && next > jump.last && next <= jump.next;
  const [from, to] = [isBehind ? jump.next : last + 1, isBefore ? jump.last : next - 1];
  return from <= to ? [from, to] : undefined;
}

/**
 * Everything kept behind a number, a page at a time and no faster than it is taken. `beginPage` is called before each
 * question to the store: what is published from then on may be missing in its answer, what was published before is not.
 */
export async function catchUp(options: {
  readonly history: EventHistory;
  readonly after: number;
  /** Events of a page; no more than may wait for a client. */
  readonly pageSize: number;
  readonly beginPage: () => void;
  readonly show: (event: SiteEvent) => void;
  readonly taken: () => Promise<void>;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { history, pageSize, signal } = options;
  for (let after = options.after; ; ) {
    await options.taken();
    options.beginPage();
    const read = () => history.after(after, pageSize);
    const page = await withDeadline(answerDeadlineMs, signal, read, 'reading events');
    for (const event of page.events) options.show(event);
    if (page.isEnd) return;
    after = page.through;
  }
}

import type { Lane } from '#site/model/index.ts';

export const faultNames = ['503', '429', 'portal', '401', '403', 'reset'] as const;
export type FaultName = (typeof faultNames)[number];
/** `applied`: the server acted, the reply was lost. */
export type Reply = FaultName | 'applied' | 'none';

export interface Made {
  readonly lane: Lane;
  readonly orderKey: string;
}

/** What is known of one event that has not been taken. */
interface Failing {
  failures: number;
  /** Replies that were acceptances, when it first failed. */
  readonly takenBefore: number;
  /** How often it failed though another passed since. */
  alone: number;
  /** So many comparisons may follow: one, and one more where that failed itself and told nothing. */
  comparisons: number;
  /** What it met last was for a person to change, when nothing had ever been taken. */
  isFirstDay: boolean;
}

/** How long a fresh alarm waits for older events of its key. */
const heldUpMs = 3_000;
/** From so many failures alone on, an event does not keep its place in its key. */
const losesPlaceFrom = 5;
/** While nothing was ever taken, others of the key get their chance after so many. */
const givesWayFrom = 10;
const needsPerson: readonly Reply[] = ['401', '403'];
/** The client sends once more by itself, at once: on a new connection, or with a new token. */
const repeatedByClient: readonly Reply[] = ['401', 'reset', 'applied'];

export const chainOf = ({ lane, orderKey }: Made): string => `${lane === 'activity' ? 'activity' : 'site'} ${orderKey}`;

/**
 * Watches the requests as they arrive at the cloud, for what docs/outbox.md promises of order and repeats. Exceptions
 * from order: an alarm that was held up for three seconds, and an event that is known to fail alone. Exceptions from
 * "sent once": what failed, and the comparison: one that was taken is sent once more after a failure of another, and
 * again where that failed as well.
 */
export function rulesOfSending(made: readonly Made[]) {
  const broken: string[] = [];
  /** Arrived at the server as accepted; `answered`: and the reply was sent. */
  const accepted: number[] = [];
  const answered = new Set<number>();
  const committed = new Map<number, number>();
  const failing = new Map<number, Failing>();
  const open = new Set<number>();
  /** Taken, and told so; it stays that while it is sent once more as the comparison. */
  const settled = new Set<number>();
  /** What went before an older one by right goes on doing so: a rest in between does not put it back in line. */
  const passed = new Set<string>();
  const mayRepeat = new Set<number>();
  /** Since when an alarm counts how long it is held up: the first request after a rest in which nothing was taken. */
  let since = 0;
  let rested = false;
  let taken = 0;
  let takenAtRest = 0;
  const of = (seq: number): Made => made[seq - 1] ?? { lane: 'alarm', orderKey: '' };

  function mayPass(late: number, early: number, now: number): boolean {
    const may = isExcepted(late, early, now);
    if (may) passed.add(`${early} before ${late}`);
    return may;
  }

  function isExcepted(late: number, early: number, now: number): boolean {
    const other = failing.get(late);
    if (other !== undefined && other.failures >= givesWayFrom && answered.size === 0) return true;
    if (other !== undefined && other.alone >= losesPlaceFrom) return true;
    if (of(early).lane !== 'alarm') return false;
    if (other !== undefined && (other.alone > 0 || other.isFirstDay)) return true;
    return now - Math.max(since, committed.get(early) ?? 0) >= heldUpMs;
  }

  function hasPassed(late: number, early: number): boolean {
    return passed.has(`${early} before ${late}`);
  }

  function comparison(seq: number, reply: Reply): void {
    if (mayRepeat.delete(seq)) return;
    const [, held] = [...failing].find(([one, { comparisons }]) => one !== seq && comparisons > 0) ?? [];
    if (held === undefined) broken.push(`${seq} was sent again though nothing was under suspicion`);
    else held.comparisons = reply === 'none' ? 0 : held.comparisons - 1;
  }

  function failed(seq: number, reply: Reply): void {
    if (reply === '429') return;
    const held = failing.get(seq) ?? {
      ...{ failures: 0, takenBefore: taken, alone: 0, comparisons: 0, isFirstDay: false },
    };
    const isFirstDay = needsPerson.includes(reply) && answered.size === 0;
    const failures = held.failures + 1;
    const isAlone = taken > held.takenBefore && (needsPerson.includes(reply) || failures >= 5);
    failing.set(seq, { ...held, failures, alone: held.alone + (isAlone ? 1 : 0), comparisons: 2, isFirstDay });
  }

  return {
    broken,
    accepted,
    committed: (seq: number, now: number) => void committed.set(seq, now),
    arrived(seq: number, reply: Reply, now: number): void {
      if (rested) since = now;
      rested = false;
      if (answered.has(seq)) comparison(seq, reply);
      else {
        const older = made.flatMap((one, i) => (i + 1 < seq && chainOf(one) === chainOf(of(seq)) ? [i + 1] : []));
        for (const late of older) {
          if (settled.has(late) || (accepted.includes(late) && !open.has(late))) continue;
          if (!hasPassed(late, seq) && !mayPass(late, seq, now))
            broken.push(`${seq} was sent before ${late} was taken`);
        }
        if (open.has(seq)) broken.push(`${seq} was sent twice at once`);
      }
      open.add(seq);
      if (repeatedByClient.includes(reply)) mayRepeat.add(seq);
      else mayRepeat.delete(seq);
      if (reply === 'none') {
        taken += 1;
        answered.add(seq);
        failing.delete(seq);
      } else if (!answered.has(seq)) failed(seq, reply);
      if (reply === 'none' || reply === 'applied') accepted.push(seq);
      // What follows from the others depends on what else was seen: nothing then shows to the watcher.
      const isRest = reply === '503' || reply === '429' || reply === 'portal';
      if (!isRest || (failing.get(seq)?.failures ?? 0) >= 5) return;
      if (taken === takenAtRest) rested = true;
      takenAtRest = taken;
    },
    closed(seq: number): void {
      open.delete(seq);
      if (answered.has(seq)) settled.add(seq);
    },
  };
}

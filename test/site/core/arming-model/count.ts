import type { Status } from './bridge.ts';
import { type Day, minute } from './day.ts';

/** What one or many days came to. Counted from what really happened, not from what a policy believes. */
export interface Count {
  /** Presses that changed the cloud's value to another than the site had: the commands. */
  commands: number;
  /** Commands while no cut was near. */
  healthy: number;
  /** Presses of the value that the cloud had already. */
  unchanged: number;
  done: number;
  /** A keypad or another press came before the command could be done. */
  overtaken: number;
  /** Commands that were not done within their life, with a cut near. */
  refusedByCut: number;
  refusedHealthy: number;
  /** Refused, and nobody was told before the next change. */
  notShown: number;
  /** The same, but no read could tell: the value was again the one last read, and this cloud has no timestamps. */
  invisible: number;
  conflicts: number;
  /** Disarmed by a value older than the last arming at the keypad, or older than a disarm may be, or that nobody pressed. */
  staleDisarms: number;
  /** A cloud value undid a newer change at the keypad. */
  localLost: number;
  notConverged: number;
}

export const nothing = (): Count => ({
  commands: 0,
  healthy: 0,
  unchanged: 0,
  done: 0,
  overtaken: 0,
  refusedByCut: 0,
  refusedHealthy: 0,
  notShown: 0,
  invisible: 0,
  conflicts: 0,
  staleDisarms: 0,
  localLost: 0,
  notConverged: 0,
});

export function add(sum: Count, one: Count): void {
  for (const key of Object.keys(one) as (keyof Count)[]) sum[key] += one[key];
}

/** A disarm lives so long (C1); a command that was not done by then was not done. */
const lifeMs = 2 * minute;
const nearMs = minute;

interface Press {
  readonly at: number;
  readonly value: Status;
  readonly healthy: boolean;
  refused: boolean;
  shown: boolean;
  visible: boolean;
}

export interface Referee {
  pressed(now: number, value: Status, about: { readonly changes: boolean; readonly local: Status }): void;
  keypad(now: number): void;
  applied(now: number, value: Status): void;
  /** The bridge learned the cloud's value. */
  read(value: Status): void;
  shown(now: number, value: Status): void;
  result(status: Status, held: Status): Count;
}

export function referee(day: Day, { timestamps }: { readonly timestamps: boolean }): Referee {
  const count = nothing();
  let open: Press | undefined;
  let lastRead: Status = 'disarmed';
  let keypadAt = Number.NEGATIVE_INFINITY;
  const pressedAt: Record<Status, number> = { armed: Number.NEGATIVE_INFINITY, disarmed: Number.NEGATIVE_INFINITY };

  const farFromCuts = (at: number) => day.cuts.every(({ from, until }) => at < from - nearMs || at >= until + nearMs);

  function age(now: number): void {
    if (open === undefined || open.refused || now - open.at <= lifeMs) return;
    open.refused = true;
    if (open.healthy) count.refusedHealthy += 1;
    else count.refusedByCut += 1;
  }

  /** Something newer was done. */
  function close(now: number, last: boolean): void {
    age(now);
    if (open === undefined) return;
    if (!open.refused) count.overtaken += 1;
    else if (last && !open.shown) count[open.visible ? 'notShown' : 'invisible'] += 1;
    open = undefined;
  }

  return {
    pressed(now, value, { changes, local }) {
      pressedAt[value] = now;
      if (!changes) {
        count.unchanged += 1;
        return;
      }
      close(now, false);
      if (local === value) return;
      const healthy = farFromCuts(now);
      count.commands += 1;
      if (healthy) count.healthy += 1;
      open = { at: now, value, healthy, refused: false, shown: false, visible: timestamps };
    },
    keypad(now) {
      close(now, false);
      keypadAt = now;
    },
    applied(now, value) {
      const at = pressedAt[value];
      if (value === 'disarmed' && (at < keypadAt || now - at > lifeMs)) count.staleDisarms += 1;
      if (at < keypadAt) count.localLost += 1;
      age(now);
      if (open?.value !== value) return;
      if (!open.refused) count.done += 1;
      open = undefined;
    },
    read(value) {
      if (open?.value === value && value !== lastRead) open.visible = true;
      lastRead = value;
    },
    shown(now, value) {
      count.conflicts += 1;
      if (open?.value === value && now >= open.at) open.shown = true;
    },
    result(status, held) {
      close(Number.POSITIVE_INFINITY, true);
      if (status !== held) count.notConverged += 1;
      return count;
    },
  };
}

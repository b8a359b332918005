import type { Clock } from '#lib/clock.ts';
import type { ArmingWord, PanelRefusal } from '#site/model/index.ts';
import type { CommandName, Profile } from './profile.ts';
import type { Reading } from './reading.ts';

/** What becomes of a command: it leaves, the same one is under way, the panel is there already, or it is refused. */
export type Verdict =
  | { readonly is: 'sent' | 'under_way' }
  | { readonly is: 'there'; readonly state: ArmingWord }
  | { readonly is: 'refused'; readonly reason: PanelRefusal; readonly why: string };

/**
 * Stands before the commands of one panel (panels.md 3.6). Where a command turns the state round, sending it once too
 * often disarms a site: it leaves only while the panel has told its state, by a live message of that state and after the last
 * command, it was heard within `fresh_s`, and the target is another state; one per partition at a time, never a second time
 * by itself.
 */
export interface Guard {
  /** A live message of the panel. */
  heard(): void;
  /** What a message says of a partition, by the bridge's key. */
  saw(reading: Reading): void;
  /** The bridge or the panel cannot be reached: what was known may have changed meanwhile. */
  lost(): void;
  /** The bridge says that it is there, as it does when it comes: the states it told may be from before it was away. */
  back(): void;
  /** Whether the command may leave now. It counts as sent when the answer is `sent`. */
  ask(key: string, action: CommandName): Verdict;
}

interface Known {
  /** What the panel told live, and when. A retained word may be from before a key was pressed. */
  readonly told?: { readonly state: ArmingWord; readonly at: number } | undefined;
  readonly ready?: boolean | undefined;
}

const defaultFreshS = 30;
const defaultConfirmS = 10;
/** Partitions one panel may speak of here; the oldest gives way. */
const partitionCap = 256;

/** `confirmMs`: how long the site waits for a panel; the profile's own time counts where it is longer. */
export function createGuard({
  profile,
  clock,
  confirmMs: siteMs = 0,
}: {
  profile: Profile;
  clock: Clock;
  confirmMs?: number | undefined;
}): Guard {
  const toggles = profile.guard?.toggle === true;
  const freshMs = (profile.guard?.fresh_s ?? defaultFreshS) * 1000;
  const stateMs = (profile.guard?.state_fresh_s ?? profile.guard?.fresh_s ?? defaultFreshS) * 1000;
  const confirmMs = Math.max(siteMs, (profile.confirm?.timeout_s ?? defaultConfirmS) * 1000);
  const known = new Map<string, Known>();
  const underWay = new Map<string, { action: CommandName; until: number }>();
  const startedAt = clock.monotonic();
  let heardAt: number | undefined;

  function toggle(key: string, action: CommandName): Verdict {
    const now = clock.monotonic();
    // Nobody knows what left just before the start, and a second press would turn it round again.
    if (now - startedAt < confirmMs) return refused(`siteward started less than ${confirmMs / 1000} s ago`);
    const current = underWay.get(key);
    if (current !== undefined && now < current.until) {
      return current.action === action ? { is: 'under_way' } : refused('another command waits for the panel');
    }
    underWay.delete(key);
    const { told, ready } = known.get(key) ?? {};
    if (told === undefined)
      return refused('the panel has not told its state since it was reached, or since the last command');
    if (heardAt === undefined || now - heardAt > freshMs) {
      return refused(`nothing was heard of the panel for ${freshMs / 1000} s, so its state may be another`);
    }
    if (now - told.at > stateMs) {
      return refused(`the panel has not told its state for ${stateMs / 1000} s, so it may be another`);
    }
    const { state } = told;
    if (isAt(state, action)) return { is: 'there', state };
    if (action !== 'disarm' && state !== 'disarmed') {
      return refused(`the panel is ${state}, and this command would turn it round`);
    }
    underWay.set(key, { action, until: now + confirmMs });
    // Whether the key was taken shows in the panel's next word only; until then either state may be true.
    known.set(key, { ready });
    return { is: 'sent' };
  }

  return {
    heard() {
      heardAt = clock.monotonic();
    },
    saw(reading) {
      if (reading.kind !== 'partition' || reading.context) return;
      const { key, state, ready, fault, replay } = reading;
      const before = known.get(key);
      const told = state === undefined || replay ? before?.told : { state, at: clock.monotonic() };
      known.delete(key);
      known.set(key, { told, ready: ready ?? before?.ready });
      for (const oldest of known.keys()) {
        if (known.size <= partitionCap) break;
        known.delete(oldest);
      }
      const current = underWay.get(key);
      if (current === undefined) return;
      const isAnswer = fault !== undefined || (state !== undefined && isAt(state, current.action));
      if (isAnswer && !replay) underWay.delete(key);
    },
    lost() {
      known.clear();
      heardAt = undefined;
    },
    back() {
      for (const [key, { ready }] of known) known.set(key, { ready });
    },
    ask(key, action) {
      const arms = action.startsWith('arm_');
      if (arms && profile.guard?.require_ready === true && known.get(key)?.ready === false) {
        return { is: 'refused', reason: 'not_ready', why: 'the panel is not ready to arm' };
      }
      return toggles ? toggle(key, action) : { is: 'sent' };
    },
  };
}

const refused = (why: string): Verdict => ({ is: 'refused', reason: 'other', why });

const targets: Readonly<Partial<Record<CommandName, readonly ArmingWord[]>>> = {
  disarm: ['disarmed'],
  arm_away: ['armed_away'],
  arm_home: ['armed_home'],
  arm_night: ['armed_night'],
  arm_vacation: ['armed_vacation'],
  arm_custom: ['armed_custom_bypass'],
};

/** An exit delay is on its way to armed: another press of the key would end it. */
const isAt = (state: ArmingWord, action: CommandName): boolean =>
  targets[action]?.includes(state) === true || (action !== 'disarm' && state === 'arming');

import type { Stamp } from '#site/model/index.ts';
import type { Anchor } from '#site/store/index.ts';

/** The time an event is sent with. The note is there when it is not simply the recorded one; all in milliseconds. */
export interface EventTime {
  readonly wall: number;
  readonly note?: {
    readonly quality: 'exact' | 'estimated';
    readonly recorded: number;
    readonly earliest?: number;
    readonly latest?: number;
  };
}

/** Source of an anchor nobody confirmed: it only keeps the choice for the events of its boot from changing. */
export const unconfirmed = 'unconfirmed';

/** A recorded time this close to the corrected one stays: `Date` headers count whole seconds. */
const agreeMs = 1_000;

/**
 * The time of an event. Pure: the same stamp and anchors give the same time, and a further anchor
 * of the event's boot changes nothing once there is one, because anchors of a boot only come with rising `mono`.
 *
 * - A clock that was synchronised is believed.
 * - Otherwise the last anchor at or before the event in its boot decides, else the first one after it.
 * - Without an anchor in its boot the recorded time is kept within what the boots around it allow. `boots` is the
 *   order of the boots, oldest first; without it nothing is known of them.
 */
export function eventTime(stamp: Stamp, anchors: readonly Anchor[], boots: readonly string[]): EventTime {
  const { wall: recorded } = stamp;
  if (stamp.clock === 'synced') return { wall: recorded };
  const anchor = anchorOf(stamp, anchors);
  if (anchor === undefined) return withinBounds(recorded, boundsOf(stamp.boot, anchors, boots));
  const wall = Math.round(anchor.wall + stamp.mono - anchor.mono);
  if (Math.abs(wall - recorded) <= agreeMs) return { wall: recorded };
  return { wall, note: { quality: anchor.source === unconfirmed ? 'estimated' : 'exact', recorded } };
}

function anchorOf({ boot, mono }: Stamp, anchors: readonly Anchor[]): Anchor | undefined {
  const ofBoot = ofOneBoot(boot, anchors);
  return ofBoot.findLast((anchor) => anchor.mono <= mono) ?? ofBoot[0];
}

/** In the order of their monotonic clock. */
export const ofOneBoot = (boot: string, anchors: readonly Anchor[]): Anchor[] =>
  anchors.filter((anchor) => anchor.boot === boot).sort((a, b) => a.mono - b.mono);

interface Bounds {
  readonly earliest?: number;
  readonly latest?: number;
}

/** Not before the last anchor of an earlier boot, not after the machine started into the next anchored boot. */
function boundsOf(boot: string, anchors: readonly Anchor[], boots: readonly string[]): Bounds {
  const at = boots.indexOf(boot);
  if (at < 0) return {};
  // A past boot gets no more anchors, so the last confirmed one stays the last. The next boot still may: there the
  // first of any source is taken, and it bounds nothing unless it was confirmed.
  const before = boots
    .slice(0, at)
    .toReversed()
    .map((earlier) => ofOneBoot(earlier, anchors).findLast(isConfirmed))
    .find((anchor) => anchor !== undefined);
  const after = boots
    .slice(at + 1)
    .map((later) => ofOneBoot(later, anchors)[0])
    .find((anchor) => anchor !== undefined);
  const earliest = before === undefined ? undefined : Math.round(before.wall);
  const latest = after === undefined || !isConfirmed(after) ? undefined : Math.round(after.wall - after.mono);
  // Anchors that contradict each other bound nothing.
  if (earliest !== undefined && latest !== undefined && earliest > latest) return {};
  return { ...(earliest !== undefined && { earliest }), ...(latest !== undefined && { latest }) };
}

const isConfirmed = ({ source }: Anchor): boolean => source !== unconfirmed;

function withinBounds(recorded: number, bounds: Bounds): EventTime {
  const { earliest, latest } = bounds;
  if (earliest === undefined && latest === undefined) return { wall: recorded };
  const wall = Math.min(Math.max(recorded, earliest ?? recorded), latest ?? Number.POSITIVE_INFINITY);
  return { wall, note: { quality: 'estimated', recorded, ...bounds } };
}

/** Between two readings of the time within which another anchor of the same boot is no news. */
const anchorEveryMs = 3_600_000;
const driftMs = 500;
const stepMs = 2_000;
/** However often the clock is set. */
const shortestMs = 60_000;

/**
 * Whether an anchor says something new: the first of its boot, the first confirmed one, a time that differs by a step
 * from what the last one predicts (at most one a minute), or by more than a drift (at most one an hour). So a machine
 * whose clock runs true writes one anchor per boot, and the 64 that are kept reach far back.
 */
export function isNews(anchor: Anchor, known: readonly Anchor[]): boolean {
  const last = ofOneBoot(anchor.boot, known).at(-1);
  if (last === undefined) return true;
  if (anchor.mono <= last.mono) return false;
  if (!isConfirmed(last) && isConfirmed(anchor)) return true;
  const since = anchor.mono - last.mono;
  const off = Math.abs(anchor.wall - (last.wall + since));
  return (off > stepMs && since >= shortestMs) || (off > driftMs && since >= anchorEveryMs);
}

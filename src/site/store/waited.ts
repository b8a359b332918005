import type { Clock } from '#lib/clock.ts';
import type { Lane, Stamp } from '#site/model/index.ts';
import type { LaneStats, OutboxStats } from './types.ts';

/** As the store thread counts it. */
export interface StampedStats extends Omit<OutboxStats, 'lanes' | 'oldest'> {
  readonly lanes: Readonly<Record<Lane, Omit<LaneStats, 'oldest'> & { readonly oldest: Stamp | undefined }>>;
}

/** With the time of what waits by the clock of now, so that the difference is how long it has waited, whatever the clock did. */
export function byClock({ lanes, ...stats }: StampedStats, clock: Clock): OutboxStats {
  const since = (stamp: Stamp | undefined) => (stamp === undefined ? undefined : clock.wall() - waitedMs(stamp, clock));
  const shown = Object.fromEntries(
    Object.entries(lanes).map(([lane, one]) => [lane, { ...one, oldest: since(one.oldest) }]),
  ) as Record<Lane, LaneStats>;
  const known = Object.values(shown).flatMap(({ oldest }) => oldest ?? []);
  return { ...stats, lanes: shown, oldest: known.length === 0 ? undefined : Math.min(...known) };
}

/**
 * The monotonic clock knows it for an event of this boot. Of an earlier one it is certain that it has waited since this boot
 * began; longer where both wall clocks say so and that of then was not in doubt, as after a start in 1970.
 */
function waitedMs({ mono, wall, boot, clock: quality }: Stamp, clock: Clock): number {
  if (boot === clock.bootId) return Math.max(0, clock.monotonic() - mono);
  return Math.max(clock.monotonic(), quality === 'doubtful' ? 0 : clock.wall() - wall);
}

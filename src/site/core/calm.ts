import type { ZonePlan } from '#site/model/index.ts';
import { after, setTimer } from './timers.ts';
import { own, type Work } from './work.ts';

/** How long an alarm is shown whose end nobody tells. */
export const calmMs = 60_000;

/** A pulse, or what ended while its camera was away: the zone is calm, so its alarm ends by itself, a minute after the last one. */
export function calmSoon(work: Work, { number }: ZonePlan): void {
  if (own(work.state.zones, number)?.alarm === true) setTimer(work, 'calm', { zone: number }, after(work.at, calmMs));
}

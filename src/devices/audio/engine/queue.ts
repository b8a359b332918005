import type { DeviceId, PlaybackReason } from '#site/model/index.ts';
import { quietCap } from './quiet.ts';
import { isAlarm, isTried, rankOf, waitsMs } from './rank.ts';
import { isOver } from './shown.ts';
import { timerId } from './timers.ts';
import type { Ending, Part, Playback, SpeakerPlan } from './types.ts';
import {
  ageMs,
  clearTimer,
  isUnhealthy,
  partOf,
  placeOf,
  playbackOf,
  setPart,
  speakerPlan,
  type Work,
} from './work.ts';

/** A part that waits for its turn in a lane. */
export interface Waiting {
  readonly playback: Playback;
  readonly part: Part;
}

const laneOf = (work: Work, speaker: DeviceId): string | undefined => speakerPlan(work, speaker)?.lane;

/** What waits in a lane, in the order of its turns. */
export function waitingIn(work: Work, lane: string): readonly Waiting[] {
  return waiting(work, ({ speaker }) => laneOf(work, speaker) === lane).sort(
    (one, other) => rankOf(other.playback) - rankOf(one.playback),
  );
}

/** What waits anywhere, the oldest first. */
export function waiting(work: Work, isMeant: (part: Part, playback: Playback) => boolean = () => true): Waiting[] {
  const found: Waiting[] = [];
  for (const playback of work.playbacks.values())
    for (const part of playback.parts)
      if (part.status === 'queued' && isMeant(part, playback) && placeOf(work, playback.id, part.speaker) === undefined)
        found.push({ playback, part });
  return found;
}

/** An end is final. */
export function endPart(
  work: Work,
  id: string,
  speaker: DeviceId,
  how: Ending | 'completed',
  more: Partial<Part> = {},
): void {
  const { begun: _, reason: __, ...part } = partOf(playbackOf(work, id), speaker);
  const end = how === 'completed' ? { status: how } : how;
  setPart(work, id, { ...part, ...more, ...end, endedAt: work.at });
  if (!isOver(playbackOf(work, id))) return;
  clearTimer(work, { kind: 'expire', of: id });
  clearTimer(work, { kind: 'together', of: id });
}

/** Back to where it waited, or ended where its time to wait is over. */
export function waitAgain(work: Work, id: string, speaker: DeviceId, cut = false): void {
  const { begun: _, ...part } = partOf(playbackOf(work, id), speaker);
  const mayWait = work.timers.has(timerId({ kind: 'expire', of: id }));
  if (!mayWait) endPart(work, id, speaker, cut ? preempted : { status: 'failed', reason: 'expired' });
  else if (!cut) setPart(work, id, part);
  else {
    // It begins anew: of the first time nothing is left but that it was cut.
    const { startedAt: _at, playedMs: _ms, ...anew } = part;
    setPart(work, id, { ...anew, status: 'queued', reason: 'preempted', cuts: part.cuts + 1 });
  }
}

export const preempted: Ending = { status: 'cancelled', reason: 'preempted' };

/** Why a part would not be played if its turn came now. */
export function hindrance(work: Work, playback: Playback, speaker: DeviceId): PlaybackReason | undefined {
  const plan = speakerPlan(work, speaker);
  if (plan === undefined) return 'not_found';
  if (isAlarm(playback)) return undefined;
  if (!isTried(playback) && isUnhealthy(work, speaker)) return 'unhealthy';
  const cap = capOf(work, plan);
  return cap === 0 || (cap !== undefined && playback.category === 'test') ? 'quiet_hours' : undefined;
}

function capOf(work: Work, { id, quiet = [] }: SpeakerPlan): number | undefined {
  if (!work.caps.has(id)) work.caps.set(id, quietCap(quiet, work.at, work.plan.timezone));
  return work.caps.get(id);
}

/** Percent, as it is to be heard. */
export function volumeFor(work: Work, playback: Playback, speaker: DeviceId): number {
  if (isAlarm(playback)) return Math.max(playback.volume, work.plan.limits.alarmFloor);
  const plan = speakerPlan(work, speaker);
  return Math.min(playback.volume, (plan === undefined ? undefined : capOf(work, plan)) ?? 100);
}

/** How long it may still wait. */
export const waitLeftMs = (work: Work, playback: Playback): number =>
  waitsMs(playback) - Math.max(0, ageMs(work.at, playback.createdAt));

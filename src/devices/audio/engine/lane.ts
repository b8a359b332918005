import { type DeviceId, hasEnded } from '#site/model/index.ts';
import { prepare, putBack, startTogether, takeNext } from './next.ts';
import { endPart, hindrance, preempted, type Waiting, waitingIn } from './queue.ts';
import { cuts, rankOf } from './rank.ts';
import { soundIn, stopSound } from './sound.ts';
import type { Ending, Part, Playback } from './types.ts';
import { placeOf, playbackOf, type Work } from './work.ts';

/**
 * Does what a lane can do now: what waits cuts what is below it, and the next one is made ready while the lane is free or
 * about to be.
 */
export function serve(work: Work, lane: string): void {
  if (work.closing !== undefined) return;
  const best = firstInTurn(work, lane);
  if (best !== undefined) makeWay(work, lane, best.playback);
  const { sound, next } = work.lanes.get(lane) ?? {};
  const isFree = sound === undefined || sound.stage === 'stopping';
  if (next !== undefined) startTogether(work, next.playback);
  else if (best !== undefined && isFree) prepare(work, lane, best);
}

function makeWay(work: Work, lane: string, playback: Playback): void {
  const sound = soundIn(work, lane);
  if (sound !== undefined) {
    const below = playbackOf(work, sound.playback);
    // Nothing runs while a device is busy: the order to begin may be given to another one as well.
    const givesWay = sound.stage === 'busy' && rankOf(playback) > rankOf(below);
    if (givesWay || cuts(playback, below)) stopSound(work, lane, preempted);
  }
  const next = work.lanes.get(lane)?.next;
  if (next !== undefined && rankOf(playback) > rankOf(playbackOf(work, next.playback))) putBack(work, lane);
}

export function serveAll(work: Work): void {
  for (const lane of new Set(work.plan.speakers.map((speaker) => speaker.lane))) serve(work, lane);
}

/** Ends those on the way that may not be played any more. */
function firstInTurn(work: Work, lane: string): Waiting | undefined {
  for (const one of waitingIn(work, lane)) {
    const reason = hindrance(work, one.playback, one.part.speaker);
    if (reason === undefined) return one;
    endPart(work, one.playback.id, one.part.speaker, { status: 'failed', reason });
  }
  return undefined;
}

/** Ends a part wherever it is: at once where it does not sound, else once it is silent. */
export function endOne(work: Work, id: string, speaker: DeviceId, ending: Ending, withinMs?: number): void {
  const place = placeOf(work, id, speaker);
  if (place?.as === 'sound') stopSound(work, place.lane, ending, withinMs);
  else {
    if (place?.as === 'next') takeNext(work, place.lane);
    endPart(work, id, speaker, ending);
  }
}

/** The same of all parts that are meant and have not ended; the ids of their playbacks come back. */
export function endAll(
  work: Work,
  isMeant: (playback: Playback, part: Part) => boolean,
  ending: Ending,
  withinMs?: number,
): readonly string[] {
  const meant = [...work.playbacks.values()].flatMap((playback) =>
    playback.parts
      .filter((part) => !hasEnded(part) && isMeant(playback, part))
      .map(({ speaker }) => ({ id: playback.id, speaker })),
  );
  for (const { id, speaker } of meant) endOne(work, id, speaker, ending, withinMs);
  if (meant.length > 0) serveAll(work);
  return [...new Set(meant.map(({ id }) => id))];
}

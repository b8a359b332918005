import type { DeviceId, PlaybackReason } from '#site/model/index.ts';
import { endOne, serve } from './lane.ts';
import { hindrance, waitLeftMs } from './queue.ts';
import { isAlarm, rankOf, waitsMs } from './rank.ts';
import { alarmKey, hasSoundedOut } from './sounding.ts';
import type { Part, Playback, PlayRefusal, PlayRequest, SpeakerPlan } from './types.ts';
import { placeOf, setPlayback, setTimer, show, speakerPlan, type Work, write } from './work.ts';

const joinedCap = 64;

export type Asked =
  | { readonly outcome: 'accepted' | 'joined' | 'already'; readonly id: string }
  | { readonly outcome: 'refused'; readonly reason: PlayRefusal };

const refused = (reason: PlayRefusal): Asked => ({ outcome: 'refused', reason });

/** A message is to be played. */
export function ask(work: Work, request: PlayRequest): Asked {
  if (work.closing !== undefined) return refused('shutdown');
  const known = knownUnder(work, request.id);
  if (known !== undefined)
    return isSame(known, request, work) ? { outcome: 'already', id: known.id } : refused('id_conflict');
  const speakers = speakersOf(work, request);
  if (typeof speakers === 'string') return refused(speakers);
  if (hasSoundedOut(work, request)) return refused('too_long');
  const joined = joinable(work, request, speakers);
  if (joined !== undefined) {
    const ids = [...joined.joined, request.id].slice(-joinedCap);
    // It counts to what came last: the end of the first one's longest time must not take the second with it.
    setPlayback(work, { ...joined, joined: ids, ...(request.alarm !== undefined && { alarm: request.alarm }) });
    write(work, joined.id);
    return { outcome: 'joined', id: joined.id };
  }
  return accept(work, request, speakers);
}

function knownUnder(work: Work, id: string): Playback | undefined {
  const known = work.playbacks.get(id);
  if (known !== undefined) return known;
  for (const playback of work.playbacks.values()) if (playback.joined.includes(id)) return playback;
  return undefined;
}

function isSame(playback: Playback, request: PlayRequest, work: Work): boolean {
  const speakers = speakersOf(work, request);
  const isJoined = playback.id !== request.id;
  const its = playback.parts.map(({ speaker }) => speaker);
  const areSame =
    typeof speakers !== 'string' &&
    speakers.every(({ id }) => its.includes(id)) &&
    (isJoined || request.speakers === undefined || speakers.length === its.length);
  return areSame && isAlike(playback, request);
}

function speakersOf({ plan }: Work, request: PlayRequest): readonly SpeakerPlan[] | PlayRefusal {
  const { speakers } = request;
  const meant = speakers === undefined ? plan.speakers : plan.speakers.filter(({ id }) => speakers.includes(id));
  if (speakers?.some((id) => !plan.speakers.some((one) => one.id === id))) return 'unknown_speaker';
  return meant.length === 0 ? 'no_speaker' : meant;
}

/** The same sound for the same alarm. */
function isAlike(playback: Playback, { message, category, alarm, volume, repeat }: PlayRequest): boolean {
  return (
    playback.message.sha256 === message.sha256 &&
    playback.category === (alarm === undefined ? category : 'alarm') &&
    playback.volume === volume &&
    playback.repeat === repeat &&
    playback.alarm?.cause === alarm?.cause &&
    playback.alarm?.id === alarm?.id &&
    partitionOf(playback) === partitionOf({ alarm })
  );
}

const partitionOf = ({ alarm }: { readonly alarm?: PlayRequest['alarm'] | undefined }): string | undefined =>
  alarm?.cause === 'burglary' ? alarm.partition : undefined;

/** One that says the same and still waits on all of these speakers: thirty triggers are not thirty sirens. */
function joinable(work: Work, request: PlayRequest, speakers: readonly SpeakerPlan[]): Playback | undefined {
  if (!isAlarm(request) || request.anew === true) return undefined;
  const waits = (playback: Playback, { id }: SpeakerPlan) =>
    playback.parts.some(({ speaker, status }) => speaker === id && status === 'queued') &&
    placeOf(work, playback.id, id)?.as !== 'sound';
  // One that may soon be given up would take the new trigger with it.
  const isFresh = (playback: Playback) => waitLeftMs(work, playback) * 2 >= waitsMs(playback);
  // What has sounded counts to what it was asked for.
  const isUnheard = ({ id, parts }: Playback) =>
    parts.every((part) => part.startedAt === undefined && placeOf(work, id, part.speaker)?.as !== 'sound');
  const isOfBoth = (playback: Playback) => alarmKey(playback) === alarmKey(request) || isUnheard(playback);
  return [...work.playbacks.values()].find(
    (playback) =>
      isAlike(playback, request) &&
      isOfBoth(playback) &&
      isFresh(playback) &&
      speakers.every((speaker) => waits(playback, speaker)),
  );
}

function accept(work: Work, request: PlayRequest, speakers: readonly SpeakerPlan[]): Asked {
  const { id, message, alarm, volume, repeat, requestedBy } = request;
  const playback: Playback = {
    version: 1,
    ...{ id, message, volume, repeat, requestedBy },
    category: alarm === undefined ? request.category : 'alarm',
    ...(alarm === undefined ? {} : { alarm }),
    createdAt: work.at,
    seq: 0,
    joined: [],
    parts: speakers.map((speaker) => ({ speaker: speaker.id, name: speaker.name, status: 'queued', cuts: 0 })),
  };
  const places = new Map<DeviceId, 'waits' | PlaybackReason | Place>();
  const taken = new Map<string, number>();
  for (const { id: speaker, lane } of speakers) {
    const before = taken.get(lane) ?? 0;
    const place = hindrance(work, playback, speaker) ?? placeIn(work, lane, playback, before);
    places.set(speaker, place);
    if (typeof place !== 'string' || place === 'waits') taken.set(lane, before + 1);
  }
  if ([...places.values()].every((place) => place === 'queue_full')) return refused('queue_full');
  for (const place of places.values())
    if (typeof place !== 'string') endOne(work, place.playback, place.speaker, { status: 'failed', reason: 'evicted' });
  const parts = playback.parts.map((part): Part => {
    const place = places.get(part.speaker);
    if (typeof place !== 'string' || place === 'waits') return part;
    return { ...part, status: 'failed', reason: place, endedAt: work.at };
  });
  setPlayback(work, { ...playback, parts });
  show(work, id);
  if (parts.some(({ status }) => status === 'queued'))
    setTimer(work, { kind: 'expire', of: id }, waitLeftMs(work, playback));
  for (const lane of new Set(speakers.map((speaker) => speaker.lane))) serve(work, lane);
  return { outcome: 'accepted', id };
}

/** That of another one, which gives way. */
interface Place {
  readonly playback: string;
  readonly speaker: DeviceId;
}

/** A place in the queue of a lane: a free one, or that of the newest of those that are lowest, where it is lower. */
function placeIn(work: Work, lane: string, asked: Playback, before: number): 'waits' | 'queue_full' | Place {
  const all = [...work.playbacks.values()].flatMap((playback) =>
    playback.parts
      .filter(({ status, speaker }) => status === 'queued' && speakerPlan(work, speaker)?.lane === lane)
      .filter(({ speaker }) => placeOf(work, playback.id, speaker)?.as !== 'sound')
      .map(({ speaker }) => ({ playback, speaker })),
  );
  if (all.length + before < work.plan.limits.queue) return 'waits';
  const lower = all.filter(({ playback }) => rankOf(playback) < rankOf(asked));
  const order = lower.reverse().sort((one, other) => rankOf(one.playback) - rankOf(other.playback));
  const victim = order[before - Math.max(0, work.plan.limits.queue - all.length)];
  return victim === undefined ? 'queue_full' : { playback: victim.playback.id, speaker: victim.speaker };
}

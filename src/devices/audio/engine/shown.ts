import { hasEnded, isoTime, type PlaybackShown, type PlaybackState, type SpeakerPlayback } from '#site/model/index.ts';
import type { EngineState, Part, Playback } from './types.ts';

export const isOver = ({ parts }: Pick<Playback, 'parts'>): boolean => parts.every(hasEnded);

/** Of all speakers together: `playing` from the first sample on until all have ended, `completed` only where all have. */
function statusOf({ parts }: Pick<Playback, 'parts'>): PlaybackState {
  const has = (status: PlaybackState) => parts.some((part) => part.status === status);
  if (!isOver({ parts })) return parts.some(({ startedAt }) => startedAt !== undefined) ? 'playing' : 'queued';
  if (has('failed')) return 'failed';
  return has('cancelled') ? 'cancelled' : 'completed';
}

export function shown(playback: Playback): PlaybackShown {
  const { parts, message } = playback;
  const count = (status: PlaybackState) => parts.filter((part) => part.status === status).length;
  const starts = parts.flatMap(({ startedAt }) => (startedAt === undefined ? [] : [startedAt.wall]));
  return {
    playback_id: playback.id,
    audio_message_id: message.id,
    status: statusOf(playback),
    started_at: isoTime(starts.length === 0 ? playback.createdAt.wall : Math.min(...starts)),
    volume: playback.volume,
    repeat: playback.repeat,
    devices: parts.map(shownPart),
    name: message.name,
    category: playback.category,
    requested_by: playback.requestedBy,
    created_at: isoTime(playback.createdAt.wall),
    seq: playback.seq,
    summary: {
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      total: parts.length,
    },
  };
}

function shownPart({ speaker, name, status, reason, startedAt, endedAt, playedMs, delivered }: Part): SpeakerPlayback {
  return {
    device_id: speaker,
    name,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(startedAt === undefined ? {} : { started_at: isoTime(startedAt.wall) }),
    ...(endedAt === undefined ? {} : { ended_at: isoTime(endedAt.wall) }),
    ...(playedMs === undefined ? {} : { played_ms: playedMs }),
    ...(delivered === undefined ? {} : { delivered }),
  };
}

/** The newest last. */
export const playbacksShown = ({ playbacks }: EngineState): readonly PlaybackShown[] =>
  [...playbacks.values()].map(shown);

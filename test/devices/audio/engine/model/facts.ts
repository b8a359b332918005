import type { AudioCategory, PlaybackShown, PlaybackState } from '#site/model/index.ts';
import type { EngineState, Part, Playback } from '../../../../../src/devices/audio/engine/index.ts';
import type { Happening } from './world.ts';

/** The rules once more, apart from the engine, for those who watch it. */

const ranks: Readonly<Record<AudioCategory, number>> = {
  alarm: 3,
  announcement: 2.8,
  custom: 2.6,
  reminder: 2.4,
  greeting: 2.2,
  test: 2,
};

export function rank({ category, alarm }: Pick<Playback, 'category' | 'alarm'>): number {
  if (alarm?.cause === 'fire') return 5;
  if (alarm?.cause === 'life_safety') return 4;
  return alarm === undefined ? ranks[category] : 3.5;
}

export const isLifeSafety = (ranked: number): boolean => ranked >= 4;

/** A cancel for quiet, by somebody who may not end alarms. */
export const spares = (input: Happening): boolean =>
  input.kind === 'cancel' && !input.alarms && (typeof input.target !== 'object' || !('playback' in input.target));

export const waitMs = ({ category }: Pick<Playback, 'category'>): number =>
  ({ alarm: 300_000, greeting: 15_000 })[category as string] ?? 60_000;

export const isEnd = (status: PlaybackState): boolean => !['queued', 'playing'].includes(status);

export const keyOf = (playback: Playback): string | undefined => {
  if (rank(playback) < 3) return undefined;
  const { id, alarm } = playback;
  if (alarm === undefined) return id;
  return [alarm.cause, alarm.id, ...(alarm.cause === 'burglary' ? [] : [alarm.of])].join('/');
};

/** Parts that have not ended. */
export function* open(state: EngineState): Generator<{ readonly playback: Playback; readonly part: Part }> {
  for (const playback of state.playbacks.values())
    for (const part of playback.parts) if (!isEnd(part.status)) yield { playback, part };
}

/** What is wrong with a playback as it is shown. */
export function misshown({ status, devices, summary }: PlaybackShown): string | undefined {
  const count = (state: PlaybackState) => devices.filter((one) => one.status === state).length;
  const ended = devices.every((one) => isEnd(one.status));
  if (isEnd(status) !== ended) return `${status} though ${ended ? 'all have' : 'not all have'} ended`;
  if (status === 'completed' && count('completed') !== devices.length) return 'completed though not all are';
  if (status === 'failed' && count('failed') === 0) return 'failed though none has';
  if (status === 'queued' && count('playing') > 0) return 'queued though one plays';
  if (status === 'playing' && !devices.some((one) => one.started_at !== undefined)) return 'playing though none began';
  const { completed, failed, cancelled, total } = summary;
  const isCounted = completed === count('completed') && failed === count('failed') && cancelled === count('cancelled');
  return isCounted && total === devices.length ? undefined : 'counted wrongly';
}

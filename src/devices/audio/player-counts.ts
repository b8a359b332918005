import type { Clock } from '#lib/clock.ts';
import type { DeviceId } from '#site/model/index.ts';
import type { EngineInput, EngineState } from './engine/index.ts';
import type { AudioMetrics } from './metrics.ts';
import type { Speaker } from './speakers.ts';

/** Counts what the steps of the engine did, and how long sounds took to begin and to stop. */
export interface Counts {
  /** This run is prepared in the very step of its request: nothing is in its way. */
  direct(run: number): void;
  /** This run is told to stop. */
  stopping(run: number): void;
  /** This run is over; `killed`: it did not stop in its time. */
  forget(run: number, killed?: boolean): void;
  /** What has begun and ended with this step; before its effects. */
  count(before: EngineState, state: EngineState, input: EngineInput): void;
}

export function createCounts(options: {
  readonly speaker: (id: DeviceId) => Speaker | undefined;
  readonly clock: Clock;
  readonly metrics: AudioMetrics;
}): Counts {
  const { speaker, clock, metrics } = options;
  /** Runs that were prepared in the very step of their request. */
  const direct = new Set<number>();
  /** When runs were told to stop. */
  const stops = new Map<number, number>();
  /** The speakers of the runs before and after this step. */
  const speakers = new Map<number, DeviceId>();

  const driverOf = (run: number) => speaker(speakers.get(run) ?? '')?.options.driver;

  function forget(run: number, killed = false): void {
    direct.delete(run);
    const since = stops.get(run);
    stops.delete(run);
    const driver = driverOf(run);
    if (driver === undefined) return;
    if (killed) metrics.killed(driver);
    else if (since !== undefined) metrics.stopped(driver, clock.monotonic() - since);
  }

  function countBegin(state: EngineState, { run, at }: Extract<EngineInput, { kind: 'first_sample' }>): void {
    if (!direct.delete(run)) return;
    const sound = [...state.lanes.values()].find((lane) => lane.sound?.run === run)?.sound;
    const playback = state.playbacks.get(sound?.playback ?? '');
    const driver = driverOf(run);
    if (playback !== undefined && driver !== undefined) metrics.began(driver, at.mono - playback.createdAt.mono);
  }

  return {
    direct(run) {
      direct.add(run);
    },
    stopping(run) {
      if (!stops.has(run)) stops.set(run, clock.monotonic());
    },
    forget,
    count(before: EngineState, state: EngineState, input: EngineInput): void {
      speakers.clear();
      for (const lanes of [before.lanes, state.lanes])
        for (const { sound, next } of lanes.values())
          for (const run of [sound, next]) if (run !== undefined) speakers.set(run.run, run.speaker);
      if (input.kind === 'first_sample') countBegin(state, input);
      if (input.kind === 'silent' || input.kind === 'ended' || input.kind === 'failed') forget(input.run);
      for (const playback of state.playbacks.values()) {
        const was = before.playbacks.get(playback.id);
        if (was === playback) continue;
        for (const part of playback.parts) {
          const old = was?.parts.find((one) => one.speaker === part.speaker);
          if (part.cuts > (old?.cuts ?? part.cuts)) metrics.preempted();
          if (part.endedAt !== input.at) continue;
          const { status, reason = '' } = part;
          const driver = speaker(part.speaker)?.options.driver;
          if (driver !== undefined) metrics.ended({ driver, category: playback.category, status, reason });
          if (reason === 'preempted') metrics.preempted();
        }
      }
    },
  };
}

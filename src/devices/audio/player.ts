import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { ClockQuality, DeviceId, PartitionId, PlaybackShown } from '#site/model/index.ts';
import {
  type CancelTarget,
  type EngineEffect,
  type EngineInput,
  type EnginePlan,
  type EngineState,
  emptyEngine,
  type PlayAnswer,
  type Playback,
  type PlayRequest,
  playbacksShown,
  step,
  timerId,
} from './engine/index.ts';
import type { Journal } from './journal.ts';
import type { AudioMetrics } from './metrics.ts';
import { createCounts } from './player-counts.ts';
import { createShown } from './player-shown.ts';
import type { Runs } from './runs.ts';
import type { Speaker } from './speakers.ts';

type Input<T = EngineInput> = T extends unknown ? Omit<T, 'at'> : never;

/** Runs the engine: gives it inputs one after the other, and carries out its effects in their order. */
export interface Player {
  recover(rows: readonly Playback[]): void;
  play(request: PlayRequest): PlayAnswer;
  /** The ids of what it meant. */
  cancel(target: CancelTarget, alarms: boolean): readonly string[];
  /** At the decision, before any disk: a burglary is silent within 300 ms (safety 9). */
  hush(partition: PartitionId): void;
  give(input: Input): void;
  /** Another plan; the speakers are made for it already. */
  replan(plan: EnginePlan): void;
  /** What is on disk by now shows. */
  written(upTo: number): void;
  playbacks(): readonly PlaybackShown[];
  /** Whether something is prepared or sounds there. */
  isBusy(lane: string): boolean;
  /** Whether the message of this key waits or is being played. */
  needs(key: string): boolean;
  queued(): number;
  /** Takes no request any more; resolves when nothing sounds. */
  close(): Promise<void>;
  /** Whatever still runs is left alone. */
  end(): void;
}

/** What effects need to know of their step: whether it is that of a request, and its last write. */
interface Step {
  readonly asked: boolean;
  readonly write: number;
}

export function createPlayer(options: {
  readonly plan: EnginePlan;
  readonly runs: Runs;
  readonly journal: () => Journal;
  readonly speaker: (id: DeviceId) => Speaker | undefined;
  /** In the order of `seq`; after its row is on disk, or some time without a disk. */
  readonly onChanged: (playback: PlaybackShown) => void;
  readonly onHealth: (speaker: DeviceId, healthy: boolean) => void;
  readonly clock: Clock;
  readonly quality: () => ClockQuality;
  readonly metrics: AudioMetrics;
  readonly log: Logger;
}): Player {
  const { runs, journal, speaker, onChanged, onHealth, clock, metrics, log } = options;
  let plan = options.plan;
  let state: EngineState = emptyEngine;
  const timers = createTimers();
  const shown = createShown(onChanged);
  const counts = createCounts({ speaker, clock, metrics });
  /** Inputs that came while one was taken; what carries out an effect may answer at once. */
  const inputs: (() => void)[] = [];
  let busy = false;
  let idle: (() => void) | undefined;
  let ended = false;

  const stamp = () => ({
    ...{ mono: clock.monotonic(), wall: clock.wall() },
    ...{ boot: clock.bootId, clock: options.quality() },
  });

  /** One step. Its answer is there when it returns, unless it came out of an effect of another one. */
  function take(input: Input): { answer?: PlayAnswer; cancelled?: readonly string[] } {
    const before = state;
    const full = { ...input, at: stamp() } as EngineInput;
    const done = step(plan, state, full);
    state = done.state;
    counts.count(before, state, full);
    const writes = done.effects.flatMap((effect) => (effect.kind === 'journal' ? [effect.write] : []));
    const of = { asked: input.kind === 'play', write: Math.max(0, ...writes) };
    for (const effect of done.effects) carryOut(effect.kind, effect, of);
    return done;
  }

  function inTurn<T>(work: () => T): T | undefined {
    if (busy) {
      inputs.push(() => void work());
      return undefined;
    }
    busy = true;
    try {
      return work();
    } finally {
      busy = false;
      const next = inputs.shift();
      if (next !== undefined) inTurn(next);
    }
  }

  /** What is wrong with a message must not end the daemon that guards the site: it is logged, and the state stays as it was. */
  function give(input: Input): void {
    if (ended) return;
    try {
      inTurn(() => take(input));
    } catch (error) {
      log.error({ err: error, input: input.kind }, 'the player failed; please report this');
    }
  }

  type Does<K extends EngineEffect['kind']> = (effect: Extract<EngineEffect, { kind: K }>, step: Step) => void;
  const does: { readonly [K in EngineEffect['kind']]: Does<K> } = {
    prepare(effect, { asked }) {
      if (asked) counts.direct(effect.run);
      runs.prepare(effect);
    },
    start(effect) {
      if (!effect.durable) metrics.undurable();
      runs.start(effect);
    },
    stop({ run }) {
      counts.stopping(run);
      runs.stop(run);
    },
    kill({ run }) {
      log.warn({ run }, 'a sound did not stop in its time and was given up');
      counts.forget(run, true);
      runs.kill(run);
    },
    drop({ run }) {
      counts.forget(run);
      runs.drop(run);
    },
    'timer.set'({ timer, afterMs }) {
      timers.set(timerId(timer), afterMs, () => give({ kind: 'timer', timer }));
    },
    'timer.clear'({ timer }) {
      timers.clear(timerId(timer));
    },
    journal: ({ write, row }) => journal().put(write, row),
    forget({ playback }) {
      shown.forget(playback);
      journal().forget(playback);
    },
    changed: ({ playback }, { write }) => shown.show(playback, write),
    health: ({ speaker, healthy }) => onHealth(speaker, healthy),
    release: ({ speaker }) => runs.release(speaker),
    idle: () => idle?.(),
  };

  function carryOut<K extends EngineEffect['kind']>(
    kind: K,
    effect: Extract<EngineEffect, { kind: K }>,
    of: Step,
  ): void {
    does[kind](effect, of);
  }

  /** Never within another step: whoever asks is no effect. */
  function ask<T>(input: Input, pick: (done: ReturnType<typeof take>) => T): T {
    const done = inTurn(() => take(input));
    if (done === undefined) throw new TypeError('the player was asked out of an effect of its own');
    return pick(done);
  }

  return {
    give,
    recover: (rows) => give({ kind: 'recover', rows }),
    play(request) {
      const answer: PlayAnswer = ended
        ? { outcome: 'refused', reason: 'shutdown' }
        : (ask({ kind: 'play', request }, (done) => done.answer) ?? { outcome: 'refused', reason: 'shutdown' });
      if (answer.outcome === 'refused') metrics.refused(answer.reason);
      return answer;
    },
    cancel: (target, alarms) =>
      ended ? [] : ask({ kind: 'cancel', target, alarms }, ({ cancelled }) => cancelled ?? []),
    hush: (partition) => give({ kind: 'hush', partition }),
    replan(next) {
      plan = next;
      give({ kind: 'replanned' });
    },
    written(upTo) {
      give({ kind: 'journalled', write: upTo });
      shown.upTo(upTo);
    },
    playbacks: () => playbacksShown(state),
    isBusy: (lane) => state.lanes.has(lane),
    needs: (key) =>
      [...state.playbacks.values()].some(({ message, parts }) => message.key === key && parts.some(isOpen)),
    queued: () =>
      [...state.playbacks.values()].reduce(
        (sum, { parts }) => sum + parts.filter(({ status }) => status === 'queued').length,
        0,
      ),
    close() {
      if (ended || state.closing === 'idle') return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      idle = resolve;
      give({ kind: 'shutdown' });
      return promise;
    },
    end() {
      ended = true;
      shown.end();
      timers.clearAll();
    },
  };
}

const isOpen = ({ status }: Playback['parts'][number]): boolean => status === 'queued' || status === 'playing';

function createTimers() {
  const timers = new Map<string, NodeJS.Timeout>();

  function clear(id: string): void {
    clearTimeout(timers.get(id));
    timers.delete(id);
  }

  return {
    set(id: string, afterMs: number, fire: () => void): void {
      clear(id);
      const timer = setTimeout(() => {
        timers.delete(id);
        fire();
      }, afterMs);
      timers.set(id, timer);
    },
    clear,
    clearAll(): void {
      for (const id of [...timers.keys()]) clear(id);
    },
  };
}

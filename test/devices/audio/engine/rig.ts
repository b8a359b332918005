import type { PlaybackShown, SpeakerPlayback, Stamp } from '#site/model/index.ts';
import {
  type EngineEffect,
  type EngineInput,
  type EngineLimits,
  type EnginePlan,
  type EngineState,
  emptyEngine,
  engineLimits,
  type PlayAnswer,
  type Playback,
  type PlayRequest,
  playbacksShown,
  type SpeakerPlan,
  step,
  timerId,
} from '../../../../src/devices/audio/engine/index.ts';

type Kind = EngineEffect['kind'];
type Of<K extends Kind> = Extract<EngineEffect, { kind: K }>;
type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;

export const speaker = (id: string, more: Partial<SpeakerPlan> = {}): SpeakerPlan => ({
  id,
  name: `Speaker ${id}`,
  lane: id,
  startMs: 3_000,
  stopMs: 300,
  ...more,
});

export const planOf = (speakers: readonly SpeakerPlan[], limits: Partial<EngineLimits> = {}): EnginePlan => ({
  timezone: 'Europe/Berlin',
  speakers,
  limits: { ...engineLimits, ...limits },
});

export const request = (id: string, more: Partial<PlayRequest> = {}): PlayRequest => ({
  id,
  message: { id: `m-${id}`, key: id, name: `Message ${id}`, sha256: id },
  category: 'announcement',
  volume: 70,
  repeat: 1,
  requestedBy: 'client:desk',
  ...more,
});

export const burglary = { cause: 'burglary', id: 'i1', partition: 'p1' } as const;
export const fire = { cause: 'fire', id: 'i2' } as const;
export const medical = { cause: 'life_safety', id: 'i3' } as const;

/** The engine by hand: each input at the moment the test says, all effects kept, the journal prompt unless told otherwise. */
export class Rig {
  plan: EnginePlan;
  state: EngineState = emptyEngine;
  now: Stamp = { mono: 1_000_000, wall: Date.UTC(2026, 5, 3, 10), boot: 'b1', clock: 'synced' };
  /** Of the last input. */
  effects: readonly EngineEffect[] = [];
  readonly log: EngineEffect[] = [];
  prompt = true;

  constructor(plan: EnginePlan = planOf([speaker('gate')])) {
    this.plan = plan;
  }

  input(input: WithoutTime<EngineInput>): readonly EngineEffect[] {
    return this.#take(input).effects;
  }

  play(asked: PlayRequest): PlayAnswer {
    const { answer } = this.#take({ kind: 'play', request: asked });
    if (answer === undefined) throw new TypeError('a request to play has an answer');
    return answer;
  }

  cancel(target: Extract<EngineInput, { kind: 'cancel' }>['target'], alarms = false): readonly string[] {
    return this.#take({ kind: 'cancel', target, alarms }).cancelled ?? [];
  }

  #take(input: WithoutTime<EngineInput>) {
    const done = step(this.plan, this.state, { ...input, at: this.now });
    this.state = done.state;
    this.effects = done.effects;
    this.log.push(...done.effects);
    if (!this.prompt || !done.effects.some(({ kind }) => kind === 'journal')) return done;
    const after = step(this.plan, this.state, { kind: 'journalled', write: this.state.writes, at: this.now });
    this.state = after.state;
    this.effects = [...done.effects, ...after.effects];
    this.log.push(...after.effects);
    return { ...done, effects: this.effects };
  }

  /** Time passes, and timers fire. */
  wait(ms: number): void {
    const until = this.now.mono + ms;
    for (;;) {
      const [first] = [...this.state.timers].sort(([, one], [, other]) => one - other);
      if (first === undefined || first[1] > until) break;
      this.#pass(first[1] - this.now.mono);
      const timer = this.log.findLast(
        (effect): effect is Of<'timer.set'> => effect.kind === 'timer.set' && timerId(effect.timer) === first[0],
      )?.timer;
      if (timer === undefined) throw new TypeError(`timer ${first[0]} runs and was never set`);
      this.input({ kind: 'timer', timer });
    }
    this.#pass(until - this.now.mono);
  }

  #pass(ms: number): void {
    this.now = { ...this.now, mono: this.now.mono + ms, wall: this.now.wall + ms };
  }

  all<K extends Kind>(kind: K): readonly Of<K>[] {
    return this.log.filter((effect): effect is Of<K> => effect.kind === kind);
  }

  last<K extends Kind>(kind: K): Of<K> {
    const found = this.all(kind).at(-1);
    if (found === undefined) throw new TypeError(`no effect ${kind}`);
    return found;
  }

  runOf(playback: string, on = 'gate'): number {
    for (const { sound, next } of this.state.lanes.values())
      for (const one of [sound, next]) if (one?.playback === playback && one.speaker === on) return one.run;
    throw new TypeError(`${playback} is not taken up on ${on}`);
  }

  prepared(playback: string, lengthMs = 2_000, on = 'gate'): void {
    this.input({ kind: 'prepared', run: this.runOf(playback, on), lengthMs });
  }

  /** Made ready and on the air. */
  sounds(playback: string, lengthMs = 2_000, on = 'gate'): number {
    const run = this.runOf(playback, on);
    this.input({ kind: 'prepared', run, lengthMs });
    this.input({ kind: 'first_sample', run });
    return run;
  }

  /** Asked for, made ready and on the air. */
  plays(asked: PlayRequest, lengthMs = 2_000): number {
    this.play(asked);
    return this.sounds(asked.id, lengthMs);
  }

  ends(run: number, playedMs = 2_000): void {
    this.input({ kind: 'ended', run, playedMs, delivered: 'sent' });
  }

  silent(run: number, playedMs = 0): void {
    this.input({ kind: 'silent', run, playedMs });
  }

  shown(id: string): PlaybackShown {
    const found = playbacksShown(this.state).find((one) => one.playback_id === id);
    if (found === undefined) throw new TypeError(`no playback ${id}`);
    return found;
  }

  part(id: string, on = 'gate'): SpeakerPlayback {
    const found = this.shown(id).devices.find((one) => one.device_id === on);
    if (found === undefined) throw new TypeError(`no speaker ${on} in ${id}`);
    return found;
  }

  /** `status` or `status reason`. */
  status(id: string, on = 'gate'): string {
    const { status, reason } = this.part(id, on);
    return reason === undefined ? status : `${status} ${reason}`;
  }

  /** The rows as they stand in the journal. */
  rows(): readonly Playback[] {
    const rows = new Map<string, Playback>();
    for (const effect of this.log) {
      if (effect.kind === 'journal') rows.set(effect.row.id, JSON.parse(JSON.stringify(effect.row)) as Playback);
      if (effect.kind === 'forget') rows.delete(effect.playback);
    }
    return [...rows.values()];
  }

  /** Another life begins with the rows of this one. */
  restart(ms = 2_000, more: Partial<Stamp> = {}): Rig {
    const next = new Rig(this.plan);
    next.now = { ...this.now, mono: this.now.mono + ms, wall: this.now.wall + ms, ...more };
    next.input({ kind: 'recover', rows: this.rows() });
    return next;
  }
}

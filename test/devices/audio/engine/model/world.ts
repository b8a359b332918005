import type { Stamp } from '#site/model/index.ts';
import {
  type EngineEffect,
  type EngineInput,
  type EnginePlan,
  type EngineState,
  type EngineStep,
  emptyEngine,
  engineLimits,
  type Playback,
  type SpeakerPlan,
  step,
  timerId,
} from '../../../../../src/devices/audio/engine/index.ts';
import type { Random } from '../../../../proof/random.ts';
import { speaker } from '../rig.ts';
import { Devices } from './devices.ts';
import { Disk } from './disk.ts';
import { TimeLine } from './line.ts';

/** The engine, or one with a planted defect. */
export interface Core {
  step(plan: EnginePlan, state: EngineState, input: EngineInput): EngineStep;
  /** Rows on their way from the disk. */
  recovered(rows: readonly Playback[]): readonly Playback[];
  plan(plan: EnginePlan): EnginePlan;
}

export const core: Core = { step, recovered: (rows) => rows, plan: (plan) => plan };

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;
export type Happening = WithoutTime<EngineInput>;

/** Sees each step the engine makes. */
export interface Witness {
  /** One effect is about to be carried out; the state is that after the step. */
  effect(effect: EngineEffect, during: Happening): void;
  stepped(input: Happening, done: EngineStep): void;
  died(): void;
  came(rebooted: boolean): void;
}

const speakers: readonly SpeakerPlan[] = [
  speaker('gate'),
  speaker('hall', { lane: 'card' }),
  speaker('yard', { lane: 'card' }),
  speaker('cam', { startMs: 8_000, stopMs: 1_000 }),
];

/** Limits as they are, but for what would never be reached within one run. */
const limits = { ...engineLimits, kept: 40, longestAlarmMs: 20_000, longestLifeSafetyMs: 40_000, restMs: 8_000 };

/** One site: its engine, its speakers, its disk and its clocks. */
export class World {
  readonly line = new TimeLine();
  readonly devices: Devices;
  readonly disk: Disk;
  readonly core: Core;
  plan: EnginePlan;
  readonly #speakers: readonly SpeakerPlan[];
  state: EngineState = emptyEngine;
  isUp = true;
  witness: Witness | undefined;
  #timers = new Map<string, () => void>();
  #wallAhead = Date.UTC(2026, 5, 1);
  #monoAhead = 10_000;
  #boot = 1;

  constructor(random: Random, under: Core) {
    this.core = under;
    const quiet = [{ days: [0, 1, 2, 3, 4, 5, 6], from: 60, to: 180 }];
    const isQuiet = random.chance(0.3);
    this.#speakers = isQuiet ? speakers.map((one) => (one.id === 'hall' ? { ...one, quiet } : one)) : speakers;
    this.plan = { timezone: 'UTC', speakers: this.#speakers, limits };
    this.devices = new Devices(this.line, random);
    this.disk = new Disk(this.line, random);
    this.devices.onReport = (report) => this.input(report);
    this.disk.onWrite = (write) => this.input({ kind: 'journalled', write });
  }

  get at(): Stamp {
    const { now } = this.line;
    return { mono: now + this.#monoAhead, wall: now + this.#wallAhead, boot: `b${this.#boot}`, clock: 'synced' };
  }

  input(input: Happening): EngineStep | undefined {
    if (!this.isUp) return undefined;
    const done = this.core.step(this.core.plan(this.plan), this.state, { ...input, at: this.at } as EngineInput);
    this.state = done.state;
    for (const effect of done.effects) {
      this.witness?.effect(effect, input);
      this.#carryOut(effect);
    }
    this.witness?.stepped(input, done);
    return done;
  }

  #carryOut(effect: EngineEffect): void {
    switch (effect.kind) {
      case 'prepare':
        this.devices.prepare(effect);
        break;
      case 'drop':
      case 'start':
      case 'kill':
        this.devices[effect.kind](effect.run);
        break;
      case 'stop':
        this.devices.stop(effect.run, effect.withinMs);
        break;
      case 'timer.set': {
        const id = timerId(effect.timer);
        this.#timers.get(id)?.();
        this.#timers.set(
          id,
          this.line.after(effect.afterMs, () => this.input({ kind: 'timer', timer: effect.timer })),
        );
        break;
      }
      case 'timer.clear':
        this.#timers.get(timerId(effect.timer))?.();
        this.#timers.delete(timerId(effect.timer));
        break;
      case 'journal':
      case 'forget':
      case 'changed':
        this.disk.take(effect);
        break;
    }
  }

  jump(byMs: number): void {
    this.#wallAhead += byMs;
    this.input({ kind: 'clock_jumped', byMs });
  }

  /** Another set of speakers; the first one is always there. */
  replan(random: Random): void {
    const kept = this.#speakers.filter(({ id }) => id === 'gate' || random.chance(0.7));
    const moved = kept.map((one) => (one.id === 'yard' && random.chance(0.3) ? { ...one, lane: 'yard' } : one));
    this.plan = { ...this.plan, speakers: moved };
    this.input({ kind: 'replanned' });
  }

  /** Everything in memory is lost, and all sound ends. */
  die(): void {
    this.isUp = false;
    this.witness?.died();
    this.devices.crash();
    this.disk.crash();
    this.#timers = new Map();
    this.line.clear();
    this.state = emptyEngine;
  }

  come(reboot: { readonly wallBy: number } | undefined): void {
    if (reboot !== undefined) {
      this.#boot += 1;
      this.#monoAhead = 1_000 - this.line.now;
      this.#wallAhead += reboot.wallBy;
    }
    this.isUp = true;
    this.witness?.came(reboot !== undefined);
    this.input({ kind: 'recover', rows: this.core.recovered([...this.disk.rows.values()]) });
  }
}

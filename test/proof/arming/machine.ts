import { planInForce } from '#site/core/authority.ts';
import {
  adoptPlan,
  type Decide,
  decide,
  type Effect,
  type Input,
  initialState,
  readState,
  type SiteState,
  writeState,
} from '#site/core/index.ts';
import type { ClockQuality, Command, Signal, SitePlan, Stamp } from '#site/model/index.ts';
import { deviceTruth } from './devices.ts';
import { edits } from './sites.ts';
import type { Crash, SentCommand, Step } from './steps.ts';

/** What is proven; a planted defect replaces a part of it. */
export interface Core {
  readonly decide: Decide;
  readonly initialState: typeof initialState;
  readonly adoptPlan: typeof adoptPlan;
  /** The state that the next life finds, of the one that the last commit held. */
  readonly stored: (state: SiteState) => SiteState | undefined;
}

export const core: Core = {
  decide,
  initialState,
  adoptPlan,
  stored: (state) => readState(writeState(state)),
};

export interface Decided {
  readonly what: 'decided';
  /** As it was in force. */
  readonly plan: SitePlan;
  readonly epoch: number;
  readonly input: Input;
  readonly before: SiteState;
  readonly after: SiteState;
  readonly effects: readonly Effect[];
  readonly rules: readonly string[];
  /** Said again by somebody who had no answer. */
  readonly again: boolean;
  /** It never came to disk, and nobody was shown or told anything of it. */
  readonly lost: boolean;
}

/** A state that came about without an input: at a start, or under another plan. */
export interface Adopted {
  readonly what: 'adopted';
  readonly why: 'begin' | 'restart' | 'lost' | 'plan';
  readonly plan: SitePlan;
  readonly epoch: number;
  readonly at: Stamp;
  /** Undefined where nothing was left. */
  readonly before: SiteState | undefined;
  readonly after: SiteState;
}

export type Entry = Decided | Adopted;
export type History = readonly Entry[];

/** An hour before the clocks of Berlin go forward. */
const firstWall = Date.UTC(2026, 2, 29, 0, 0);
/** The daemon looks at the clock more often. */
const tickEveryMs = 60_000;
/** A decision is shown and answered at the latest so long after it was made, on disk or not. */
const publishAfterMs = 2000;
/** More than any story makes. A timer that sets itself for a moment that is over would fill the memory. */
const mostEntries = 20_000;

/** Plays a story as the controller would, on a disk that can lose what was not synced. */
export function play(plan: SitePlan, steps: readonly Step[], under: Core = core): History {
  const machine = new Machine(plan, under);
  for (const step of steps) machine.step(step);
  return machine.history;
}

/** Not what a lock or another command under the same id kept out: that is judged anew when it comes again. */
const isKept = ({ again, after }: Decided, { id, bodyHash }: Command): boolean =>
  !again && after.commands.find((one) => one.id === id)?.bodyHash === bodyHash;

const isReplay = (signal: Signal): boolean => 'replay' in signal && signal.replay;

/** One machine with its clocks, its disk and the process that decides. */
export class Machine {
  readonly history: Entry[] = [];
  readonly #core: Core;
  readonly #first: SitePlan;
  readonly #devices = deviceTruth();
  /** When each timer is fired, monotonic. */
  readonly #wheel = new Map<string, number>();
  #plan: SitePlan;
  #state: SiteState;
  #ms = 0;
  #bootedAt = 0;
  #tickAt = 0;
  #boots = 1;
  #epoch = 1;
  #wallErrorMs = 0;
  #clock: ClockQuality = 'synced';

  constructor(plan: SitePlan, under: Core = core) {
    this.#core = under;
    this.#first = plan;
    this.#plan = plan;
    this.#state = under.initialState(plan, this.#at(), { storeLost: false });
    this.#adopted('begin', undefined);
  }

  get state(): SiteState {
    return this.#state;
  }

  get plan(): SitePlan {
    return planInForce(this.#plan, this.#state);
  }

  step(step: Step): void {
    switch (step.do) {
      case 'signal':
        this.#signal(step.signal);
        break;
      case 'command':
        this.#command(step.command, this.#at().wall - step.ageMs);
        break;
      case 'older':
        this.#older(step.command);
        break;
      case 'again':
        this.#again(this.#given().at(-1 - step.nth));
        break;
      case 'repeat':
        this.#again(this.#given(isKept).at(-1 - step.nth));
        break;
      case 'news':
        this.#apply({ ...step.news, at: this.#at() });
        break;
      case 'tick':
        this.#apply({ kind: 'tick', at: this.#at() });
        break;
      case 'pass':
        this.#pass(step.ms);
        break;
      case 'stray':
        this.#apply({ kind: 'timer.fired', timer: step.timer, at: this.#at() });
        break;
      case 'clock':
        this.#setClock(step);
        break;
      case 'plan':
        this.#reconfigure(edits[step.edit]?.(this.#first) ?? this.#first);
        break;
      case 'crash':
        this.#crash(step);
        break;
    }
  }

  #at(): Stamp {
    return {
      mono: 5_000 + this.#ms - this.#bootedAt,
      wall: Math.max(0, firstWall + this.#ms + this.#wallErrorMs),
      boot: `boot-${this.#boots}`,
      clock: this.#clock,
    };
  }

  #apply(input: Input, again = false): void {
    const [before, plan, epoch] = [this.#state, this.#plan, this.#epoch];
    if (this.history.length >= mostEntries) throw new Error('the core never comes to rest');
    const { state, effects, rules } = this.#core.decide(plan, before, input);
    this.#state = state;
    for (const effect of effects) {
      if (effect.kind === 'timer.set') this.#wind(effect.timer);
      if (effect.kind === 'timer.clear') this.#wheel.delete(effect.timer);
    }
    this.history.push({
      what: 'decided',
      ...{ plan: planInForce(plan, before), epoch, input, before, after: state, effects, rules, again, lost: false },
    });
  }

  /** As the controller's timers: on the monotonic clock, and by the wall clock for what an earlier boot began. */
  #wind({ id, due }: SiteState['timers'][string]): void {
    const { mono, wall, boot } = this.#at();
    this.#wheel.set(id, due.boot === boot ? due.mono : mono + Math.max(0, due.wall - wall));
  }

  #pass(ms: number): void {
    const end = this.#ms + ms;
    for (;;) {
      const { mono } = this.#at();
      const next = [...this.#wheel].sort((a, b) => a[1] - b[1])[0];
      const timerMs = next === undefined ? Number.POSITIVE_INFINITY : this.#ms + Math.max(0, next[1] - mono);
      if (Math.min(timerMs, this.#tickAt) > end) break;
      this.#ms = Math.max(this.#ms, Math.min(timerMs, this.#tickAt));
      if (next === undefined || this.#tickAt < timerMs) {
        this.#tickAt = this.#ms + tickEveryMs;
        this.#apply({ kind: 'tick', at: this.#at() });
      } else {
        this.#wheel.delete(next[0]);
        this.#apply({ kind: 'timer.fired', timer: next[0], at: this.#at() });
      }
    }
    this.#ms = end;
  }

  #signal(signal: Signal): void {
    this.#devices.note(signal);
    this.#apply({ kind: 'signal', signal, at: this.#at() });
  }

  #command(command: SentCommand, issuedAt: number): void {
    this.#apply({ kind: 'command', command: { ...command, issuedAt }, at: this.#at() });
  }

  #given(is: (entry: Decided, command: Command) => boolean = () => true): readonly Command[] {
    return this.history.flatMap((entry) =>
      entry.what === 'decided' && entry.input.kind === 'command' && is(entry, entry.input.command)
        ? [entry.input.command]
        : [],
    );
  }

  #again(command: Command | undefined): void {
    if (command !== undefined) this.#apply({ kind: 'command', command, at: this.#at() }, true);
  }

  #older(command: SentCommand): void {
    const targets = Object.keys(this.#state.partitions).filter(
      (id) => command.partition === 'all' || command.partition === id,
    );
    const { mono, wall, boot } = this.#at();
    const ages = targets.map((id) => {
      const local = this.#state.periods[id]?.local;
      return local?.boot === boot ? mono - local.mono : undefined;
    });
    if (ages.length === 0 || ages.includes(undefined)) return;
    this.#command(command, wall - Math.max(...ages.map(Number)) - 2001);
  }

  #setClock({ byMs = 0, to, clock }: Extract<Step, { do: 'clock' }>): void {
    this.#wallErrorMs = to === undefined ? this.#wallErrorMs + byMs : to - firstWall - this.#ms;
    this.#clock = clock;
  }

  #reconfigure(plan: SitePlan): void {
    const before = this.#state;
    this.#plan = plan;
    this.#state = this.#core.adoptPlan(plan, before, this.#at());
    this.#adopted('plan', before);
    this.#apply({ kind: 'replanned', at: this.#at() });
  }

  #adopted(why: Adopted['why'], before: SiteState | undefined): void {
    const [epoch, at] = [this.#epoch, this.#at()];
    const plan = planInForce(this.#plan, this.#state);
    this.history.push({ what: 'adopted', why, plan, epoch, at, before, after: this.#state });
  }

  #crash({ lost, unanswered, downMs, reboot, clock, resync, storeLost }: Crash): void {
    const open = this.#unpublished();
    const forgotten = lost === 0 ? [] : open.slice(-lost);
    const again = unanswered === 0 ? [] : open.slice(-unanswered);
    const durable = forgotten[0]?.before ?? this.#state;
    for (const entry of forgotten) this.history[this.history.indexOf(entry)] = { ...entry, lost: true };

    this.#ms += downMs;
    this.#clock = clock;
    if (reboot) {
      this.#boots += 1;
      this.#bootedAt = this.#ms;
    }
    const at = this.#at();
    const stored = storeLost === true ? undefined : this.#core.stored(durable);
    if (stored === undefined) this.#epoch += 1;
    this.#state =
      stored === undefined
        ? this.#core.initialState(this.#plan, at, { storeLost: true })
        : this.#core.adoptPlan(this.#plan, stored, at);
    this.#adopted(stored === undefined ? 'lost' : 'restart', stored);
    this.#wheel.clear();
    for (const timer of Object.values(this.#state.timers)) this.#wind(timer);
    this.#apply({ kind: 'started', sameBoot: !reboot, storeLost: stored === undefined, at });
    this.#apply({ kind: 'tick', at });

    if (resync) for (const signal of this.#devices.links(this.#plan)) this.#signal(signal);
    for (const { input } of again) {
      if (input.kind === 'command') this.#apply({ ...input, at: this.#at() }, true);
      // What a camera said goes with its connection; a broker keeps what was not acknowledged.
      else if (input.kind === 'signal' && input.signal.source.kind === 'panel' && !isReplay(input.signal)) {
        this.#apply({ ...input, at: this.#at() }, true);
      }
    }
    if (resync) for (const signal of this.#devices.levels()) this.#apply({ kind: 'signal', signal, at: this.#at() });
  }

  /** Decisions of this life and plan that may not be on disk yet, oldest first. */
  #unpublished(): readonly Decided[] {
    const { mono } = this.#at();
    const open: Decided[] = [];
    for (const entry of this.history.toReversed()) {
      if (entry.what === 'adopted' || mono - entry.input.at.mono >= publishAfterMs) break;
      open.unshift(entry);
    }
    return open;
  }
}

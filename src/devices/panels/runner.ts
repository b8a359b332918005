import type { Logger } from 'pino';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { PartitionId, Signal, ZoneNumber } from '#site/model/index.ts';
import { Awaited } from './awaited.ts';
import { type CommandToRender, type Rendered, renderCommand } from './commands.ts';
import { Dangers } from './dangers.ts';
import { createGuard, type Guard, type Verdict } from './guard.ts';
import { Heard, type HeardMemory, heardKey } from './heard.ts';
import { createHints, type HintDraft, hourlyGate, type PanelHint } from './hints.ts';
import { shownOf } from './hold-up.ts';
import { interpret, type Memory, withoutPending } from './interpret.ts';
import type { BuiltPanel } from './load.ts';
import { type MappingHint, mapReading } from './mapping.ts';
import { createOpenings, type Openings } from './openings.ts';
import type { CommandName } from './profile.ts';
import type { RawWatch } from './raw-watch.ts';
import type { Message, Note, Reading } from './reading.ts';
import { createZoneSilence, type ZoneSilence } from './silence.ts';
import { type KnownPartition, startMemory } from './start-memory.ts';
import { toHear } from './to-hear.ts';

/** A bridge that the broker knows of, or a panel that lives, is heard within this time after the start. */
const neverHeardMs = 120_000;
/** What a zone tells of how it stands. */
const levels = ['open', 'alarm', 'tamper'] as const;
/** No entry delay lasts longer: panels take four minutes at most. */
const pendingMs = 600_000;

export type MessageResult = 'read' | 'ignored' | 'unmapped' | 'dropped' | 'unmatched';

/** One panel at work: the interpreter's memory, what is known of its links, and its hints. */
export class Runner {
  readonly built: BuiltPanel;
  /** What each layer said last; null while nothing was heard. */
  bridge: boolean | null = null;
  device: boolean | null = null;
  /** Whether the silence after `stale_after_s` was reported. */
  silent = false;
  /** The bridge counts as down because the broker was lost, not because the bridge said so. */
  #assumedDown = false;
  readonly #raw: Pick<RawWatch, 'heard'> | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #hints: ReturnType<typeof createHints>;
  readonly #gate: ReturnType<typeof hourlyGate>;
  readonly #heard = new Set<ZoneNumber>();
  readonly #zones: ZoneSilence;
  readonly #openings: Openings;
  readonly #guard: Guard;
  readonly #dangers: Dangers;
  readonly #awaited: Awaited;
  /** When the broker could be heard first; undefined while it cannot. */
  #listeningMono: number | undefined;
  #memory: Memory;
  /** Since when partitions are in their entry delay, by the bridge's key. */
  readonly #pending = new BoundedMap<string, number>(256);
  readonly #silence: Heard;
  #lives = false;

  /** `known`: what the site knew of its partitions at the start. */
  constructor(
    built: BuiltPanel,
    options: {
      clock: Clock;
      log: Logger;
      confirmMs?: number;
      known?: ReadonlyMap<PartitionId, KnownPartition>;
      memory?: HeardMemory;
      knowsTime?: () => boolean;
      raw?: Pick<RawWatch, 'heard'>;
    },
  ) {
    this.built = built;
    this.#raw = options.raw;
    this.#clock = options.clock;
    this.#log = options.log.child({ panel: built.options.id });
    this.#hints = createHints(built.options.id, options.clock);
    this.#gate = hourlyGate(options.clock);
    this.#silence = new Heard({
      ...{ key: heardKey(built.options.id), limitMs: staleMs(built), clock: options.clock },
      ...{ memory: options.memory, knowsTime: options.knowsTime ?? (() => false) },
    });
    const zones = built.options.zones ?? {};
    const { clock, confirmMs } = options;
    const { profile } = built.compiled;
    this.#zones = createZoneSilence({ panel: built.mapping.panel, zones, clock });
    this.#openings = createOpenings({ profile, panel: built.mapping.panel, zones, clock });
    this.#guard = createGuard({ profile, clock, confirmMs });
    this.#dangers = new Dangers(built.mapping);
    this.#awaited = new Awaited(clock);
    this.#memory = startMemory(built, options.known);
  }

  /**
   * The signals of one message, in order; undefined when the message is not this panel's. `isShown`: false when it speaks of
   * nothing but silent hold-up buttons, and so may stand in no count (safety 4). `waited`: it may have come while we were away.
   */
  take(
    message: Message,
    waited = false,
  ): { signals: readonly Signal[]; result: MessageResult; isShown: boolean } | undefined {
    const isNow = !message.retain && !waited;
    const { memory, readings, notes } = interpret(this.built.compiled, this.#memory, { ...message, waited });
    if (notes.some((note) => note.kind === 'unmatched')) return undefined;
    this.#memory = memory;
    const shown = shownOf(this.built.mapping, { readings, notes });
    if (shown.isShown && shown.isWhole) this.#raw?.heard(this.built, message);
    for (const note of shown.notes) this.#note(note);
    const signals: Signal[] = this.#back(message);
    if (isNow) this.#guard.heard();
    // A bridge says that it is there when it comes: what changed before, it may never have told.
    if (isNow && readings.some(({ kind }) => kind === 'link')) this.#guard.back();
    for (const reading of readings) {
      this.#noteEntry(reading, isNow);
      this.#awaited.saw(reading, isNow);
      this.#guard.saw(isNow ? reading : { ...reading, replay: true });
      const mapped = mapReading(this.built.mapping, reading);
      for (const hint of mapped.hints) this.#hint(hint);
      for (const signal of mapped.signals) {
        this.#remember(signal);
        signals.push(message.retain ? signal : this.#supervised(signal));
      }
    }
    signals.push(...this.#dangers.take(readings, isNow));
    // That it ended a silence shows too.
    const isShown = shown.isShown || signals.some(({ kind }) => kind === 'link');
    return { signals, result: resultOf(shown.notes), isShown };
  }

  /** A partition is told to disarm, by the bridge's key. */
  awaits(key: string): void {
    this.#awaited.asked(key);
  }

  /**
   * The signals of a live message that was heard beside the others, where it is the answer to a disarm: that it is disarmed, and the
   * end of the zones its alarm has named. All else it says comes with the others.
   */
  answer(message: Message): readonly Signal[] {
    if (this.#awaited.none) return [];
    const before = this.#memory;
    const { memory, readings } = interpret(this.built.compiled, before, message);
    const answers = readings.filter((reading) => this.#awaited.isAnswer(reading));
    if (answers.length === 0) return [];
    this.#memory = memory;
    this.#guard.heard();
    const keys = answers.flatMap((reading) => (reading.kind === 'partition' ? [reading.key] : []));
    for (const key of keys) this.#awaited.answered(key);
    const ended = keys.flatMap((key) => [before.left, before.named].flatMap((of) => [...(of.get(key)?.keys() ?? [])]));
    const zones = readings.filter(
      (one) => one.kind === 'zone' && ended.includes(one.key) && one.open !== true && one.alarm !== true,
    );
    return [...answers, ...zones].flatMap((reading) => {
      this.#noteEntry(reading, true);
      this.#guard.saw(reading);
      return mapReading(this.built.mapping, reading).signals;
    });
  }

  /** Nobody on the site may notice what such a zone does (safety 4). */
  #isHoldUp(zone: ZoneNumber): boolean {
    return this.built.options.zones?.[zone]?.type === 'panic_silent';
  }

  /** Whether a command may leave now, by the bridge's key of the partition; it counts as sent when it may. */
  ask(key: string, action: CommandName): Verdict {
    return this.#guard.ask(key, action);
  }

  /** Topic and payload of a command. Throws `profile_invalid` where the profile or the site lacks something for it. */
  render(command: Omit<CommandToRender, 'tokens'>): Rendered {
    return renderCommand(this.built.compiled, { ...command, tokens: this.#memory.tokens });
  }

  /** A link signal, remembered; undefined when it says nothing new. */
  link(layer: 'bridge' | 'device', up: boolean, reason?: string): Signal | undefined {
    if (this[layer] === up) return undefined;
    this[layer] = up;
    if (!up) this.#guard.lost();
    const source = this.built.mapping.panel;
    return { kind: 'link', source, layer, up, ...(reason === undefined ? {} : { reason }) };
  }

  /** The broker is away, and with it the bridge, until the bridge is heard again. */
  brokerLost(reason: string): Signal | undefined {
    this.#listeningMono = undefined;
    this.#zones.listening(false);
    this.#openings.listening(false);
    this.#silence.listening(false);
    const signal = this.link('bridge', false, reason);
    if (signal !== undefined) this.#assumedDown = true;
    return signal;
  }

  /** The broker is there: what is silent from now on is silent by itself. */
  brokerFound(): void {
    this.#listeningMono = this.#clock.monotonic();
    this.#zones.listening(true);
    this.#openings.listening(true);
    this.#silence.listening(true);
  }

  /** Begins with what an earlier run has kept. */
  recall(): Promise<void> {
    return this.#silence.recall();
  }

  /** Keeps for the next run what it should know. */
  save(): Promise<void> {
    return this.#silence.save();
  }

  /** Whether the profile has a topic that tells about the layer. */
  tells(layer: 'bridge' | 'device'): boolean {
    return this.built.compiled.rules.some((rule) =>
      rule.reads.some((read) => read.for === 'link' && read.layers.includes(layer)),
    );
  }

  /** Call now and then: retained dangers without a zone. Nothing while the bridge or the panel is away. */
  due(): readonly Signal[] {
    return this.bridge === false || this.device === false ? [] : this.#dangers.due();
  }

  /** Call now and then: tells when the panel, or a detector of it, has been silent for longer than it may. */
  checkSilence(): Signal[] {
    const links = this.#neverHeard() ?? this.#gone() ?? [];
    return [links, this.#zones.lost(), this.#openings.over(), this.#entriesOver()].flat();
  }

  #noteEntry(reading: Reading, isNow: boolean): void {
    if (reading.kind !== 'partition' || reading.context || reading.state === undefined) return;
    if (reading.state !== 'pending') {
      if (isNow) this.#pending.delete(reading.key);
    } else if (!this.#pending.has(reading.key)) this.#pending.set(reading.key, this.#clock.monotonic());
  }

  /** The word that ended an entry delay was lost: its partition is what its other topics say. */
  #entriesOver(): Signal[] {
    const over = [...this.#pending.entries()].filter(([, since]) => this.#clock.monotonic() - since >= pendingMs);
    return over.flatMap(([key]) => {
      this.#pending.delete(key);
      const { memory, state } = withoutPending(this.#memory, key);
      // A panel that has one topic only may say so.
      if (state === undefined) return [];
      this.#memory = memory;
      return [
        ...mapReading(this.built.mapping, { kind: 'partition', key, state, replay: true, context: false }).signals,
      ];
    });
  }

  #gone(): Signal | undefined {
    if (!this.#silence.isLost() || this.silent) return undefined;
    this.silent = true;
    return this.link('device', false, `nothing heard for ${Math.round((staleMs(this.built) ?? 0) / 1000)} s`);
  }

  /** A bridge that is gone since before the start says nothing at all, and the broker need not remember its last word. */
  #neverHeard(): Signal | undefined {
    if (this.#listeningMono === undefined || this.#lives || this.bridge !== null || this.device !== null)
      return undefined;
    if (this.#clock.monotonic() - this.#listeningMono < neverHeardMs) return undefined;
    const signal = this.link('bridge', false, 'nothing was heard of it since siteward started');
    this.#assumedDown = true;
    return signal;
  }

  /** What a live message says of a supervised zone also says that the zone is there. */
  #supervised(signal: Signal): Signal {
    if (signal.kind !== 'zone' || !this.#zones.heard(signal.zone)) return signal;
    return { online: true, ...signal };
  }

  hints(): readonly PanelHint[] {
    const zones = [...this.built.mapping.zones].filter(([, { number }]) => !this.#isHoldUp(number));
    const notHeard = zones.filter(([, { number }]) => !this.#heard.has(number));
    const missing = notHeard.slice(0, 64).map(([key, zone]) => ({
      panel: this.built.options.id,
      kind: 'not_heard' as const,
      about: zone.number,
      text: `Nothing was heard of zone ${zone.number} (key ${key}) yet. Check the key, or ${toHear(zone.type)}.`,
      values: [],
      count: 0,
      lastAt: this.#clock.wall(),
    }));
    return [...this.#hints.list(), ...missing];
  }

  /** A live message ends a reported silence or loss; a retained one only shows that the broker remembers. */
  #back(message: Message): Signal[] {
    if (message.retain) return [];
    this.#lives = true;
    this.#silence.heard();
    const signals: (Signal | undefined)[] = [];
    if (this.#assumedDown) signals.push(this.link('bridge', true));
    if (this.silent) signals.push(this.link('device', true));
    this.#assumedDown = false;
    this.silent = false;
    return signals.filter((signal) => signal !== undefined);
  }

  #remember(signal: Signal): void {
    // That it is there, or that its battery is low, is not how it stands.
    if (signal.kind === 'zone' && levels.some((level) => signal[level] !== undefined)) this.#heard.add(signal.zone);
    if (signal.kind === 'zone' && signal.open !== undefined) this.#openings.heard(signal.zone, signal.open);
    if (signal.kind !== 'link') return;
    this[signal.layer] = signal.up;
    if (!signal.up) this.#guard.lost();
    if (signal.layer === 'bridge') this.#assumedDown = false;
  }

  #note(note: Note): void {
    if (note.kind === 'dropped') {
      const topic = note.topic.slice(0, 200);
      if (this.#gate.pass(`dropped|${note.topic}`))
        this.#log.warn({ topic, reason: note.reason }, 'panel message dropped');
      this.#hints.add({ kind: 'dropped', about: topic, text: dropTexts[note.reason] });
    }
    if (note.kind === 'cleared') this.#cleared(note.key);
    if (note.kind === 'unmapped') {
      const { rule, field, value } = note;
      if (this.#gate.pass(`unmapped|${rule}|${field}`)) {
        this.#log.warn({ rule, field, value }, 'the profile does not know this value; nothing was changed');
      }
      const text = `The profile does not know these values of ${field}. Name them under overrides, or report them.`;
      this.#hints.add({ kind: 'unknown_value', about: `${rule} ${field}`, text, value });
    }
  }

  /** Bridges that name zones by their labels take the old topic back when somebody renames one (panels.md 3.8). */
  #cleared(key: string): void {
    const zone = this.built.mapping.zones.get(key);
    if (zone === undefined) return;
    const text = `The bridge has taken back what it said of zone ${zone.number} (key ${key}). If it was renamed, give the new key.`;
    this.#hints.add({ kind: 'vanished', about: zone.number, text });
  }

  #hint(hint: MappingHint): void {
    const draft: HintDraft =
      hint.kind === 'unknown_key'
        ? {
            kind: 'unknown_key',
            about: `${hint.what} ${hint.key}`,
            text: `The bridge speaks of a ${hint.what} "${hint.key}" that is not configured. Add its key, or ignore it.`,
          }
        : {
            kind: 'type_differs',
            about: `zone ${hint.key}`,
            text: `The bridge says that this zone is of another type. Check its type in the configuration.`,
            value: hint.value,
          };
    this.#hints.add(draft);
  }
}

/** How long nothing may be heard of it; undefined: for ever. */
function staleMs({ compiled, options }: BuiltPanel): number | undefined {
  const profileS = compiled.profile.liveness?.stale_after_s;
  return options.stale_after ?? (profileS === undefined ? undefined : profileS * 1000);
}

const dropTexts = {
  too_large: 'A message on this topic was larger than 64 KiB and was dropped.',
  not_utf8: 'A message on this topic was not UTF-8 text and was dropped.',
  bad_json: 'A message on this topic was not the JSON the profile expects and was dropped.',
} as const;

function resultOf(notes: readonly Note[]): MessageResult {
  for (const kind of ['dropped', 'unmapped', 'ignored'] as const)
    if (notes.some((note) => note.kind === kind)) return kind;
  return 'read';
}

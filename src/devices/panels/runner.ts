import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { Signal, ZoneNumber } from '#site/model/index.ts';
import { createHints, type HintDraft, hourlyGate, type PanelHint } from './hints.ts';
import { emptyMemory, interpret, type Memory, type Message, type Note } from './interpret.ts';
import type { BuiltPanel } from './load.ts';
import { type MappingHint, mapReading } from './mapping.ts';

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
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #hints: ReturnType<typeof createHints>;
  readonly #gate: ReturnType<typeof hourlyGate>;
  readonly #heard = new Set<ZoneNumber>();
  #memory: Memory = emptyMemory();
  #lastHeard: number;

  constructor(built: BuiltPanel, options: { clock: Clock; log: Logger }) {
    this.built = built;
    this.#clock = options.clock;
    this.#log = options.log.child({ panel: built.options.id });
    this.#hints = createHints(built.options.id, options.clock);
    this.#gate = hourlyGate(options.clock);
    this.#lastHeard = options.clock.monotonic();
  }

  /** The signals of one message, in order; undefined when the message is not this panel's. */
  take(message: Message): { signals: readonly Signal[]; result: MessageResult } | undefined {
    const { memory, readings, notes } = interpret(this.built.compiled, this.#memory, message);
    if (notes.some((note) => note.kind === 'unmatched')) return undefined;
    this.#memory = memory;
    for (const note of notes) this.#note(note);
    const signals: Signal[] = this.#back(message);
    for (const reading of readings) {
      const mapped = mapReading(this.built.mapping, reading);
      for (const hint of mapped.hints) this.#hint(hint);
      for (const signal of mapped.signals) {
        this.#remember(signal);
        signals.push(signal);
      }
    }
    return { signals, result: resultOf(notes) };
  }

  /** A link signal, remembered; undefined when it says nothing new. */
  link(layer: 'bridge' | 'device', up: boolean, reason?: string): Signal | undefined {
    if (this[layer] === up) return undefined;
    this[layer] = up;
    const source = this.built.mapping.panel;
    return { kind: 'link', source, layer, up, ...(reason === undefined ? {} : { reason }) };
  }

  /** The broker is away, and with it the bridge, until the bridge is heard again. */
  brokerLost(reason: string): Signal | undefined {
    const signal = this.link('bridge', false, reason);
    if (signal !== undefined) this.#assumedDown = true;
    return signal;
  }

  /** Whether the profile has a topic that tells about the layer. */
  tells(layer: 'bridge' | 'device'): boolean {
    return this.built.compiled.rules.some((rule) =>
      rule.reads.some((read) => read.for === 'link' && read.layers.includes(layer)),
    );
  }

  /** Call now and then: tells when the panel has been silent for longer than its profile allows. */
  checkSilence(): Signal | undefined {
    const staleS = this.built.compiled.profile.liveness?.stale_after_s;
    if (staleS === undefined || this.silent || this.#clock.monotonic() - this.#lastHeard < staleS * 1000)
      return undefined;
    this.silent = true;
    return this.link('device', false, `nothing heard for ${staleS} s`);
  }

  hints(): readonly PanelHint[] {
    const notHeard = [...this.built.mapping.zones].filter(([, zone]) => !this.#heard.has(zone.number));
    const missing = notHeard.slice(0, 64).map(([key, zone]) => ({
      panel: this.built.options.id,
      kind: 'not_heard' as const,
      about: zone.number,
      text: `Nothing was heard of zone ${zone.number} (key ${key}) yet. Check the key, or open and close it once.`,
      values: [],
      count: 0,
      lastAt: 0,
    }));
    return [...this.#hints.list(), ...missing];
  }

  /** A live message ends a reported silence or loss; a retained one only shows that the broker remembers. */
  #back(message: Message): Signal[] {
    if (message.retain) return [];
    this.#lastHeard = this.#clock.monotonic();
    const signals: (Signal | undefined)[] = [];
    if (this.#assumedDown) signals.push(this.link('bridge', true));
    if (this.silent) signals.push(this.link('device', true));
    this.#assumedDown = false;
    this.silent = false;
    return signals.filter((signal) => signal !== undefined);
  }

  #remember(signal: Signal): void {
    if (signal.kind === 'zone') this.#heard.add(signal.zone);
    if (signal.kind !== 'link') return;
    this[signal.layer] = signal.up;
    if (signal.layer === 'bridge') this.#assumedDown = false;
  }

  #note(note: Note): void {
    if (note.kind === 'dropped') {
      const topic = note.topic.slice(0, 200);
      if (this.#gate.pass(`dropped|${note.topic}`))
        this.#log.warn({ topic, reason: note.reason }, 'panel message dropped');
      this.#hints.add({ kind: 'dropped', about: topic, text: dropTexts[note.reason] });
    }
    if (note.kind === 'unmapped') {
      const { rule, field, value } = note;
      if (this.#gate.pass(`unmapped|${rule}|${field}`)) {
        this.#log.warn({ rule, field, value }, 'the profile does not know this value; nothing was changed');
      }
      const text = `The profile does not know these values of ${field}. Name them under overrides, or report them.`;
      this.#hints.add({ kind: 'unknown_value', about: `${rule} ${field}`, text, value });
    }
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

import type { ArmingWord, TroubleKind, ZoneType } from '#site/model/index.ts';
import type { Compiled, CompiledRead, CompiledRule, Fields, Test } from './compile.ts';
import { at, decode, isRecord, mask, normalKey, parseJson, showable, stringForm, unquote } from './values.ts';

/** One message as it came from the broker. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
}

export type Fault = 'arm_failed' | 'wrong_code' | 'lockout' | 'other';

/** What a message says, in the panel's own keys. `replay`: knowledge about the present, no edge. */
export type Reading = { readonly replay: boolean; readonly context: boolean } & (
  | {
      readonly kind: 'partition';
      readonly key: string;
      readonly state?: ArmingWord;
      readonly target?: ArmingWord;
      readonly ready?: boolean;
      readonly memory?: boolean;
      readonly fire?: boolean;
      readonly fault?: Fault;
      readonly user?: string;
    }
  | {
      readonly kind: 'zone';
      readonly key: string;
      readonly open?: boolean;
      readonly alarm?: boolean;
      readonly tamper?: boolean;
      readonly bypassed?: boolean;
      readonly lowBattery?: boolean;
      readonly online?: boolean;
      readonly zoneType?: ZoneType;
    }
  | { readonly kind: 'trouble'; readonly trouble: TroubleKind; readonly active: boolean }
  | { readonly kind: 'link'; readonly layer: 'bridge' | 'device'; readonly up: boolean; readonly status: string }
  | { readonly kind: 'keypad'; readonly key: string; readonly action: string }
  | { readonly kind: 'output'; readonly key: string; readonly on: boolean }
);

type Loose<T> = { -readonly [K in keyof T]: T[K] };
type ZoneReading = Loose<Extract<Reading, { kind: 'zone' }>>;

/** What could not be read, for counters and hints. Never holds more of a payload than `showable` lets through. */
export type Note =
  | { readonly kind: 'dropped'; readonly reason: 'too_large' | 'not_utf8' | 'bad_json'; readonly topic: string }
  | { readonly kind: 'unmapped'; readonly rule: string; readonly field: string; readonly value: string }
  | { readonly kind: 'ignored' | 'unmatched' };

/** What earlier messages said that later ones are combined with. Plain data, never changed in place. */
export interface Memory {
  /** Per partition, what each source said last about its state. */
  readonly states: ReadonlyMap<string, ReadonlyMap<string, ArmingWord>>;
  /** Per trouble, the sources that report it. */
  readonly troubles: ReadonlyMap<TroubleKind, ReadonlySet<string>>;
}

export interface Interpreted {
  readonly memory: Memory;
  readonly readings: readonly Reading[];
  readonly notes: readonly Note[];
}

export const emptyMemory = (): Memory => ({ states: new Map(), troubles: new Map() });

/** At most so many partitions are remembered when the site did not name its own; the oldest gives way. */
const partitionCap = 256;
/** At most so many members of one object are read by `each`, and troubles remembered per kind. */
const memberCap = 1000;

/**
 * Reads one message. Pure: the same profile, memory and message give the same answer. For retained messages in any
 * order the final state is the same, because each source has its own slot and the highest rank wins.
 */
export function interpret(compiled: Compiled, memory: Memory, message: Message): Interpreted {
  const found = findRule(compiled, message.topic);
  if (found === undefined) return { memory, readings: [], notes: [{ kind: 'unmatched' }] };
  const { rule, caught } = found;
  if (message.retain && rule.retained === 'ignore') return { memory, readings: [], notes: [{ kind: 'ignored' }] };
  const drop = (reason: 'too_large' | 'not_utf8' | 'bad_json'): Interpreted => ({
    memory,
    readings: [],
    notes: [{ kind: 'dropped', reason, topic: message.topic }],
  });

  const decoded = decode(message.payload);
  if ('drop' in decoded) return drop(decoded.drop);
  if (decoded.text === '' && rule.format !== 'text') return { memory, readings: [], notes: [{ kind: 'ignored' }] };
  const body = readBody(rule, decoded.text);
  if (body === undefined) return drop('bad_json');

  const run = new Run(compiled, memory, rule, message.retain);
  for (const read of rule.reads) run.read(read, caught, body);
  return { memory: run.memory, readings: run.readings, notes: run.notes };
}

function findRule(compiled: Compiled, topic: string) {
  for (const rule of compiled.rules) {
    const match = rule.template.regex.exec(topic);
    if (match !== null) return { rule, caught: new Map(Object.entries(match.groups ?? {})) };
  }
  return undefined;
}

/** `json` is undefined for a message that is text. */
type Body = { readonly text: string; readonly json: unknown };

function readBody(rule: CompiledRule, text: string): Body | undefined {
  if (rule.format === 'text') return { text: unquote(text), json: undefined };
  const json = parseJson(text);
  if (typeof json === 'object' && json !== null) {
    // Codes are blanked here, before any read, note or log can see them.
    for (const path of rule.mask) mask(json, path);
    return { text, json };
  }
  return rule.format === 'either' ? { text: unquote(text), json: undefined } : undefined;
}

const holds = (test: Test, root: unknown): boolean =>
  test.every(({ path, texts }) => {
    const form = stringForm(at(root, path));
    return typeof form === 'object' && texts.has(form.text);
  });

/** The reading of one message: collects readings and notes and the memory as it becomes. */
class Run {
  memory: Memory;
  readonly readings: Reading[] = [];
  readonly notes: Note[] = [];
  readonly #compiled: Compiled;
  readonly #rule: CompiledRule;
  readonly #retain: boolean;
  readonly #pulsed = new Set<Reading>();

  constructor(compiled: Compiled, memory: Memory, rule: CompiledRule, retain: boolean) {
    this.#compiled = compiled;
    this.memory = memory;
    this.#rule = rule;
    this.#retain = retain;
  }

  read(read: CompiledRead, caught: ReadonlyMap<string, string>, body: Body): void {
    if (read.each === null) {
      this.#readOne(read, caught, body);
      return;
    }
    const parent = at(body.json, read.each.path);
    if (!isRecord(parent)) return;
    for (const [name, value] of Object.entries(parent).slice(0, memberCap)) {
      const key = read.each.key.exec(name)?.[1];
      if (key === undefined || key === '') continue;
      const member = { text: stringText(value), json: isRecord(value) ? value : undefined };
      if (value !== null) this.#readOne(read, new Map([...caught, ['partition', key], ['zone', key]]), member);
    }
  }

  #readOne(read: CompiledRead, caught: ReadonlyMap<string, string>, body: Body): void {
    // A retained pulse is a button somebody pressed long ago.
    if (read.pulse && this.#retain) return;
    if (read.when.length > 0 && !holds(read.when, body.json)) return;
    const fields = this.#fields(read, body);
    if (fields === null) return;
    const filled = read.key.replace(/\{([a-z_]+)\}/g, (_, name: string) => caught.get(name) ?? '');
    const identity = this.#compiled.profile.identity;
    const kind = read.for === 'zone' || read.for === 'partition' ? identity[read.for] : 'label';
    const key = normalKey(filled, kind);
    this.#say(read, key, caught, fields);
    if (read.pulse) this.#say(read, key, caught, opposite(fields));
  }

  #fields(read: CompiledRead, body: Body): Fields | null {
    if (read.first !== null) return read.first.find((entry) => holds(entry.test, body.json))?.fields ?? read.other;
    const raw = this.#raw(read, body);
    if (raw === null) return null;
    const fields = read.lookup(raw);
    if (fields === undefined) this.#unmapped(read, raw);
    return fields ?? null;
  }

  #raw(read: CompiledRead, body: Body): string | null {
    let text = body.text;
    if (read.path !== null && body.json !== undefined) {
      const form = stringForm(at(body.json, read.path));
      if (form === 'no_scalar') this.#unmapped(read, '(an object or list)');
      if (typeof form === 'string') return null;
      text = form.text;
    } else {
      text = text.slice(0, 1024);
    }
    return read.match === null ? text : (read.match.exec(text)?.[1] ?? null);
  }

  #unmapped(read: CompiledRead, raw: string): void {
    const rule = this.#rule.template.text;
    this.notes.push({ kind: 'unmapped', rule, field: `${read.for}.${read.label}`, value: showable(raw) });
  }

  #say(read: CompiledRead, key: string, caught: ReadonlyMap<string, string>, fields: Fields): void {
    const base = { replay: this.#retain, context: this.#retain && this.#rule.retained === 'context' };
    switch (read.for) {
      case 'partition': {
        const { state, ...rest } = fields;
        const now =
          state === undefined || base.context ? undefined : this.#combine(read, key, state as ArmingWord | null);
        if (now === undefined && Object.keys(rest).length === 0) return;
        this.readings.push({ kind: 'partition', key, ...rest, ...(now === undefined ? {} : { state: now }), ...base });
        return;
      }
      case 'zone': {
        const { low_battery: lowBattery, zone_type: zoneType, ...rest } = fields;
        const named = {
          ...rest,
          ...(lowBattery === undefined ? {} : { lowBattery }),
          ...(zoneType === undefined ? {} : { zoneType }),
        };
        if (Object.keys(named).length > 0)
          this.#zone({ kind: 'zone', key, ...named, ...base } as ZoneReading, read.pulse);
        return;
      }
      case 'trouble':
        this.#trouble(read, caught, fields, base);
        return;
      case 'link':
        if (typeof fields.up !== 'boolean') return;
        for (const layer of read.layers) {
          const status = typeof fields.status === 'string' ? fields.status : fields.up ? 'online' : 'offline';
          this.readings.push({ kind: 'link', layer, up: fields.up, status, ...base });
        }
        return;
      case 'keypad':
        if (typeof fields.action === 'string')
          this.readings.push({ kind: 'keypad', key, action: fields.action, ...base });
        return;
      case 'output':
        if (typeof fields.on === 'boolean') this.readings.push({ kind: 'output', key, on: fields.on, ...base });
    }
  }

  /** Puts what this source says into its slot; the partition's state is the highest rank of all its slots. */
  #combine(read: CompiledRead, key: string, said: ArmingWord | null): ArmingWord | undefined {
    const known = this.#compiled.partitions;
    if (known !== null && !known.has(key)) return said ?? undefined;
    const slots = new Map(this.memory.states.get(key));
    if (said === null) slots.delete(read.source);
    else slots.set(read.source, said);
    const states = new Map(this.memory.states);
    states.delete(key);
    states.set(key, slots);
    for (const oldest of states.keys()) {
      if (states.size <= partitionCap) break;
      states.delete(oldest);
    }
    this.memory = { ...this.memory, states };
    return highest(slots.values());
  }

  /** One reading per zone and message. A device that is open or in alarm in any of its ways is so; pulses stand alone. */
  #zone(reading: ZoneReading, pulse: boolean): void {
    const i = pulse ? -1 : this.readings.findIndex((earlier) => earlier.kind === 'zone' && earlier.key === reading.key);
    const earlier = this.readings[i];
    if (earlier?.kind === 'zone' && !this.#pulsed.has(earlier)) {
      this.readings[i] = mergeZone(earlier, reading);
      return;
    }
    if (pulse) this.#pulsed.add(reading);
    this.readings.push(reading);
  }

  #trouble(
    read: CompiledRead,
    caught: ReadonlyMap<string, string>,
    fields: Fields,
    base: { replay: boolean; context: boolean },
  ): void {
    if (typeof fields.active !== 'boolean' || read.trouble === null) return;
    const name = caught.get('trouble') ?? '';
    const trouble = typeof read.trouble === 'string' ? read.trouble : read.trouble.get(name);
    if (trouble === undefined) {
      // Only a trouble that is there is worth a hint: bridges list every property they know.
      if (fields.active) this.#unmapped({ ...read, label: 'name' }, name);
      return;
    }
    if (base.context) {
      this.readings.push({ kind: 'trouble', trouble, active: fields.active, ...base });
      return;
    }
    const sources = new Set(this.memory.troubles.get(trouble));
    const source = `${read.source}|${typeof read.trouble === 'string' ? '' : name}`;
    if (fields.active) sources.add(source);
    else sources.delete(source);
    this.memory = { ...this.memory, troubles: new Map([...this.memory.troubles, [trouble, sources]]) };
    this.readings.push({ kind: 'trouble', trouble, active: sources.size > 0, ...base });
  }
}

function mergeZone(a: ZoneReading, b: ZoneReading): ZoneReading {
  const merged = { ...a, ...b };
  for (const field of ['open', 'alarm', 'tamper', 'bypassed', 'lowBattery'] as const) {
    if (a[field] !== undefined && b[field] !== undefined) merged[field] = a[field] || b[field];
  }
  if (a.online !== undefined && b.online !== undefined) merged.online = a.online && b.online;
  if (a.zoneType === undefined || b.zoneType === undefined || a.zoneType === b.zoneType) return merged;
  // A device of two kinds: the one in alarm names the type, otherwise none does.
  if (a.alarm !== b.alarm) return { ...merged, zoneType: a.alarm === true ? a.zoneType : b.zoneType };
  const { zoneType: _, ...plain } = merged;
  return plain;
}

const stringText = (value: unknown) => {
  const form = stringForm(value);
  return typeof form === 'object' ? form.text : '';
};

const opposite = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === true ? [[name, false]] : [])));

/** Rank of combined states, highest first. The order among armed words only makes the answer independent of order. */
const ranks: readonly ArmingWord[] = [
  'triggered',
  'pending',
  'arming',
  'armed_away',
  'armed_vacation',
  'armed_night',
  'armed_custom_bypass',
  'armed_home',
  'disarmed',
];

function highest(words: Iterable<ArmingWord>): ArmingWord | undefined {
  const all = new Set(words);
  return ranks.find((word) => all.has(word));
}

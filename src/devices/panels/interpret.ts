import { jsonOf } from '#lib/json-text.ts';
import { Secret } from '#lib/secret.ts';
import { type ArmingWord, isCalmer, type TroubleKind } from '#site/model/index.ts';
import { type Compiled, type CompiledRead, type CompiledRule, ruleOf, type Test } from './compile.ts';
import type { Fields } from './lookup.ts';
import type { Message, Note, Reading, ZoneReading } from './reading.ts';
import { baseSlot, bounded, endsRun, highest, runSlot } from './slots.ts';
import { at, decode, isRecord, mask, members, normalKey, showable, stringForm, unquote } from './values.ts';

/** What earlier messages said that later ones are combined with. Plain data, never changed in place. */
export interface Memory {
  /** Per partition, what each source said last about its state. */
  readonly states: ReadonlyMap<string, ReadonlyMap<string, ArmingWord>>;
  /** Per trouble, the sources that report it. */
  readonly troubles: ReadonlyMap<TroubleKind, ReadonlySet<string>>;
  /** Per partition, the zones its alarm has named, and what ends them. */
  readonly named: ReadonlyMap<string, ReadonlyMap<string, Fields>>;
  /** The same, of an earlier run. */
  readonly left: ReadonlyMap<string, ReadonlyMap<string, Fields>>;
  /** What the bridge wants back in its commands, by name. */
  readonly tokens: ReadonlyMap<string, Secret>;
}

export interface Interpreted {
  readonly memory: Memory;
  readonly readings: readonly Reading[];
  readonly notes: readonly Note[];
}

export const emptyMemory = (): Memory => ({
  states: new Map(),
  troubles: new Map(),
  named: new Map(),
  left: new Map(),
  tokens: new Map(),
});

/** At most so many members of one object are read by `each`. */
const memberCap = 1000;
/** Longer words in a message are no zone or partition (characters). */
const nameCap = 64;
/** At most so many zones are named by one alarm. */
const namedCap = 64;
/** At most so many sources of one trouble are remembered. */
const sourceCap = 256;

/**
 * Reads one message. Pure: the same profile, memory and message give the same answer. For retained messages in any
 * order the final state is the same, because each source has its own slot and the highest rank wins.
 */
export function interpret(compiled: Compiled, memory: Memory, message: Message): Interpreted {
  const rule = ruleOf(compiled, message.topic);
  if (rule === undefined) return { memory, readings: [], notes: [{ kind: 'unmatched' }] };
  const caught = new Map(Object.entries(rule.template.regex.exec(message.topic)?.groups ?? {}));
  if (message.retain && rule.retained === 'ignore') return { memory, readings: [], notes: [{ kind: 'ignored' }] };
  const drop = (reason: 'too_large' | 'not_utf8' | 'bad_json'): Interpreted => ({
    memory,
    readings: [],
    notes: [{ kind: 'dropped', reason, topic: message.topic, ...zoneIn(compiled, caught) }],
  });

  const decoded = decode(message.payload);
  if ('drop' in decoded) return drop(decoded.drop);
  if (decoded.text === '' && rule.format !== 'text') {
    return { memory, readings: [], notes: clearedNotes(compiled, message, caught) };
  }
  const body = readBody(rule, decoded.text);
  if (body === undefined) return drop('bad_json');

  const run = new Run(compiled, memory, rule, message);
  for (const read of rule.reads) run.read(read, caught, body);
  const isEmpty = decoded.text === '' && run.readings.length === 0;
  const notes = isEmpty ? clearedNotes(compiled, message, caught) : run.notes;
  return { memory: run.memory, readings: run.readings, notes };
}

/** The state of a partition without the entry delay that nobody has told the end of. */
export function withoutPending(memory: Memory, key: string): { memory: Memory; state: ArmingWord | undefined } {
  const slots = new Map([...(memory.states.get(key) ?? [])].filter(([, word]) => word !== 'pending'));
  return { memory: { ...memory, states: bounded(memory.states, key, slots) }, state: highest(slots.values()) };
}

/** A retained topic was cleared. It is no value of anything; of a zone it may mean that the bridge has renamed it. */
function clearedNotes(compiled: Compiled, { retain }: Message, caught: ReadonlyMap<string, string>): readonly Note[] {
  const { zone } = zoneIn(compiled, caught);
  return zone === undefined || retain ? [{ kind: 'ignored' }] : [{ kind: 'cleared', key: zone }];
}

/** The key of the zone whose topic it is. */
function zoneIn({ profile }: Compiled, caught: ReadonlyMap<string, string>): { zone?: string } {
  const zone = caught.get('zone');
  return zone === undefined ? {} : { zone: normalKey(zone, profile.identity.zone) };
}

/** `json` is undefined for a message that is text. */
type Body = { readonly text: string; readonly json: unknown };

function readBody(rule: CompiledRule, text: string): Body | undefined {
  if (rule.format === 'text') return { text: unquote(text), json: undefined };
  const json = jsonOf(text);
  if (typeof json === 'object' && json !== null) {
    // Codes are blanked here, before any read, note or log can see them.
    for (const path of rule.mask) mask(json, path);
    return { text, json };
  }
  return rule.format === 'either' ? { text: unquote(text), json: undefined } : undefined;
}

const holds = (test: Test, root: unknown): boolean =>
  test.every(({ path, texts, absent }) => {
    const form = stringForm(at(root, path));
    return typeof form === 'object' ? texts.has(form.text) : absent && form === 'absent';
  });

/** The reading of one message: collects readings and notes and the memory as it becomes. */
class Run {
  memory: Memory;
  readonly readings: Reading[] = [];
  readonly notes: Note[] = [];
  readonly #compiled: Compiled;
  readonly #rule: CompiledRule;
  readonly #retain: boolean;
  readonly #isLive: boolean;
  readonly #pulsed = new Set<Reading>();

  constructor(compiled: Compiled, memory: Memory, rule: CompiledRule, { retain, waited }: Message) {
    this.#compiled = compiled;
    this.memory = memory;
    this.#rule = rule;
    this.#retain = retain;
    this.#isLive = !retain && waited !== true;
  }

  read(read: CompiledRead, caught: ReadonlyMap<string, string>, body: Body): void {
    if (read.each === null) {
      this.#readOne(read, caught, body);
      return;
    }
    for (const [name, value] of members(body.json, read.each.path, memberCap)) {
      if (name.length > nameCap) continue;
      const key = read.each.key === null ? name : read.each.key.exec(name)?.[1];
      if (key === undefined || key === '') continue;
      const member = { text: stringText(value), json: isRecord(value) ? value : undefined };
      if (value !== null) this.#readOne(read, new Map([...caught, ['partition', key], ['zone', key]]), member);
    }
  }

  #readOne(read: CompiledRead, caught: ReadonlyMap<string, string>, body: Body): void {
    // A retained pulse is a button somebody pressed long ago.
    if (read.pulse && this.#retain) return;
    if (read.when.length > 0 && !holds(read.when, body.json)) return;
    const key = this.#key(read, caught, body);
    const fields = this.#fields(read, body, key);
    if (fields === null || key === null) return;
    if (read.lasts !== null && !this.#context) this.#name(read, read.lasts, key, caught, fields);
    this.#say(read, key, caught, fields);
    if (read.pulse) this.#say(read, key, caught, opposite(fields));
  }

  /** The bridge's key this read is about; null when the message was to name one and does not. */
  #key(read: CompiledRead, caught: ReadonlyMap<string, string>, body: Body): string | null {
    const form = read.keyPath === null ? null : stringForm(at(body.json, read.keyPath));
    if (typeof form === 'string') return null;
    // A key is what a configuration could name: a long or unprintable one is none.
    if (form !== null && (form.text.length > nameCap || !/^\P{Cc}+$/u.test(form.text))) return null;
    const filled = form?.text ?? fill(read.key, caught);
    if (read.for === 'partition') return this.#partition(filled);
    const isZone = read.for === 'zone' || read.for === 'report';
    return normalKey(filled, isZone ? this.#compiled.profile.identity.zone : 'label');
  }

  /** A record of the past. */
  get #context(): boolean {
    return this.#rule.record || (this.#retain && this.#rule.retained === 'context');
  }

  /** Remembers a zone that an alarm names. The first time it begins anew, whatever an earlier run has left it as. */
  #name(read: CompiledRead, lasts: string, key: string, caught: ReadonlyMap<string, string>, fields: Fields): void {
    const partition = this.#partition(fill(lasts, caught));
    const zones = new Map(this.memory.named.get(partition));
    if (!zones.has(key) && !this.#retain) this.#say(read, key, caught, opposite(fields));
    if (zones.size < namedCap) zones.set(key, { ...zones.get(key), ...opposite(fields) });
    this.memory = { ...this.memory, named: bounded(this.memory.named, partition, zones) };
  }

  /** The partition is calm: so are the zones its alarm has named. */
  #forget(partition: string, base: { replay: boolean; context: boolean }): void {
    const { named, left } = this.memory;
    const zones = new Map([...(left.get(partition) ?? []), ...(named.get(partition) ?? [])]);
    if (zones.size === 0) return;
    for (const [key, fields] of zones) this.#zone({ kind: 'zone', key, ...fields, ...base } as ZoneReading, true);
    const none = new Map<string, Fields>();
    this.memory = { ...this.memory, named: bounded(named, partition, none), left: bounded(left, partition, none) };
  }

  #partition(word: string): string {
    const key = normalKey(word, this.#compiled.profile.identity.partition);
    return this.#compiled.aliases.get(key) ?? key;
  }

  #fields(read: CompiledRead, body: Body, key: string | null): Fields | null {
    if (read.first !== null) return read.first.find((entry) => holds(entry.test, body.json))?.fields ?? read.other;
    const raw = this.#raw(read, body, key);
    if (raw === null) return null;
    const fields = read.lookup(raw);
    if (fields === undefined) this.#unmapped(read, raw, key);
    return fields ?? null;
  }

  #raw(read: CompiledRead, body: Body, key: string | null): string | null {
    let text = body.text;
    if (read.path !== null && body.json !== undefined) {
      const form = stringForm(at(body.json, read.path));
      if (form === 'no_scalar') this.#unmapped(read, '(an object or list)', key);
      if (typeof form === 'string') return null;
      text = form.text;
    } else {
      text = text.slice(0, 1024);
    }
    return read.match === null ? text : (read.match.exec(text)?.[1] ?? null);
  }

  #unmapped(read: CompiledRead, raw: string, key: string | null): void {
    const rule = this.#rule.template.text;
    // A token is as good as a code.
    if (read.for === 'token') return;
    const zone = read.for === 'zone' && key !== null ? { zone: key } : {};
    this.notes.push({ kind: 'unmapped', rule, field: `${read.for}.${read.label}`, value: showable(raw), ...zone });
  }

  #say(read: CompiledRead, key: string, caught: ReadonlyMap<string, string>, fields: Fields): void {
    const base = { replay: this.#retain, context: this.#context };
    switch (read.for) {
      case 'partition': {
        const { state, ...rest } = fields;
        const now =
          state === undefined || base.context ? undefined : this.#combine(read, key, state as ArmingWord | null);
        if (now === undefined && Object.keys(rest).length === 0) return;
        this.readings.push({ kind: 'partition', key, ...rest, ...(now === undefined ? {} : { state: now }), ...base });
        // A retained or queued word may be older than the alarm.
        if (this.#isLive && now !== undefined && now !== 'triggered' && now !== 'pending') this.#forget(key, base);
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
          this.#zone({ kind: 'zone', key, ...named, ...base } as ZoneReading, read.pulse || read.lasts !== null);
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
        return;
      case 'report': {
        const { contact_id: contactId, sia } = fields;
        const said = {
          ...(typeof contactId === 'string' ? { contactId } : {}),
          ...(typeof sia === 'string' ? { sia } : {}),
        };
        if (Object.keys(said).length > 0) this.readings.push({ kind: 'report', key, ...said, ...base });
        return;
      }
      case 'token':
        if (typeof fields.value !== 'string') return;
        // The names are the profile's own, so that there are few.
        this.memory = { ...this.memory, tokens: new Map([...this.memory.tokens, [key, new Secret(fields.value)]]) };
    }
  }

  /**
   * Puts what this source says into its slot; the partition's state is the highest rank of all its slots. A retained or queued word that
   * is calmer than what its slot holds may be older: the site hears of it, but no later message is read with it.
   */
  #combine(read: CompiledRead, key: string, said: ArmingWord | null): ArmingWord | undefined {
    const known = this.#compiled.partitions;
    if (known !== null && !known.has(key)) return said ?? undefined;
    const before = this.memory.states.get(key) ?? new Map<string, ArmingWord>();
    const slots = new Map(before);
    if (said === null) {
      const run = slots.get(runSlot);
      if (!slots.delete(read.source) && run !== undefined && endsRun(this.#compiled.profile, read.source, run))
        slots.delete(runSlot);
    } else {
      slots.set(read.source, said).delete(runSlot);
      if (said !== 'triggered' && said !== 'pending') slots.delete(baseSlot);
    }
    // A disarming ends the entry delay and the alarm, and an alarm the entry delay, also where the word of their end was lost. A fire
    // goes on as an alarm of its own (safety 1), and hides no arming.
    const ended = !this.#isLive
      ? []
      : said === 'disarmed'
        ? ['pending', 'triggered']
        : said === 'triggered'
          ? ['pending']
          : [];
    for (const [source, word] of slots) if (ended.includes(word) && source !== read.source) slots.delete(source);
    const now = highest(slots.values());
    if (this.#isLive || !isDoubtful(before, read.source, said, now))
      this.memory = { ...this.memory, states: bounded(this.memory.states, key, slots) };
    // What was taken back may have said nothing of the partition.
    return said === null && now === highest(before.values()) ? undefined : now;
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
      if (fields.active) this.#unmapped({ ...read, label: 'name' }, name, null);
      return;
    }
    if (base.context) {
      this.readings.push({ kind: 'trouble', trouble, active: fields.active, ...base });
      return;
    }
    const sources = new Set(this.memory.troubles.get(trouble));
    const source = [read.source, ...caught.values()].join('|');
    // Beyond the cap a source is not remembered by itself: the trouble is there anyway.
    if (fields.active && sources.size < sourceCap) sources.add(source);
    else if (!fields.active) sources.delete(source);
    this.memory = { ...this.memory, troubles: new Map([...this.memory.troubles, [trouble, sources]]) };
    this.readings.push({ kind: 'trouble', trouble, active: sources.size > 0, ...base });
  }
}

/** Of a word that is not live: whether it is calmer than what its slot holds, or an earlier run has known. */
function isDoubtful(
  slots: ReadonlyMap<string, ArmingWord>,
  source: string,
  said: ArmingWord | null,
  now: ArmingWord | undefined,
): boolean {
  if (said === null) return isCalmer(highest(slots.values()) ?? 'unknown', now ?? 'unknown');
  return isCalmer(slots.get(source) ?? slots.get(runSlot) ?? slots.get(baseSlot) ?? 'unknown', said);
}

const fill = (text: string, caught: ReadonlyMap<string, string>): string =>
  text.replace(/\{([a-z_]+)\}/g, (_, name: string) => caught.get(name) ?? '');

function mergeZone(a: ZoneReading, b: ZoneReading): ZoneReading {
  const merged = { ...a, ...b };
  for (const field of ['open', 'alarm', 'tamper', 'bypassed', 'lowBattery'] as const) {
    if (a[field] !== undefined && b[field] !== undefined) merged[field] = a[field] || b[field];
  }
  if (a.online !== undefined && b.online !== undefined) merged.online = a.online && b.online;
  if (a.zoneType === undefined || b.zoneType === undefined || a.zoneType === b.zoneType) return merged;
  // A device of two kinds: the one in alarm names the type; where both are, fire goes first; otherwise none does.
  if (a.alarm !== b.alarm) return { ...merged, zoneType: a.alarm === true ? a.zoneType : b.zoneType };
  if (a.alarm === true) return { ...merged, zoneType: b.zoneType === 'fire' ? b.zoneType : a.zoneType };
  const { zoneType: _, ...plain } = merged;
  return plain;
}

const stringText = (value: unknown) => {
  const form = stringForm(value);
  return typeof form === 'object' ? form.text : '';
};

const opposite = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === true ? [[name, false]] : [])));

import { BoundedMap } from '#lib/bounded.ts';
import type { DetectionClass, DeviceRef, Signal } from '#site/model/index.ts';
import type { UnknownTopic } from './camera.ts';
import type { Notification } from './notification.ts';
import { type Reading, readAll, ruleOf, tokenOf, unknownRow } from './readings.ts';
import { findTopic, type TopicRow } from './topics.ts';

/** What became of one message; the label of the metric. */
export type Outcome = 'signal' | 'same' | 'ignored' | 'unknown' | 'empty' | 'unreadable' | 'flood';

export interface Taken {
  readonly signals: readonly Signal[];
  readonly outcomes: readonly Outcome[];
}

/**
 * Turns one device's messages into signals: edges only, one per source and class, however many topics, rules and objects
 * report it. Keeps what is on, for each source apart: two channels' motions are two things. Times are monotonic milliseconds.
 */
export interface Normaliser {
  take(messages: readonly Notification[], now: number): Taken;
  /** Ends states that were on for longer than they can be: known no more, which is no edge (`replay`). */
  expire(now: number): readonly Signal[];
  /** Other sources may be meant now by the same messages: what is on moves to them, which is no edge (`replay`). */
  remap(now: number): readonly Signal[];
  /** Forgets all states, so that the camera's present ones are told again. */
  reset(): void;
  unknownTopics(): readonly UnknownTopic[];
}

/** One state of one source: a topic of a rule, an input, an object in a field. */
interface Entry {
  readonly group: string;
  readonly on: boolean;
  readonly since: number;
  readonly row: TopicRow;
  readonly reading: Reading;
  readonly message: Notification;
}

/** What is one thing for the rest of siteward: a class, or one input, relay or disk. */
interface Group {
  readonly detection: DetectionClass;
  told: boolean | undefined;
  readonly topic: string;
  readonly rule: string | undefined;
}

/** Caps of one source; one that tells too much takes nothing from the others. */
const entryCap = 500;
const groupCap = 200;
const signalsPerSecond = 50;
/** Of the device. More sources than a site may have cameras and channels are never named. */
const sourceCap = 100;
const unknownCap = 100;

export function createNormaliser(options: {
  /** What a message is about: the camera itself, or one of a recorder's channels. */
  sourceOf: (message: Notification) => DeviceRef;
  wall: () => number;
}): Normaliser {
  const sources = new BoundedMap<string, Source>(sourceCap);
  const unknown = new BoundedMap<string, UnknownTopic>(unknownCap);

  function sourceFor(message: Notification): Source {
    const ref = options.sourceOf(message);
    const key = `${ref.kind}:${ref.id}`;
    const known = sources.get(key);
    if (known !== undefined) return known;
    const made = createSource(ref);
    sources.set(key, made);
    return made;
  }

  function takeOne(message: Notification, now: number, signals: Signal[]): Outcome {
    if (message.topic === '') return 'empty';
    const known = findTopic(message.topic);
    if (known === undefined) noteUnknown(message);
    const row = known ?? unknownRow(message);
    if (row.kind === 'ignored') return 'ignored';
    const source = sourceFor(message);
    const readings = readAll(row, message, source.lastValues);
    if (readings === undefined) return 'unreadable';
    const before = signals.length;
    const flooded = readings.map((reading) => source.apply(row, reading, message, now, signals)).includes('flood');
    if (flooded) return 'flood';
    if (known === undefined) return 'unknown';
    return signals.length > before ? 'signal' : 'same';
  }

  function noteUnknown(message: Notification) {
    const items = Object.entries({ ...message.source, ...message.key, ...message.data }).map(([k, v]) => `${k}=${v}`);
    const count = (unknown.get(message.topic)?.count ?? 0) + 1;
    const text = [...items, ...message.elements].join(' ').slice(0, 200);
    unknown.set(message.topic, { topic: message.topic, count, items: text, lastAt: options.wall() });
  }

  const all = () => [...sources.entries()].map(([, source]) => source);

  return {
    take(messages, now) {
      const signals: Signal[] = [];
      const outcomes = messages.map((message) => takeOne(message, now, signals));
      return { signals, outcomes };
    },
    expire: (now) => all().flatMap((source) => source.expire(now)),
    remap(now) {
      const signals: Signal[] = [];
      const moved = all().flatMap((source) => source.release((message) => sourceFor(message) !== source, now, signals));
      for (const entry of moved) sourceFor(entry.message).adopt(entry, now, signals);
      return signals;
    },
    reset: () => sources.clear(),
    unknownTopics: () => [...unknown.entries()].map(([, topic]) => topic),
  };
}

/** What is on at one camera or channel. */
type Source = ReturnType<typeof createSource>;

function createSource(ref: DeviceRef) {
  const entries = new BoundedMap<string, Entry>(entryCap);
  const groups = new BoundedMap<string, Group>(groupCap);
  const lastValues = new BoundedMap<string, string>(groupCap);
  const bucket = tokenBucket(signalsPerSecond);

  function apply(row: TopicRow, reading: Reading, message: Notification, now: number, signals: Signal[]): Outcome {
    const replay = message.operation === 'Initialized';
    if (reading.value === 'pulse') {
      if (!bucket.take(now)) return 'flood';
      signals.push(signalOf(reading.detection, message, ruleOf(row, message), { active: true, pulse: true, replay }));
      return 'signal';
    }
    const id = entryId(row, message, reading);
    const old = entries.get(id);
    const on = reading.value;
    // A list of classes says of most only that they are not there.
    if (row.kind === 'classes' && !on && old === undefined) return 'same';
    const group = groupFor(row, reading, message);
    entries.set(id, { group, on, since: on && old?.on ? old.since : now, row, reading, message });
    // Off, or on as another class: what this source was before ends.
    if (old !== undefined && old.group !== group) settle(old.group, message, replay, now, signals);
    return settle(group, message, replay, now, signals);
  }

  function groupFor(row: TopicRow, reading: Reading, message: Notification): string {
    const token = tokenOf(row, message);
    const separate = row.token !== undefined || reading.detection === 'other';
    const id = separate ? `${reading.detection}|${message.topic}|${token ?? ''}` : reading.detection;
    if (!groups.has(id)) {
      groups.set(id, { detection: reading.detection, told: undefined, topic: message.topic, rule: token });
    }
    return id;
  }

  /** Tells a group's state if it differs from what was told last. Over the cap nothing is told until there is room again. */
  function settle(id: string, message: Notification, replay: boolean, now: number, signals: Signal[]): Outcome {
    const group = groups.get(id);
    if (group === undefined) return 'same';
    const on = isOn(id);
    if (on === group.told) return 'same';
    if (!bucket.take(now)) return 'flood';
    group.told = on;
    signals.push(
      signalOf(group.detection, message, group.rule ?? ruleOf(undefined, message), {
        active: on,
        pulse: false,
        replay,
      }),
    );
    return 'signal';
  }

  function isOn(group: string): boolean {
    for (const [, entry] of entries.entries()) if (entry.group === group && entry.on) return true;
    return false;
  }

  function signalOf(
    detection: DetectionClass,
    message: Pick<Notification, 'topic' | 'utcTime'>,
    rule: string | undefined,
    flags: { active: boolean; pulse: boolean; replay: boolean },
  ): Signal {
    return {
      kind: 'detection',
      source: ref,
      detection,
      ...flags,
      topic: message.topic,
      ...(rule !== undefined && { rule }),
      ...(message.utcTime !== undefined && { deviceTime: message.utcTime }),
    };
  }

  return {
    lastValues,
    apply,
    expire(now: number): readonly Signal[] {
      for (const [id, entry] of [...entries.entries()]) {
        const late = entry.on && entry.row.maxOnMs !== undefined && now - entry.since >= entry.row.maxOnMs;
        if (late) entries.delete(id);
      }
      const signals: Signal[] = [];
      for (const [id, group] of groups.entries()) {
        // Also tells what the flood cap held back.
        if (group.told !== undefined && group.told !== isOn(id) && bucket.take(now)) {
          group.told = !group.told;
          signals.push(
            signalOf(group.detection, group, group.rule, { active: group.told, pulse: false, replay: true }),
          );
        }
      }
      return signals;
    },
    /** Gives away the entries that are not its own any more. */
    release(isStrange: (message: Notification) => boolean, now: number, signals: Signal[]): readonly Entry[] {
      const leaving = [...entries.entries()].filter(([, { message }]) => isStrange(message));
      for (const [id] of leaving) entries.delete(id);
      for (const [, { group, message }] of leaving) settle(group, message, true, now, signals);
      return leaving.map(([, entry]) => entry);
    },
    adopt({ row, reading, message, on, since }: Entry, now: number, signals: Signal[]): void {
      const group = groupFor(row, reading, message);
      entries.set(entryId(row, message, reading), { group, on, since, row, reading, message });
      settle(group, message, true, now, signals);
    },
  };
}

/** Object ids stay apart (one field, several people); everything else that names the source, too. */
const entryId = (row: TopicRow, message: Notification, reading: Reading) =>
  [
    message.topic,
    JSON.stringify(message.source),
    JSON.stringify(message.key),
    row.kind === 'classes' || row.byData !== undefined ? reading.part : '',
  ].join('|');

function tokenBucket(perSecond: number) {
  let tokens = perSecond;
  let last = 0;
  return {
    take(now: number): boolean {
      tokens = Math.min(perSecond, tokens + ((now - last) / 1000) * perSecond);
      last = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

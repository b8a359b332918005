import { BoundedMap } from '#lib/bounded.ts';
import type { DetectionClass, DeviceRef, Signal } from '#site/model/index.ts';
import type { UnknownTopic } from './camera.ts';
import { type Notification, truth } from './notification.ts';
import { findTopic, objectClasses, type TopicRow } from './topics.ts';

/** What became of one message; the label of the metric. */
export type Outcome = 'signal' | 'same' | 'ignored' | 'unknown' | 'empty' | 'unreadable' | 'flood';

export interface Taken {
  readonly signals: readonly Signal[];
  readonly outcomes: readonly Outcome[];
}

/**
 * Turns one camera's messages into signals: edges only, one per class, however many topics, rules and objects report it.
 * Keeps what is on; times are monotonic milliseconds.
 */
export interface Normaliser {
  take(messages: readonly Notification[], now: number): Taken;
  /** Ends states that were on for longer than they can be: known no more, which is no edge (`replay`). */
  expire(now: number): readonly Signal[];
  /** Forgets all states, so that the camera's present ones are told again. */
  reset(): void;
  unknownTopics(): readonly UnknownTopic[];
}

/** One source of one state: a topic of a rule, an input, an object in a field. */
interface Entry {
  readonly group: string;
  readonly on: boolean;
  readonly since: number;
  readonly maxOnMs: number | undefined;
}

/** What is one thing for the rest of siteward: a class, or one input, relay or disk. */
interface Group {
  readonly detection: DetectionClass;
  told: boolean | undefined;
  readonly topic: string;
  readonly rule: string | undefined;
}

/** One reading of a message: which class, on or off or a pulse. */
interface Reading {
  readonly detection: DetectionClass;
  /** Tells readings of one message apart. */
  readonly part: string;
  readonly value: boolean | 'pulse';
}

const entryCap = 500;
const groupCap = 200;
const unknownCap = 100;
const signalsPerSecond = 50;

export function createNormaliser(options: { source: DeviceRef; wall: () => number }): Normaliser {
  const entries = new BoundedMap<string, Entry>(entryCap);
  const groups = new BoundedMap<string, Group>(groupCap);
  const lastValues = new BoundedMap<string, string>(groupCap);
  const unknown = new BoundedMap<string, UnknownTopic>(unknownCap);
  const bucket = tokenBucket(signalsPerSecond);

  function takeOne(message: Notification, now: number, signals: Signal[]): Outcome {
    if (message.topic === '') return 'empty';
    const known = findTopic(message.topic);
    if (known === undefined) noteUnknown(message);
    const row = known ?? unknownRow(message);
    if (row.kind === 'ignored') return 'ignored';
    const readings = readAll(row, message, lastValues);
    if (readings === undefined) return 'unreadable';
    const before = signals.length;
    const flooded = readings.map((reading) => apply(row, reading, message, now, signals)).includes('flood');
    if (flooded) return 'flood';
    if (known === undefined) return 'unknown';
    return signals.length > before ? 'signal' : 'same';
  }

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
    entries.set(id, { group, on, since: on && old?.on ? old.since : now, maxOnMs: row.maxOnMs });
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
      source: options.source,
      detection,
      ...flags,
      topic: message.topic,
      ...(rule !== undefined && { rule }),
      ...(message.utcTime !== undefined && { deviceTime: message.utcTime }),
    };
  }

  function noteUnknown(message: Notification) {
    const items = Object.entries({ ...message.source, ...message.key, ...message.data }).map(([k, v]) => `${k}=${v}`);
    const count = (unknown.get(message.topic)?.count ?? 0) + 1;
    const text = [...items, ...message.elements].join(' ').slice(0, 200);
    unknown.set(message.topic, { topic: message.topic, count, items: text, lastAt: options.wall() });
  }

  return {
    take(messages, now) {
      const signals: Signal[] = [];
      const outcomes = messages.map((message) => takeOne(message, now, signals));
      return { signals, outcomes };
    },
    expire(now) {
      for (const [id, entry] of [...entries.entries()]) {
        const late = entry.on && entry.maxOnMs !== undefined && now - entry.since >= entry.maxOnMs;
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
    reset() {
      entries.clear();
      groups.clear();
    },
    unknownTopics: () => [...unknown.entries()].map(([, topic]) => topic),
  };
}

/** Unknown topics survive as `other`: a state when there is one boolean-looking item, else a pulse. */
function unknownRow(message: Notification): TopicRow {
  const kind = onlyTruth(message) === undefined && message.operation !== 'Deleted' ? 'pulse' : 'state';
  return { topic: message.topic, kind, detection: 'other' };
}

/** Undefined when the message lacks what its row needs. */
function readAll(
  row: TopicRow,
  message: Notification,
  lastValues: BoundedMap<string, string>,
): readonly Reading[] | undefined {
  const detection = row.detection ?? 'other';
  switch (row.kind) {
    case 'pulse':
      return message.operation === 'Deleted' ? [] : [{ detection: classOf(row, message), part: '', value: 'pulse' }];
    case 'changed': {
      const value = firstValue(row, message);
      if (value === undefined) return undefined;
      const id = message.topic;
      const before = lastValues.get(id);
      lastValues.set(id, value);
      return before === undefined || before === value ? [] : [{ detection, part: '', value: 'pulse' }];
    }
    case 'classes':
      return readClasses(row, message);
    case 'state': {
      if (row.byData !== undefined) return readByData(row, message);
      const value = message.operation === 'Deleted' ? false : (truthOf(row, message) ?? onlyTruth(message));
      if (value !== undefined) return [{ detection: classOf(row, message), part: '', value }];
      // Without an operation and a boolean the message itself is the event (rule 4).
      return message.operation === undefined
        ? [{ detection: classOf(row, message), part: '', value: 'pulse' }]
        : undefined;
    }
    case 'ignored':
      return [];
  }
}

function readByData(row: TopicRow, message: Notification): readonly Reading[] | undefined {
  const readings: Reading[] = [];
  for (const [name, detection] of Object.entries(row.byData ?? {})) {
    const value = message.operation === 'Deleted' ? false : truth(message.data[name]);
    if (message.data[name] !== undefined && value !== undefined) readings.push({ detection, part: name, value });
  }
  if (readings.length > 0) return readings;
  const value = onlyTruth(message);
  return value === undefined ? undefined : [{ detection: row.detection ?? 'other', part: '', value }];
}

/** One state per class siteward knows: on when the list names it. An empty list ends them all. */
function readClasses(row: TopicRow, message: Notification): readonly Reading[] | undefined {
  const list = message.operation === 'Deleted' ? '' : firstValue(row, message);
  if (list === undefined) return undefined;
  const present = new Set(
    list
      .split(/[\s,]+/)
      .filter((word) => word !== '')
      .map((word) => objectClasses[word.toLowerCase()] ?? 'other'),
  );
  const all: readonly DetectionClass[] = ['person', 'vehicle', 'animal', 'face', 'package'];
  const absent = all.filter((detection) => !present.has(detection));
  return [
    ...[...present].map((detection) => ({ detection, part: detection, value: true })),
    ...absent.map((detection) => ({ detection, part: detection, value: false })),
  ];
}

function firstValue(row: TopicRow, message: Notification): string | undefined {
  const name = row.data?.find((item) => message.data[item] !== undefined);
  return name === undefined ? undefined : message.data[name];
}

const truthOf = (row: TopicRow, message: Notification) => truth(firstValue(row, message));

/** The value of the one item that looks like a boolean; undefined when there is none or more than one. */
function onlyTruth(message: Notification): boolean | undefined {
  const values = Object.values(message.data)
    .map(truth)
    .filter((value) => value !== undefined);
  return values.length === 1 ? values[0] : undefined;
}

function classOf(row: TopicRow, message: Notification): DetectionClass {
  const { byValue } = row;
  const text = byValue && (message.data[byValue.item] ?? message.source[byValue.item]);
  const word = text?.split(/[\s,]+/)[0]?.toLowerCase() ?? '';
  return byValue?.classes[word] ?? row.detection ?? 'other';
}

function tokenOf(row: TopicRow, message: Notification): string | undefined {
  const name = row.token?.find((item) => message.source[item] !== undefined);
  return name === undefined ? undefined : message.source[name];
}

function ruleOf(row: TopicRow | undefined, message: Notification): string | undefined {
  return (row && tokenOf(row, message)) ?? message.source.Rule ?? message.source.RuleName;
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

import { BoundedMap } from '#lib/bounded.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { UnknownTopic } from './camera.ts';
import type { Notification } from './notification.ts';
import { readAll, tokenOf, unknownRow } from './readings.ts';
import { createSourceStates, type SourceStates } from './source-states.ts';
import { suggestedLine } from './suggestion.ts';
import { fieldTiming } from './timing.ts';
import type { TopicRow } from './topic-row.ts';
import { topicFinder } from './topics.ts';

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
  /** Ends states that were on for longer than they can be, which is no edge (`replay`), and tells what a flood held back. */
  expire(now: number): readonly Signal[];
  /** Other sources may be meant now by the same messages: what is on moves to them, which is no edge (`replay`) unless a flood held it back. */
  remap(now: number): readonly Signal[];
  /** The device was asked how things stand: for a while after its first answer `Initialized` tells that, later that something is new. */
  subscribed(now: number): void;
  /** Forgets what was told, so that the device's present states are told again. What a flood held back is told all the same. */
  reset(): void;
  /** Something waits for room that `expire` will tell. */
  readonly holdsBack: boolean;
  unknownTopics(): readonly UnknownTopic[];
}

/** Of the device. More sources than a site may have cameras and channels are never named. */
const sourceCap = 100;
const unknownCap = 100;

export function createNormaliser(options: {
  /** What a message is about: the camera itself, or one of a recorder's channels. */
  sourceOf: (message: Notification) => DeviceRef;
  wall: () => number;
  /** The installer's own rows, looked at before the table. */
  own?: readonly TopicRow[];
  /** What becomes of topics that no row knows: signals of their own, or nothing at all. */
  unknown?: 'told' | 'ignored';
  /** So long after they were asked cameras say how things stand. */
  presentMs?: number;
}): Normaliser {
  const { presentMs = fieldTiming.presentMs } = options;
  const find = topicFinder(options.own);
  const sources = new BoundedMap<string, SourceStates>(sourceCap);
  const unknown = new BoundedMap<string, UnknownTopic>(unknownCap);
  let settledAt: number | undefined;
  let subscribedAt = 0;
  /** Since the subscription the device has told how things stand. */
  let hasTold = false;

  function sourceFor(message: Notification): SourceStates {
    const ref = options.sourceOf(message);
    const key = `${ref.kind}:${ref.id}`;
    const known = sources.get(key);
    if (known !== undefined) return known;
    const made = createSourceStates(ref);
    sources.set(key, made);
    return made;
  }

  function takeOne(message: Notification, now: number, signals: Signal[]): Outcome {
    if (message.topic === '') return 'empty';
    const known = find(message.topic);
    if (known === undefined) {
      if (options.unknown === 'ignored') return 'ignored';
      noteUnknown(message);
    }
    const row = known ?? unknownRow(message);
    if (row.kind === 'ignored' || tokenOf(row, message) === anyPort) return 'ignored';
    const source = sourceFor(message);
    const readings = readAll(row, message, source.lastValues);
    if (readings === undefined) return 'unreadable';
    // A value that has changed since it was told is news, however it is told.
    const present = message.operation === 'Initialized' && row.kind !== 'changed' && now < (settledAt ?? now);
    hasTold ||= present;
    const before = signals.length;
    const flooded = readings.map((reading) => source.apply({ row, message, reading, present, now }, signals));
    if (flooded.includes('flood')) return 'flood';
    if (known === undefined) return 'unknown';
    return signals.length > before ? 'signal' : 'same';
  }

  function noteUnknown(message: Notification) {
    const items = Object.entries({ ...message.source, ...message.key, ...message.data }).map(([k, v]) => `${k}=${v}`);
    const count = (unknown.get(message.topic)?.count ?? 0) + 1;
    const text = [...items, ...message.elements].join(' ').slice(0, 200);
    const lastAt = options.wall();
    unknown.set(message.topic, { topic: message.topic, count, items: text, lastAt, line: suggestedLine(message) });
  }

  const all = () => [...sources.entries()].map(([, source]) => source);

  return {
    take(messages, now) {
      settledAt ??= now + presentMs;
      const signals: Signal[] = [];
      const outcomes = messages.map((message) => takeOne(message, now, signals));
      return { signals, outcomes };
    },
    expire(now) {
      // It has answered, perhaps only now, and perhaps with nothing.
      settledAt ??= now + presentMs;
      // An object that went while nobody listened is told by not being told of: its `Deleted` is lost.
      if (hasTold && now >= settledAt) {
        hasTold = false;
        for (const source of all()) source.goneSince(subscribedAt);
      }
      return all().flatMap((source) => source.expire(now));
    },
    remap(now) {
      const signals: Signal[] = [];
      const moved = all().map((source) => source.release((message) => sourceFor(message) !== source, now, signals));
      for (const { entries, late } of moved) {
        for (const entry of entries) sourceFor(entry.message).adopt(entry, now, signals);
        for (const one of late) sourceFor(one.message).adoptLate(one);
      }
      return signals;
    },
    subscribed(now) {
      settledAt = undefined;
      subscribedAt = now;
      hasTold = false;
    },
    reset() {
      for (const source of all()) source.reset();
    },
    get holdsBack() {
      return all().some((source) => source.holdsBack);
    },
    unknownTopics: () => [...unknown.entries()].map(([, topic]) => topic),
  };
}

/** Axis tells the state of each port, and besides of "any". */
const anyPort = '-1';

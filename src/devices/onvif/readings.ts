import type { BoundedMap } from '#lib/bounded.ts';
import type { DetectionClass } from '#site/model/index.ts';
import { type Notification, truth } from './notification.ts';
import { objectClasses, type TopicRow } from './topics.ts';

/** One reading of a message: which class, on or off or a pulse. */
export interface Reading {
  readonly detection: DetectionClass;
  /** Tells readings of one message apart. */
  readonly part: string;
  readonly value: boolean | 'pulse';
}

/** Unknown topics survive as `other`: a state when there is one boolean-looking item, else a pulse. */
export function unknownRow(message: Notification): TopicRow {
  const kind = onlyTruth(message) === undefined && message.operation !== 'Deleted' ? 'pulse' : 'state';
  return { topic: message.topic, kind, detection: 'other' };
}

/** Undefined when the message lacks what its row needs. */
export function readAll(
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

export function tokenOf(row: TopicRow, message: Notification): string | undefined {
  const name = row.token?.find((item) => message.source[item] !== undefined);
  return name === undefined ? undefined : message.source[name];
}

export function ruleOf(row: TopicRow | undefined, message: Notification): string | undefined {
  return (row && tokenOf(row, message)) ?? message.source.Rule ?? message.source.RuleName;
}

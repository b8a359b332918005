import type { BoundedMap } from '#lib/bounded.ts';
import type { DetectionClass } from '#site/model/index.ts';
import { type Notification, truth } from './notification.ts';
import { isSighting, lasting, objectClasses, type TopicRow } from './topic-row.ts';

/** One reading of a message. */
export type Reading =
  | { readonly kind: 'pulse'; readonly classes: readonly DetectionClass[] }
  | {
      readonly kind: 'level';
      /** Tells the states of one message apart (Tapo's data names). */
      readonly part: string;
      /** All classes this source shows now. */
      readonly on: readonly DetectionClass[];
      /** Classes whose "off" is worth telling even where nothing was known of them. */
      readonly off: readonly DetectionClass[];
    };

/** What says that the camera or the picture is unwell lasts until the camera says that it is over. */
const lastingFaults: ReadonlySet<DetectionClass> = new Set<DetectionClass>([
  'tamper',
  'video_loss',
  'storage_fault',
  'hardware_fault',
  'network_fault',
]);

/** How long these classes of a row count without a word of the camera. */
export function longestMs(row: TopicRow, classes: readonly DetectionClass[]): number | undefined {
  const isMade = row.byData !== undefined || row.kind === 'pulse';
  if (isMade && classes.some((detection) => lastingFaults.has(detection))) return undefined;
  return row.kind === 'pulse' ? lasting.maxOnMs : row.maxOnMs;
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
  const { detection = 'other' } = row;
  switch (row.kind) {
    case 'pulse':
      return readPulse(row, message);
    case 'changed':
      return readChange(row, message, lastValues);
    case 'classes':
      return readClasses(row, message);
    case 'state': {
      if (row.byData !== undefined) return readByData(row, message);
      const value = message.operation === 'Deleted' ? false : (truth(firstValue(row, message)) ?? onlyTruth(message));
      if (value !== undefined) return [level(classesOf(row, message), value)];
      // Without a boolean the message itself is the event (rule 4), unless it is only told how things stand.
      const isEvent = message.operation === undefined || (message.operation === 'Changed' && happens(detection));
      return isEvent ? [{ kind: 'pulse', classes: classesOf(row, message) }] : undefined;
    }
    case 'ignored':
      return [];
  }
}

const happens = (detection: DetectionClass): boolean =>
  isSighting(detection) || detection === 'access' || detection === 'system' || detection === 'other';

const level = (classes: readonly DetectionClass[], on: boolean, part = ''): Reading =>
  on ? { kind: 'level', part, on: classes, off: [] } : { kind: 'level', part, on: [], off: classes };

/** A topic without an "off", unless this device has one after all. */
function readPulse(row: TopicRow, message: Notification): readonly Reading[] {
  if (message.operation === 'Deleted') return [];
  const classes = classesOf(row, message);
  const value = stateOf(message);
  return [value === undefined ? { kind: 'pulse', classes } : level(classes, value)];
}

/** The value of an item that is called a state; object numbers and counts look like truth words and are none. */
function stateOf(message: Notification): boolean | undefined {
  for (const [name, value] of Object.entries(message.data)) {
    if (/^(State|active|Is[A-Z]\w*)$/.test(name) && truth(value) !== undefined) return truth(value);
  }
  return undefined;
}

/** Cameras that reckon their start from how long they run are some seconds off each time. */
const jitterMs = 120_000;
/** What a camera says before it knows the time. */
const firstYear = Date.UTC(2001, 0);

function readChange(
  row: TopicRow,
  message: Notification,
  lastValues: BoundedMap<string, string>,
): readonly Reading[] | undefined {
  const value = firstValue(row, message);
  if (value === undefined || message.operation === 'Deleted') return undefined;
  const at = Date.parse(value);
  if (at < firstYear) return [];
  const before = lastValues.get(message.topic);
  const isSame = before === value || Math.abs(at - Date.parse(before ?? '')) < jitterMs;
  lastValues.set(message.topic, value);
  return before === undefined || isSame ? [] : [{ kind: 'pulse', classes: [row.detection ?? 'other'] }];
}

function readByData(row: TopicRow, message: Notification): readonly Reading[] | undefined {
  const readings: Reading[] = [];
  for (const [name, detection] of Object.entries(row.byData ?? {})) {
    const isGone = message.operation === 'Deleted';
    const value = isGone ? false : truth(message.data[name]);
    if (value !== undefined && (isGone || message.data[name] !== undefined)) {
      // What is deleted ends what was on; nothing is known of the classes it never named.
      readings.push(message.data[name] === undefined ? level([], value, name) : level([detection], value, name));
    }
  }
  if (readings.length > 0) return readings;
  const value = onlyTruth(message);
  return value === undefined ? undefined : [level([row.detection ?? 'other'], value)];
}

/** What is in view now. An empty list ends all of it. */
function readClasses(row: TopicRow, message: Notification): readonly Reading[] | undefined {
  const list = message.operation === 'Deleted' ? '' : firstValue(row, message);
  if (list === undefined) return undefined;
  const present = new Set(words(list).map((word) => objectClasses[word] ?? 'other'));
  return [{ kind: 'level', part: '', on: [...present], off: [] }];
}

const words = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[\s,;]+/)
    .filter((word) => word !== '');

function firstValue(row: TopicRow, message: Notification): string | undefined {
  const name = row.data?.find((item) => message.data[item] !== undefined);
  return name === undefined ? undefined : message.data[name];
}

/** The value of the one item that looks like a boolean; undefined when there is none or more than one. */
function onlyTruth(message: Notification): boolean | undefined {
  const values = Object.values(message.data)
    .map(truth)
    .filter((value) => value !== undefined);
  return values.length === 1 ? values[0] : undefined;
}

/**
 * What the message is about. Somebody in a field is both an intrusion and a person: a zone opened by either is opened.
 * A bell is no other alarm beside.
 */
function classesOf(row: TopicRow, message: Notification): readonly DetectionClass[] {
  const { byValue, detection = 'other' } = row;
  if (byValue === undefined) return [detection];
  const { item } = byValue;
  const texts =
    item === undefined
      ? [...Object.values(message.data), ...message.elementWords]
      : [message.data[item] ?? message.source[item] ?? ''];
  const told = texts.flatMap(words).flatMap((word) => byValue.classes[word] ?? []);
  return [...new Set(detection === 'other' && told.length > 0 ? told : [detection, ...told])];
}

export function tokenOf(row: TopicRow, message: Notification): string | undefined {
  const name = row.token?.find((item) => message.source[item] !== undefined);
  return name === undefined ? undefined : message.source[name];
}

export const ruleOf = (message: Notification): string | undefined => message.source.Rule ?? message.source.RuleName;

import { childrenNamed, descend, namespaceOf, textOf, type XmlElement } from '#lib/xml.ts';
import { ns } from './soap.ts';

export type Items = Readonly<Record<string, string>>;

/** One notification, everything still text. */
export interface Notification {
  /** Normalised; empty when the camera sent none. */
  readonly topic: string;
  readonly rawTopic: string;
  /** Absent when the camera sends none (Tapo, Ajax). */
  readonly operation?: 'Initialized' | 'Changed' | 'Deleted';
  readonly utcTime?: string;
  readonly source: Items;
  readonly key: Items;
  readonly data: Items;
  /** Names of data that is XML and not text. */
  readonly elements: readonly string[];
  /** Values in that data, for the words among them that tell a class. May be personal: never kept or shown. */
  readonly elementWords: readonly string[];
}

/** The notifications of an answer, in order, the first `most` of them. Total: odd messages come out empty, none throws. */
export function readNotifications(body: XmlElement, most = Number.POSITIVE_INFINITY): readonly Notification[] {
  const read: Notification[] = [];
  for (const message of messagesIn(body)) {
    if (read.length >= most) break;
    read.push(readNotification(message));
  }
  return read;
}

/** What stands within a message is its content, whatever it is called. */
function* messagesIn(element: XmlElement): Generator<XmlElement> {
  if (element.name === 'NotificationMessage') yield element;
  else for (const child of element.children) yield* messagesIn(child);
}

function readNotification(element: XmlElement): Notification {
  const topic = descend(element, 'Topic');
  const message = descend(element, 'Message', 'Message') ?? descend(element, 'Message');
  const operation = message?.attributes.PropertyOperation;
  const utcTime = message?.attributes.UtcTime;
  const elements = childrenNamed(descend(message, 'Data'), 'ElementItem').slice(0, maxItems);
  return {
    topic: topic === undefined ? '' : normaliseTopic(topic),
    rawTopic: printable(textOf(topic), 300),
    ...(isOperation(operation) && { operation }),
    ...(utcTime !== undefined && { utcTime: printable(utcTime, 40) }),
    source: items(descend(message, 'Source')),
    key: items(descend(message, 'Key')),
    data: items(descend(message, 'Data')),
    elements: elements.map((item) => item.attributes.Name ?? ''),
    elementWords: wordsIn(elements).slice(0, maxItems),
  };
}

const isOperation = (text: string | undefined): text is 'Initialized' | 'Changed' | 'Deleted' =>
  text === 'Initialized' || text === 'Changed' || text === 'Deleted';

const maxItems = 32;

function items(parent: XmlElement | undefined): Items {
  const result: Record<string, string> = Object.create(null);
  for (const item of childrenNamed(parent, 'SimpleItem').slice(0, maxItems)) {
    const { Name, Value } = item.attributes;
    if (Name !== undefined && Value !== undefined) result[printable(Name, 80)] ??= printable(Value.trim(), 200);
  }
  return result;
}

/** Texts and attribute values of elements and all they hold, the first of them. */
function wordsIn(elements: readonly XmlElement[], words: string[] = []): readonly string[] {
  for (const { text, attributes, children } of elements) {
    if (words.length >= maxItems) break;
    const { Name: _, ...own } = attributes;
    words.push(...[text, ...Object.values(own)].map((word) => word.trim().slice(0, 200)));
    wordsIn(children, words);
  }
  return words;
}

/** As a person may see it on a terminal. */
const printable = (text: string, length: number): string => text.replace(/\p{Cc}+/gu, ' ').slice(0, length);

/** Vendors' topic namespaces by the prefix this room's table writes for them. */
const vendors: Readonly<Record<string, string>> = {
  'http://www.axis.com/2009/event/topics': 'tnsaxis',
  'http://www.hikvision.com/2011/event/topics': 'tnshik',
  'http://www.samsungcctv.com/2011/event/topics': 'tnssamsung',
};

/**
 * The topic in one spelling: blanks, line breaks, empty segments and trailing marks gone, the
 * ONVIF prefix dropped wherever it stands, a vendor's prefix replaced by the one its namespace has here.
 */
function normaliseTopic(element: XmlElement): string {
  return textOf(element)
    .slice(0, 300)
    .replace(/[\s\p{Cc}]+/gu, '')
    .replace(/[/.]+$/, '')
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => normaliseSegment(element, segment))
    .join('/');
}

function normaliseSegment(element: XmlElement, segment: string): string {
  const colon = segment.indexOf(':');
  if (colon < 0) return segment;
  const prefix = segment.slice(0, colon);
  const name = segment.slice(colon + 1);
  const uri = namespaceOf(element, prefix);
  if (uri === ns.topics || (uri === undefined && /^tns1?$/.test(prefix))) return name;
  return `${(uri !== undefined && vendors[uri]) || prefix}:${name}`;
}

/** True words and false words (rule 3); undefined for everything else. Relay and job words are among them. */
export function truth(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  const word = text.toLowerCase();
  if (['true', '1', 'active', 'on', 'high'].includes(word)) return true;
  if (['false', '0', 'inactive', 'idle', 'off', 'low', ''].includes(word)) return false;
  return undefined;
}

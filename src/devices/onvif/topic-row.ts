import type { DetectionClass } from '#site/model/index.ts';

/**
 * What one topic means. Patterns are compared with the normalised topic (see `notification.ts`): the ONVIF prefix dropped,
 * vendor prefixes kept. `?:Name` takes a segment of that name with any vendor's prefix or none, `*` one segment, a `**` at
 * the end the rest. First match wins.
 */
export interface TopicRow {
  readonly topic: string;
  /**
   * state: on and off, by a truth word. pulse: each message is one event. classes: a list of what is in view, empty when
   * nothing is. changed: an event when the value differs from the last one. ignored: known, and nothing for siteward.
   */
  readonly kind: 'state' | 'pulse' | 'classes' | 'changed' | 'ignored';
  readonly detection?: DetectionClass;
  /** Names of the data item that holds the value, best first. Never by position. */
  readonly data?: readonly string[];
  /** The data item's name tells the class (Tapo). */
  readonly byData?: Readonly<Record<string, DetectionClass>>;
  /**
   * Words that tell the class beside the row's own: the value of an item, such as the rule's name (AcuSense) or a list of
   * object classes (Axis), or, without an item, any value and the text of any element.
   */
  readonly byValue?: { readonly item?: string; readonly classes: Readonly<Record<string, DetectionClass>> };
  /** Items that tell one thing from another of the same class: inputs, relays, disks. Others are merged by class. */
  readonly token?: readonly string[];
  /** What happens, where the class has several things and the topic stands for one. */
  readonly item?: string;
  /** After so long without a word of it the state counts as unknown. Only for what cannot last. */
  readonly maxOnMs?: number;
}

const seconds = 1000;
export const minutes = 60 * seconds;

export type More = Omit<TopicRow, 'topic' | 'kind' | 'detection' | 'data'>;

export const state = (topic: string, detection: DetectionClass, data: string, more: More = {}): TopicRow => ({
  topic,
  kind: 'state',
  detection,
  data: data.split(' '),
  ...more,
});

export const pulse = (topic: string, detection: DetectionClass, more: More = {}): TopicRow => ({
  topic,
  kind: 'pulse',
  detection,
  ...more,
});

export const ignored = (topic: string): TopicRow => ({ topic, kind: 'ignored' });

export const lasting = { maxOnMs: 10 * minutes };
export const shortly = { maxOnMs: 2 * minutes };

/** Words for object classes, lower case, as devices and the standard write them. */
export const objectClasses: Readonly<Record<string, DetectionClass>> = {
  human: 'person',
  person: 'person',
  people: 'person',
  face: 'face',
  humanface: 'face',
  vehicle: 'vehicle',
  vehical: 'vehicle',
  car: 'vehicle',
  truck: 'vehicle',
  bus: 'vehicle',
  bike: 'vehicle',
  bicycle: 'vehicle',
  motorcycle: 'vehicle',
  licenseplate: 'vehicle',
  animal: 'animal',
  pet: 'animal',
  dog: 'animal',
  cat: 'animal',
  package: 'package',
};

/** Something that happens before the camera; the others are states of its surroundings and of itself. */
const sightings: ReadonlySet<DetectionClass> = new Set<DetectionClass>([
  'motion',
  'person',
  'vehicle',
  'animal',
  'face',
  'package',
  'doorbell',
  'intrusion',
  'line',
  'loitering',
  'object_left',
  'object_removed',
  'tamper',
  'sound',
]);

export const isSighting = (detection: DetectionClass): boolean => sightings.has(detection);

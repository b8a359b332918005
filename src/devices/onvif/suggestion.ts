import type { DetectionClass } from '#site/model/index.ts';
import { type Notification, truth } from './notification.ts';

/** What vendors call things, most telling first; a guess for a person to check, never used by itself. */
const guesses: readonly (readonly [RegExp, DetectionClass])[] = [
  [/tamper|sabotage|occlu|shelter|scenechange|defocus|masking/i, 'tamper'],
  [/videoloss|signalloss|nosignal/i, 'video_loss'],
  [/intru|fielddetect|regionentr|areaenter|enterregion|perimeter/i, 'intrusion'],
  [/Line(?![a-z])|tripwire|cross/i, 'line'],
  [/loiter|linger/i, 'loitering'],
  [/human|people|person|pedestrian/i, 'person'],
  [/Face(?![a-z])/, 'face'],
  [/vehicle|plate|Car(?![a-z])/, 'vehicle'],
  [/animal|(Pet|Dog|Cat)(?![a-z])/i, 'animal'],
  [/bell|visitor|Ring(?![a-z])/, 'doorbell'],
  [/package|parcel/i, 'package'],
  [/abandon|unattended/i, 'object_left'],
  [/remov|missing/i, 'object_removed'],
  [/motion|PIR/i, 'motion'],
  [/sound|audio|scream/i, 'sound'],
  [/alarmin|input/i, 'input'],
  [/relay|output/i, 'relay'],
  [/disk|storage/i, 'storage_fault'],
];

/** An entry of `topics:` for a topic nobody knows, on one line, as it is pasted into the configuration. */
export function suggestedLine({ topic, data }: Notification): string {
  const [value, ...more] = Object.keys(data).filter((name) => truth(data[name]) !== undefined);
  const word = guesses.find(([pattern]) => pattern.test(topic))?.[1] ?? 'other';
  // JSON's text is YAML's, whatever a camera writes.
  const item = value !== undefined && more.length === 0 ? `, data: ${JSON.stringify(value)}` : '';
  return `- { topic: ${JSON.stringify(topic)}, class: ${word}${item} }`;
}

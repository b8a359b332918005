import { escapeXml } from '#lib/xml.ts';
import { isoTime } from './soap.ts';

/** One notification as a camera sends it. */
export interface Notification {
  readonly topic: string;
  readonly operation: 'Initialized' | 'Changed' | 'Deleted' | undefined;
  readonly source: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
  /** Camera time, milliseconds. */
  readonly at: number;
}

/** A boolean property of the camera and the topic it is told under. */
export interface Property {
  readonly topic: string;
  readonly source: Readonly<Record<string, string>>;
  /** Name of the data item. */
  readonly item: string;
}

const analytics = (rule: string) => ({
  VideoSourceConfigurationToken: 'VideoSourceToken',
  VideoAnalyticsConfigurationToken: 'VideoAnalyticsToken',
  Rule: rule,
});

/** Motion is told twice, as most cameras do. */
export const properties = {
  motion: [
    { topic: 'tns1:VideoSource/MotionAlarm', source: { Source: 'VideoSource_1' }, item: 'State' },
    { topic: 'tns1:RuleEngine/CellMotionDetector/Motion', source: analytics('MyMotionDetectorRule'), item: 'IsMotion' },
  ],
  person: [{ topic: 'tns1:RuleEngine/MyRuleDetector/PeopleDetect', source: { Source: '000' }, item: 'State' }],
  tamper: [
    { topic: 'tns1:RuleEngine/TamperDetector/Tamper', source: analytics('MyTamperDetectorRule'), item: 'IsTamper' },
  ],
} as const satisfies Record<string, readonly Property[]>;

export type PropertyName = keyof typeof properties;
export const propertyNames = Object.keys(properties) as PropertyName[];

export function notificationXml(message: Notification): string {
  const operation = message.operation === undefined ? '' : ` PropertyOperation="${message.operation}"`;
  return (
    '<wsnt:NotificationMessage>' +
    `<wsnt:Topic Dialect="http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet">${escapeXml(message.topic)}</wsnt:Topic>` +
    `<wsnt:Message><tt:Message UtcTime="${isoTime(message.at)}"${operation}>` +
    `<tt:Source>${items(message.source)}</tt:Source><tt:Data>${items(message.data)}</tt:Data>` +
    '</tt:Message></wsnt:Message></wsnt:NotificationMessage>'
  );
}

const items = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `<tt:SimpleItem Name="${escapeXml(name)}" Value="${escapeXml(value)}"/>`)
    .join('');

/** The topics as nested elements, as GetEventProperties shows them. */
export function topicSetXml(): string {
  const all = propertyNames.flatMap((name): readonly Property[] => properties[name]);
  return all.map((property) => nest(property.topic.replace('tns1:', '').split('/'), property)).join('');
}

function nest(path: readonly string[], property: Property, depth = 0): string {
  const [name, ...rest] = path;
  if (name === undefined) {
    const sources = Object.keys(property.source).map((key) => itemDescription(key, 'tt:ReferenceToken'));
    return (
      `<tt:MessageDescription IsProperty="true"><tt:Source>${sources.join('')}</tt:Source>` +
      `<tt:Data>${itemDescription(property.item, 'xs:boolean')}</tt:Data></tt:MessageDescription>`
    );
  }
  const tag = depth === 0 ? `tns1:${name}` : name;
  const leaf = rest.length === 0 ? ' wstop:topic="true"' : '';
  return `<${tag}${leaf}>${nest(rest, property, depth + 1)}</${tag}>`;
}

const itemDescription = (name: string, type: string): string =>
  `<tt:SimpleItemDescription Name="${name}" Type="${type}"/>`;

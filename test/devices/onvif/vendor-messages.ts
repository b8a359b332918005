import { createNormaliser } from '#devices/onvif/normalise.ts';
import { readNotifications } from '#devices/onvif/notification.ts';
import { parseXml } from '#lib/xml.ts';
import { detections } from './harness.ts';
import { notification, soap } from './scripted-camera.ts';

export type Items = Record<string, string>;
type Operation = 'Initialized' | 'Changed' | 'Deleted' | undefined;

/** One message: topic, source, data, operation, key. */
export type Message = readonly [topic: string, source: Items, data: Items, operation?: Operation, key?: Items];

export const say = ([topic, source, data, operation, key]: Message) =>
  notification({
    topic,
    source,
    data,
    ...(operation !== undefined && { operation }),
    ...(key !== undefined && { key }),
  });

/** What a camera's messages, one after the other, become: `+` on, `-` off, `!` pulse, `~` present state. */
export function signalsOf(texts: readonly string[]): string[] {
  const camera = createNormaliser({ sourceOf: () => ({ kind: 'camera', id: 'yard' }), wall: () => 0 });
  return texts.flatMap((text, at) =>
    detections(camera.take(readNotifications(parseXml(soap(text))), 1_000_000 + at * 1000).signals).map(
      ({ detection, active, pulse, replay, rule }) =>
        `${detection}${rule === undefined ? '' : `(${rule})`}${pulse ? '!' : active ? '+' : '-'}${replay ? '~' : ''}`,
    ),
  );
}

export const C = 'Changed';
export const I = 'Initialized';
export const D = 'Deleted';

/** The vendor's source items as it writes them. */
export const reolink = { Source: '000' };
export const tapo = {
  VideoSourceConfigurationToken: 'vsconf',
  VideoAnalyticsConfigurationToken: 'VideoAnalyticsToken',
};
export const hik = { VideoSourceConfigurationToken: '00000', VideoAnalyticsConfigurationToken: '00000' };
export const none = {};
export const my = 'tns1:RuleEngine/MyRuleDetector';
export const cell = 'tns1:RuleEngine/CellMotionDetector';
export const smart = 'tns1:RuleEngine/TPSmartEventDetector/TPSmartEvent';
export const field = 'tns1:RuleEngine/FieldDetector/ObjectsInside';
export const line = 'tns1:RuleEngine/LineDetector/Crossed';
export const platform = 'tnsaxis:CameraApplicationPlatform';
export const state = (value: string): Items => ({ State: value });

export type Row = readonly [what: string, messages: readonly Message[], signals: readonly string[]];

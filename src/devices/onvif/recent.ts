import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { Outcome } from './normalise.ts';
import type { Notification } from './notification.ts';

/** One message of a device, for the technician who watches it. */
export interface RecentMessage {
  /** Rises by one with each message of the device. */
  readonly number: number;
  /** Wall clock when it came, milliseconds. */
  readonly at: number;
  /** The camera's own time, as it wrote it. */
  readonly deviceTime?: string;
  readonly topic: string;
  readonly operation?: Notification['operation'];
  /** `name=value` of source, key and data, at most `longest` characters. */
  readonly items: string;
  readonly outcome: Outcome;
  /** What siteward made of it; empty where nothing changed. */
  readonly signals: readonly Meaning[];
}

export interface Meaning {
  readonly source: DeviceRef;
  readonly detection: string;
  readonly state: 'on' | 'off' | 'pulse';
  /** The present state, told by the camera when it was asked; no edge. */
  readonly replay: boolean;
}

export interface RecentMessages {
  readonly items: readonly RecentMessage[];
  /** The number of the newest message there was, for the next question. */
  readonly last: number;
}

export interface Recent {
  note(outcome: Outcome, message: Notification, signals: readonly Signal[]): void;
  /** Those with a higher number, oldest first; all, when that number was never given (another life of the daemon). */
  after(number: number): RecentMessages;
}

const kept = 50;
const longest = 1000;

/** The last messages of one device, in memory only. */
export function recentMessages(wall: () => number): Recent {
  const items: RecentMessage[] = [];
  let last = 0;
  return {
    note(outcome, message, signals) {
      last += 1;
      items.push(messageOf({ number: last, at: wall(), outcome }, message, signals));
      if (items.length > kept) items.shift();
    },
    after: (number) => ({ items: number > last ? [...items] : items.filter((item) => item.number > number), last }),
  };
}

function messageOf(
  about: Pick<RecentMessage, 'number' | 'at' | 'outcome'>,
  { rawTopic, operation, utcTime, source, key, data, elements }: Notification,
  signals: readonly Signal[],
): RecentMessage {
  const texts = [source, key, data].flatMap((group) =>
    Object.entries(group).map(([name, value]) => `${name}=${value}`),
  );
  return {
    ...about,
    ...(utcTime !== undefined && { deviceTime: utcTime }),
    topic: rawTopic,
    ...(operation !== undefined && { operation }),
    items: [...texts, ...elements].join(' ').slice(0, longest),
    signals: signals.flatMap((signal) => (signal.kind === 'detection' ? [meaningOf(signal)] : [])),
  };
}

const meaningOf = ({ source, detection, active, pulse, replay }: Signal & { kind: 'detection' }): Meaning => ({
  source,
  detection,
  state: pulse ? 'pulse' : active ? 'on' : 'off',
  replay,
});

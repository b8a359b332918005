import {
  type ClockQuality,
  clockQualities,
  eventClasses,
  isoTime,
  partitionPattern,
  type SiteEvent,
} from '#site/model/index.ts';

/** The public event as it is stored, and the columns of its row. */
export interface StoredEvent {
  readonly seq: number;
  /** JSON text. No checksum covers it. */
  readonly event: string;
  readonly eventId: string;
  readonly eventClass: string;
  readonly partition: string | null;
  readonly wall: number;
  readonly clock: ClockQuality;
}

/** The last moment a date can hold, Unix milliseconds. */
const latestMs = 8.64e15;
/** What an event is called whose text cannot be read. */
const unreadableKind = 'unreadable';

/** Never throws, so that one damaged text hides no list: it is shown as an event made from the columns of its row. */
export function publicEvent(stored: StoredEvent): SiteEvent {
  try {
    const event: unknown = JSON.parse(stored.event);
    if (isEvent(event)) return event;
  } catch {
    // Shown as unreadable.
  }
  const { partition } = stored;
  return {
    event_id: stored.eventId,
    event_type: unreadableKind,
    kind: unreadableKind,
    class: eventClasses.find((known) => known === stored.eventClass) ?? 'system',
    status: 'active',
    ...(partition !== null && partitionPattern.test(partition) && { partition }),
    seq: stored.seq,
    source: 'store',
    at: isoTime(Math.abs(stored.wall) <= latestMs ? stored.wall : 0),
    data: {
      version: 1,
      epoch: 0,
      clock: clockQualities.find((known) => known === stored.clock) ?? 'doubtful',
      detail: 'the stored event cannot be read; what is shown comes from its columns',
    },
  };
}

/** It was made from columns: its number is its row's seq until somebody looks for it. */
export const isUnread = ({ kind, source }: SiteEvent): boolean => kind === unreadableKind && source === 'store';

const texts = ['event_id', 'event_type', 'kind', 'class', 'status', 'source', 'at'] as const;

/** As much as every reader relies on; the whole schema for each event would hold up a list. */
function isEvent(value: unknown): value is SiteEvent {
  if (typeof value !== 'object' || value === null) return false;
  const found = value as Partial<Record<keyof SiteEvent, unknown>>;
  return (
    texts.every((name) => typeof found[name] === 'string') &&
    typeof found.seq === 'number' &&
    typeof found.data === 'object' &&
    found.data !== null
  );
}

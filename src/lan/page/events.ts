import type { EventEntry } from '#lan/http/index.ts';
import type { Words } from './text.ts';

export type SiteEvent = EventEntry['event'];

/** Older events that were asked for: all before `reach`, and what is before `next` is still to be asked for; null: nothing is. */
interface Older {
  readonly reach: number;
  readonly next: number | null | undefined;
}

/**
 * Whether events are missing between the live list and the older ones, and before which number the next are asked for.
 * `lastLive`: the oldest of the live list; `isFull`: some have left that. Numbers of one class have gaps. Pure.
 */
export function olderFrom(lastLive: number | undefined, isFull: boolean, { reach, next }: Older) {
  if (lastLive === undefined) return { isApart: false, from: next };
  const isApart = isFull && reach < lastLive;
  return { isApart, from: isApart || (typeof next === 'number' && next > lastLive) ? lastLive : next };
}

/** The way of an event to the cloud, a sentence for each step. Pure. */
export function trailOf(entry: EventEntry, { t, word, time }: Words): readonly string[] {
  const { event, delivery, delivered_at: at, tries = 0, reason } = entry;
  return [
    t('events.made', { time: time(event.at) }),
    ...(tries > 0 ? [t('events.tries', { count: tries })] : []),
    at === undefined ? word('delivery', delivery) : t('events.accepted', { time: time(at) }),
    ...(reason === undefined ? [] : [reason]),
  ];
}

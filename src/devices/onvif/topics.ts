import { BoundedMap } from '#lib/bounded.ts';
import type { TopicRow } from './topic-row.ts';
import { coreTopics } from './topics-core.ts';
import { vendorTopics } from './topics-vendors.ts';

export const topicTable: readonly TopicRow[] = [...coreTopics, ...vendorTopics];

/** The row of a normalised topic; undefined for a topic that is in no row. */
export type TopicFinder = (topic: string) => TopicRow | undefined;

/** A camera says the same few topics again and again. */
const foundCap = 200;

/** Looks among `own` first, then in the table. */
export function topicFinder(own: readonly TopicRow[] = []): TopicFinder {
  const rows = [...own, ...topicTable].map((row) => ({ row, pattern: row.topic.split('/') }));
  const found = new BoundedMap<string, TopicRow | null>(foundCap);
  return (topic) => {
    const before = found.get(topic);
    if (before !== undefined) return before ?? undefined;
    const segments = topic.split('/');
    const row = rows.find(({ pattern }) => matches(pattern, segments))?.row;
    found.set(topic, row ?? null);
    return row;
  };
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const open = pattern.at(-1) === '**';
  if (open ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  const fixed = open ? pattern.slice(0, -1) : pattern;
  return fixed.every((part, at) => matchesSegment(part, segments[at] ?? ''));
}

function matchesSegment(part: string, segment: string): boolean {
  if (part === '*') return true;
  if (part.startsWith('?:')) return segment.slice(segment.indexOf(':') + 1) === part.slice(2);
  return part === segment;
}

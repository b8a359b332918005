import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { type DetectionClass, detectionClasses } from '#site/model/index.ts';
import { isSighting, lasting, type TopicRow } from './topic-row.ts';

const words = [...detectionClasses, 'ignored'] as const;

/** One entry of `topics:` of a camera or recorder: what a topic means that the table does not know, or that it means otherwise. */
const topicMapping = z
  .strictObject({
    topic: z
      .string()
      .min(1)
      .max(300)
      .regex(
        /^[^\s/]+(\/[^\s/]+)*$/,
        'must be a topic as "siteward camera events" shows it, such as tns1:RuleEngine/MyRule/Seen',
      )
      .describe(
        'Topic as the camera names it; a prefix may be left out, * stands for one part, ** at the end for the rest',
      ),
    class: z.enum(words).describe('What it means; ignored for nothing'),
    data: z
      .string()
      .min(1)
      .max(80)
      .optional()
      .describe('Name of the data item that is true or false; without it the only one that looks so'),
    kind: z
      .enum(['state', 'pulse'])
      .optional()
      .describe(
        'state: it begins and ends. pulse: each message is one event. Without it, what each message looks like',
      ),
    max_on: duration({ min: '1s', max: '24h' })
      .optional()
      .describe(
        'After so long without a word of the camera a state counts as over; without it 10 minutes for what is seen',
      ),
  })
  .refine((entry) => entry.kind !== 'pulse' || (entry.data === undefined && entry.max_on === undefined), {
    path: ['kind'],
    error: 'a pulse has no data and no max_on',
  })
  .refine((entry) => entry.class !== 'ignored' || Object.keys(entry).length === 2, {
    path: ['class'],
    error: 'what is ignored has only a topic',
  });

export const topicMappings = z
  .array(topicMapping)
  .max(100)
  .refine((list) => new Set(list.map(({ topic }) => bare(topic))).size === list.length, 'name the same topic twice')
  .optional()
  .describe('Own meaning of event topics, looked at before what siteward knows');

export type TopicMapping = z.output<typeof topicMapping>;

/** The rows these entries make. */
export function ownRows(mappings: readonly TopicMapping[] = []): readonly TopicRow[] {
  return mappings.map(({ topic, class: word, data, kind, max_on: maxOnMs }): TopicRow => {
    const row = { topic: anyPrefix(topic) };
    if (word === 'ignored') return { ...row, kind: 'ignored' };
    return {
      ...row,
      kind: kind ?? 'state',
      detection: word,
      ...(data !== undefined && { data: [data] }),
      ...(kind !== 'pulse' && longest(maxOnMs ?? usualMs(word))),
    };
  });
}

const longest = (maxOnMs: number | undefined) => (maxOnMs === undefined ? {} : { maxOnMs });

/** What happens before a camera is over some time; that it is covered, broken or switched may last. */
const usualMs = (word: DetectionClass): number | undefined =>
  isSighting(word) && word !== 'tamper' ? lasting.maxOnMs : undefined;

/** Firmware changes the prefixes of names it made up; the names stay. */
const anyPrefix = (topic: string): string =>
  topic
    .split('/')
    .map((segment) => (segment === '*' || segment === '**' ? segment : `?:${bare(segment)}`))
    .join('/');

const bare = (topic: string): string => topic.replace(/(^|\/)[^/:]*:/g, '$1');

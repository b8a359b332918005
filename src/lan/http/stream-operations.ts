import { z } from 'zod';
import { lanOperation, problemResponse } from './lan-operation.ts';

const streamTopics = ['events', 'status', 'zones', 'partitions', 'playbacks'] as const;
export type StreamTopic = (typeof streamTopics)[number];

const oneTopic = `(?:${streamTopics.join('|')})`;

const streamQuery = z.strictObject({
  topics: z
    .string()
    .regex(
      new RegExp(`^${oneTopic}(?:,${oneTopic})*$`),
      `must be some of ${streamTopics.join(', ')}, with commas between`,
    )
    .default(streamTopics.join(','))
    .describe('What is told, with commas between. What this account or key may not see is left out.'),
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .exactOptional()
    .describe('The seq of the last event that was seen: those behind it come first. `Last-Event-ID` goes before it.'),
});

const streamEvents = lanOperation({
  id: 'streamEvents',
  method: 'GET',
  path: '/api/v1/stream',
  summary: 'Events and changes of state as they come, as server-sent events',
  query: streamQuery,
  responses: {
    200: { description: 'Messages until one side ends it; see docs/lan-api.md', media: 'text/event-stream' },
    400: problemResponse('A query member, or Last-Event-ID, is wrong'),
    503: problemResponse('Too many streams are open, or siteward is starting or stopping'),
  },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

export const streamOperations = { streamEvents } as const;

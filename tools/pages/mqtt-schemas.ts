import { z } from 'zod';
import { type TopicSpec, topicTable } from '#lan/mqtt/index.ts';

/** `docs/schemas/mqtt.schema.json`: every JSON payload of the topic table, under the topic's name in the table. */
export function mqttSchemas(): unknown {
  const $defs = Object.fromEntries(
    Object.entries(topicTable as Record<string, TopicSpec>).flatMap(([name, { topic, payload }]) => {
      const json = 'json' in payload ? payload.json : 'or' in payload ? payload.or : undefined;
      if (json === undefined) return [];
      const { $schema: _, ...schema } = z.toJSONSchema(json, { io: 'input' });
      return [[snake(name), { title: topic, ...schema }]];
    }),
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'Made from src/lan/mqtt/table.ts by "npm run generate"; do not edit.',
    title: 'Payloads of siteward/1',
    $defs,
  };
}

/** `partitionDetail` is `partition_detail`. */
export const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

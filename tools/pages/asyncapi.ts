import { z } from 'zod';
import { type Role, type TopicSpec, topicTable } from '#lan/mqtt/index.ts';
import { snake } from './mqtt-schemas.ts';
import { license, yamlPage } from './openapi.ts';

/** `docs/asyncapi.yaml`: the topic table as AsyncAPI 3, from siteward's side: it receives commands and sends the rest. */
export function asyncApi(): string {
  const rows = Object.entries(topicTable as Readonly<Record<string, TopicSpec>>).map(([key, spec]) => row(key, spec));
  return yamlPage('src/lan/mqtt/table.ts', {
    asyncapi: '3.0.0',
    info: {
      title: 'siteward/1',
      // Of the interface, which `siteward/1` in each topic names; not of the product.
      version: '1.0.0',
      license: { name: license.name, url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description:
        'The LAN MQTT API of a site. docs/mqtt.md says what it means; `x-read` and `x-write` are the roles that may read and write a topic.',
    },
    defaultContentType: 'application/json',
    servers: {
      site: {
        host: 'localhost:1883',
        protocol: 'mqtt',
        description: "The site's broker: the embedded one (MQTT 3.1.1), or mosquitto (3.1.1 and 5).",
        security,
      },
    },
    channels: Object.fromEntries(rows.map(({ name, channel }) => [name, channel])),
    operations: Object.fromEntries(rows.map(({ name, operation }) => [name, operation])),
    components: {
      securitySchemes: {
        login: {
          type: 'userPassword',
          description: 'User name and password; without them as `local` where the broker listens on loopback alone.',
        },
      },
      messages: Object.fromEntries(rows.map(({ name, message }) => [name, message])),
    },
  });
}

const security = [{ $ref: '#/components/securitySchemes/login' }];

const parameters: Readonly<Record<string, string>> = {
  site: '`site.external_id` in lower case, other characters as "-".',
  id: 'Number or id of the thing, or the rest of a reply topic.',
  class: 'Class of the event.',
  client: "The client's own name.",
};

function row(key: string, spec: TopicSpec) {
  const name = snake(key);
  const address = `siteward/1/{site}/${spec.topic}`;
  const message = { name, ...messageOf(spec.payload) };
  const isAsked = spec.topic.startsWith('cmd/') || spec.topic.startsWith('in/');
  const clients = (given: readonly Role[]) => given.filter((role) => role !== 'siteward');
  return {
    name,
    message,
    channel: {
      address,
      messages: { [name]: { $ref: `#/components/messages/${name}` } },
      parameters: Object.fromEntries(
        [...address.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => [one, { description: parameters[one] ?? one }]),
      ),
      'x-read': clients(spec.read),
      'x-write': clients(spec.write),
    },
    operation: {
      action: isAsked ? 'receive' : 'send',
      channel: { $ref: `#/channels/${name}` },
      messages: [{ $ref: `#/channels/${name}/messages/${name}` }],
      security,
      bindings: { mqtt: { qos: spec.qos, retain: spec.retain, bindingVersion: '0.2.0' } },
      ...(isAsked && {
        reply: {
          address: { location: '$message.payload#/reply_to', description: 'Or the response topic of MQTT 5.' },
          channel: { $ref: '#/channels/reply' },
          messages: [{ $ref: '#/channels/reply/messages/reply' }],
        },
      }),
    },
  };
}

function messageOf(payload: TopicSpec['payload']): { contentType: string; payload: unknown } {
  if ('json' in payload) return { contentType: 'application/json', payload: schemaOf(payload.json) };
  if ('text' in payload) return { contentType: 'text/plain', payload: { type: 'string', description: payload.text } };
  const words = { type: 'string', enum: [...payload.words] };
  return {
    contentType: 'text/plain',
    payload: payload.or === undefined ? words : { anyOf: [words, schemaOf(payload.or)] },
  };
}

/** AsyncAPI's own schemas are those of draft 7 and a little more. */
function schemaOf(json: z.ZodType): unknown {
  const { $schema: _, ...schema } = z.toJSONSchema(json, { io: 'input', target: 'draft-7' });
  return schema;
}

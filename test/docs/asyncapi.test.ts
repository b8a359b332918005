import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type TopicSpec, topicTable } from '#lan/mqtt/index.ts';
import { read } from './markdown.ts';

interface Operation {
  readonly action: string;
  readonly channel: { readonly $ref: string };
  readonly bindings: { readonly mqtt: { readonly qos: number; readonly retain: boolean } };
  readonly reply?: object;
}
interface Channel {
  readonly address: string;
  readonly parameters: object;
  readonly 'x-read': readonly string[];
  readonly 'x-write': readonly string[];
}
interface Document {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly contentType: string; readonly payload: object }>>;
  };
}

const root = join(import.meta.dirname, '../..');
const fresh = (): Document => parse(read('docs/asyncapi.yaml'));

/** The shape of AsyncAPI 3 as far as siteward writes it, by hand: redocly lets wrong bindings and parameters through. */
const text = { type: 'string', minLength: 1 };
const closed = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const to = (pattern: string) => closed({ $ref: { type: 'string', pattern } });
const map = (of: object) => ({ type: 'object', minProperties: 1, additionalProperties: of });
const names = { type: 'array', items: text, uniqueItems: true };
const security = { type: 'array', minItems: 1, items: to('^#/components/securitySchemes/\\w+$') };
const messages = { type: 'array', minItems: 1, items: to('^#/channels/\\w+/messages/\\w+$') };
const channelRef = to('^#/channels/\\w+$');
const shape = closed({
  asyncapi: { const: '3.0.0' },
  info: closed({ title: text, version: text, license: closed({ name: text, url: text }), description: text }),
  defaultContentType: text,
  servers: map(closed({ host: text, protocol: { enum: ['mqtt', 'secure-mqtt'] }, description: text, security })),
  channels: map(
    closed({
      address: { type: 'string', pattern: '^siteward/1/[{]site[}](/([a-z_]+|[{][a-z]+[}]))+$' },
      messages: map(to('^#/components/messages/\\w+$')),
      parameters: map(closed({ description: text })),
      'x-read': names,
      'x-write': names,
    }),
  ),
  operations: map(
    closed(
      {
        action: { enum: ['send', 'receive'] },
        channel: channelRef,
        messages,
        security,
        bindings: closed({
          mqtt: closed({ qos: { enum: [0, 1, 2] }, retain: { type: 'boolean' }, bindingVersion: { const: '0.2.0' } }),
        }),
        reply: closed({
          address: closed({
            location: { type: 'string', pattern: '^[$]message[.](header|payload)#/' },
            description: text,
          }),
          channel: channelRef,
          messages,
        }),
      },
      ['action', 'channel', 'messages', 'security', 'bindings'],
    ),
  ),
  components: closed({
    securitySchemes: map(closed({ type: { const: 'userPassword' }, description: text })),
    messages: map(closed({ name: text, contentType: text, payload: { type: 'object' } })),
  }),
});

const ajv = new Ajv({ strict: false, validateFormats: false });

/** What is wrong with a document: its shape, references that lead nowhere, parameters its address does not have, payloads that are no schemas. */
function problems(document: Document): string[] {
  const found: string[] = [];
  if (!ajv.validate(shape, document)) found.push(ajv.errorsText());
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $ref } = value as { $ref?: unknown };
    if (typeof $ref === 'string' && at(document, $ref) === undefined) found.push(`${$ref} leads nowhere`);
    Object.values(value).forEach(look);
  };
  look({ ...document, components: undefined });
  for (const [name, { address, parameters }] of Object.entries(document.channels)) {
    const inAddress = [...address.matchAll(/\{(\w+)\}/g)].map(([, one]) => one);
    if (inAddress.toSorted().join() !== Object.keys(parameters).toSorted().join()) found.push(`parameters of ${name}`);
  }
  for (const [name, { payload }] of Object.entries(document.components.messages)) {
    if (ajv.validateSchema(payload) !== true) found.push(`the payload of ${name} is no schema`);
  }
  return found;
}

const at = (from: unknown, ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], from);

/** What redocly says of a document, by its rules; it asks nobody on the network. */
function lint(document: object): Promise<readonly string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-asyncapi-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'asyncapi.yaml');
  writeFileSync(file, stringify(document, { aliasDuplicateObjects: false }));
  const args = [join(root, 'node_modules/.bin/redocly'), 'lint', '--format=json', file];
  const env = { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: root, env, timeout: 60_000 }, (_, out, err) => {
      try {
        const report = JSON.parse(out) as { problems: readonly { ruleId: string; message: string }[] };
        resolve(report.problems.map(({ ruleId, message }) => `${ruleId}: ${message}`));
      } catch {
        reject(new Error(`the linter said: ${err}`));
      }
    });
  });
}

test('docs/asyncapi.yaml lints clean, and is AsyncAPI 3 by the stricter check', async () => {
  expect(await lint(fresh())).toEqual([]);
  expect(problems(fresh())).toEqual([]);
});

test('the linter finds a planted mistake', async () => {
  const { operations: _, ...document } = fresh();
  const planted = { ...document, operations: { status: { action: 'shout', channel: { $ref: '#/channels/status' } } } };
  expect((await lint(planted)).join()).toMatch(/struct: .*action/);
});

test.each<[what: string, where: string, value: unknown]>([
  ['an action that is none', '#/operations/cmd_arm/action', 'publish'],
  ['an unknown word', '#/operations/cmd_arm/qos', 1],
  ['a QoS that is none', '#/operations/cmd_arm/bindings/mqtt/qos', 7],
  ['a message that is not there', '#/channels/cmd_arm/messages/cmd_arm/$ref', '#/components/messages/cmd_leg'],
  ['a reply to no channel', '#/operations/cmd_arm/reply/channel/$ref', '#/channels/answers'],
  ['an address with a parameter nobody explains', '#/channels/status/address', 'siteward/1/{site}/{what}/status'],
  ['a payload that is no schema', '#/components/messages/cmd_arm/payload/type', 'structure'],
])('the stricter check finds %s', (_, where, value) => {
  const document = fresh();
  const cut = where.lastIndexOf('/');
  (at(document, where.slice(0, cut)) as Record<string, unknown>)[where.slice(cut + 1)] = value;
  expect(problems(document)).not.toEqual([]);
});

/** The table read out of the document. */
function rows() {
  const document = fresh();
  const { operations, components } = document;
  return Object.entries(operations).map(([name, { action, channel, bindings, reply }]) => {
    const { address, ...rights } = at(document, channel.$ref) as Channel;
    const { contentType, payload } = components.messages[name] ?? {};
    const { qos, retain } = bindings.mqtt;
    return {
      topic: address.replace('siteward/1/{site}/', ''),
      ...{ action, qos, retain, reply: reply !== undefined, contentType, payload },
      read: rights['x-read'],
      write: rights['x-write'],
    };
  });
}

test('it has every row of the table with its QoS, retain flag, roles and payload, and no other', () => {
  const table = Object.values<TopicSpec>(topicTable);
  const clients = (roles: readonly string[]) => roles.filter((role) => role !== 'siteward');
  const found = rows();
  expect(found.map(({ topic, qos, retain, read: r, write: w }) => ({ topic, qos, retain, read: r, write: w }))).toEqual(
    table.map(({ topic, qos, retain, read: r, write: w }) => ({
      topic,
      qos,
      retain,
      read: clients(r),
      write: clients(w),
    })),
  );
  for (const [index, { payload, write }] of table.entries()) {
    const { action, reply, contentType, payload: shown } = found[index] ?? {};
    const isAsked = clients(write).length > 0;
    expect([action, reply]).toEqual(isAsked ? ['receive', true] : ['send', false]);
    expect(contentType).toBe('json' in payload ? 'application/json' : 'text/plain');
    if ('words' in payload) for (const word of payload.words) expect(ajv.validate(shown ?? false, word)).toBe(true);
  }
});

test('its payload schemas and those of docs/schemas/mqtt.schema.json know the same members', () => {
  const defs = JSON.parse(read('docs/schemas/mqtt.schema.json')).$defs as Readonly<Record<string, object>>;
  const { components } = fresh();
  const members = (schema: object | undefined) => Object.keys((schema as { properties?: object })?.properties ?? {});
  expect(Object.keys(defs).length).toBeGreaterThan(15);
  for (const [name, schema] of Object.entries(defs)) {
    const { payload } = components.messages[name] ?? {};
    const json = (payload as { anyOf?: object[] } | undefined)?.anyOf?.at(-1);
    expect(members(members(payload).length > 0 ? payload : (json ?? payload))).toEqual(members(schema));
  }
});

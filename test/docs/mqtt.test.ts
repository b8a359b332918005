import { randomUUID } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TopicSpec, topicTable } from '#lan/mqtt/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { blocks, read, timeless } from './markdown.ts';

/** docs/mqtt.md: a command in a block `json cmd/<verb>` is followed by its reply. */
const shown = blocks(read('docs/mqtt.md'));
const examples = shown.flatMap(({ info, text }, index) => {
  const verb = /^json (cmd\/\w+)$/.exec(info)?.[1];
  return verb === undefined
    ? []
    : [{ verb, command: JSON.parse(text), reply: JSON.parse(shown[index + 1]?.text ?? '') }];
});

/** The code of the page that counts; the site of the tests has another one in its place. */
const rightCode = '2580';

const yaml = `partitions: [ { id: p1, name: Offices, exit_delay: 60s } ]
`;

describe('examples of docs/mqtt.md against the daemon', () => {
  let site: Site;
  let client: MqttClient;
  const replies = new Map<string, unknown>();

  beforeAll(async () => {
    site = await startSite({ broker: 'embedded', yaml: () => yaml });
    client = await connectAsync(site.mqttUrl, { clientId: 'keypad-1', protocolVersion: 4 });
    client.on('message', (topic, payload) => replies.set(topic, JSON.parse(payload.toString())));
    await client.subscribeAsync(`${site.root}/reply/keypad-1/#`, { qos: 1 });
  });
  afterAll(async () => {
    await client?.endAsync();
    await site?.close();
  });

  test.each(examples)('$verb is answered as the text says', async ({ verb, command, reply }) => {
    const id = randomUUID();
    const reply_to = command.reply_to.replace('siteward/1/hq', site.root);
    const issued_at = new Date().toISOString();
    const own = command.code === rightCode ? { code } : {};
    const payload = JSON.stringify({ ...command, ...own, id, reply_to, issued_at });
    await client.publishAsync(`${site.root}/${verb}`, payload, { qos: 1 });
    const answer = await eventually('the reply', () => replies.get(reply_to));
    expect(answer).toMatchObject({ id });
    expect(timeless(answer)).toEqual(timeless(reply));
  });
});

test('arm, disarm, verify, query and panic have an example', () => {
  expect(new Set(examples.map(({ verb }) => verb))).toEqual(
    new Set(['cmd/arm', 'cmd/disarm', 'cmd/verify', 'cmd/query', 'cmd/panic']),
  );
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(JSON.parse(read('docs/schemas/mqtt.schema.json')), 'mqtt');
const fits = (name: string, value: unknown) => ajv.validate(`mqtt#/$defs/${name}`, value) === true;

test('the published schemas accept every example and refuse a command that is wrong', () => {
  for (const { verb, command, reply } of examples) {
    expect(fits(verb.replace('/', '_'), command), ajv.errorsText()).toBe(true);
    expect(fits('reply', reply), ajv.errorsText()).toBe(true);
  }
  for (const { text } of shown.filter(({ info }) => ['json accepted', 'json final'].includes(info))) {
    expect(fits('reply', JSON.parse(text)), ajv.errorsText()).toBe(true);
  }
  for (const [info, name] of [
    [/^json in\/verification$/, 'in_verification'],
    [/^json verification\//, 'verification'],
    [/^json play$/, 'cmd_play'],
    [/^json cancel$/, 'cmd_cancel'],
    [/^json audio\/playback\//, 'audio_playback'],
  ] as const) {
    const found = shown.find((block) => info.test(block.info));
    expect(fits(name, JSON.parse(found?.text ?? '')), ajv.errorsText()).toBe(true);
  }
  const arm = examples.find(({ verb }) => verb === 'cmd/arm')?.command;
  expect(fits('cmd_arm', { ...arm, partition: 'garage' })).toBe(false);
  expect(fits('cmd_arm', { ...arm, colour: 'red' })).toBe(false);
  expect(fits('cmd_arm', { ...arm, bypass: ['1', '1'] })).toBe(false);
  expect(fits('cmd_arm', { ...arm, correlation: 'x'.repeat(129) })).toBe(false);
  expect(fits('cmd_arm', { ...arm, expected: { seq: 1.5 } })).toBe(false);
});

test('every topic of the table is on the page', () => {
  const specs: readonly TopicSpec[] = Object.values(topicTable);
  const page = read('docs/mqtt.md');
  expect(specs.filter(({ topic }) => !page.includes(`| \`${topic}\` |`))).toEqual([]);
});

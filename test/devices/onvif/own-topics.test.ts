import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cameraOptions } from '#devices/onvif/options.ts';
import { ownRows, topicMappings } from '#devices/onvif/topic-options.ts';
import { detections, harness, until } from './harness.ts';
import { cameraModel, notification, startCamera } from './scripted-camera.ts';

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

/** A camera that sends these messages to a session with these entries of `topics:`; its signals once all came. */
async function pulled(topics: unknown, ...messages: string[]) {
  const model = cameraModel();
  model.queue.push(...messages);
  const server = await startCamera(model.script);
  const made = harness([{ id: 'yard', url: server.url, topics: topicMappings.parse(topics) }]);
  await made.cameras.start(new AbortController().signal);
  opened.push({ stop: () => server.close() }, made.cameras);
  await until(() => model.queue.length === 0, 'all messages to be pulled');
  const pulls = server.count('PullMessages');
  await until(() => server.count('PullMessages') > pulls + 1, 'one more pull');
  return made;
}

const rule = (data: Record<string, string>, topic = 'jeff:This/Rule') =>
  notification({ topic, operation: 'Changed', source: { Source: '000' }, data });

const told = (signals: Parameters<typeof detections>[0]) =>
  detections(signals).map(({ detection, active, pulse }) => `${detection}${pulse ? '!' : active ? '+' : '-'}`);

describe("the installer's own meaning of topics", () => {
  it('makes a state of a topic nobody knows', async () => {
    const topics = [{ topic: 'jeff:This/Rule', class: 'intrusion', data: 'Seen' }];
    const made = await pulled(topics, rule({ Other: 'true', Seen: 'true' }), rule({ Other: 'true', Seen: 'false' }));
    expect(told(made.signals)).toEqual(['intrusion+', 'intrusion-']);
    expect(made.cameras.status()[0]?.unknownTopics).toEqual([]);
  });

  it('makes each message an event where there is no state, and where it is told to', async () => {
    const made = await pulled(
      [{ topic: 'This/Rule', class: 'line' }],
      rule({ ObjectId: 'a7' }),
      rule({ ObjectId: 'a8' }),
    );
    expect(told(made.signals)).toEqual(['line!', 'line!']);
    const other = await pulled([{ topic: 'This/*', class: 'line', kind: 'pulse' }], rule({ Number: '1' }));
    expect(told(other.signals)).toEqual(['line!']);
  });

  it('goes before what siteward knows, and quietens what is noise', async () => {
    const topics = [
      { topic: 'tns1:VideoSource/MotionAlarm', class: 'person' },
      { topic: 'jeff:This/**', class: 'ignored' },
    ];
    const motion = rule({ State: 'true' }, 'tns1:VideoSource/MotionAlarm');
    const made = await pulled(topics, motion, rule({ State: 'true' }));
    expect(told(made.signals)).toEqual(['person+']);
  });

  it('may be what the status suggests, pasted as it is', async () => {
    const before = await pulled([], rule({ State: 'true' }, 'jeff:Cell/IntrusionAlarm'));
    const line = before.cameras.status()[0]?.unknownTopics[0]?.line ?? '';
    expect(line).toBe('- { topic: "jeff:Cell/IntrusionAlarm", class: intrusion, data: "State" }');
    const camera = parse(`id: yard\nurl: http://192.0.2.1/\ntopics:\n  ${line}\n`);
    const { topics } = cameraOptions.parse(camera);
    const after = await pulled(parse(line), rule({ State: 'true' }, 'jeff:Cell/IntrusionAlarm'));
    expect(ownRows(topics)).toHaveLength(1);
    expect(told(after.signals)).toEqual(['intrusion+']);
  });

  it.each([
    ['a class nobody has', { topic: 'A/B', class: 'ghost' }, 'expected one of'],
    ['a topic with blanks', { topic: 'A B', class: 'line' }, 'must be a topic'],
    ['a pulse with a length', { topic: 'A/B', class: 'line', kind: 'pulse', max_on: '5s' }, 'a pulse has no data'],
    ['what is ignored with data', { topic: 'A/B', class: 'ignored', data: 'State' }, 'has only a topic'],
    ['a length without a unit', { topic: 'A/B', class: 'line', max_on: '5' }, 'must be a duration'],
    ['a member nobody knows', { topic: 'A/B', class: 'line', colour: 'red' }, 'Unrecognized key'],
  ])('%s is refused in words', (_, entry, words) => {
    const result = topicMappings.safeParse([entry]);
    expect(result.error?.issues.map(({ message }) => message).join('; ')).toContain(words);
  });

  it('names each topic once, whatever the prefix', () => {
    const twice = [
      { topic: 'tns1:A/B', class: 'line' },
      { topic: 'A/x:B', class: 'motion' },
    ];
    expect(topicMappings.safeParse(twice).error?.issues[0]?.message).toBe('name the same topic twice');
  });

  it('has an end after a while where a state cannot last, and none where it can', () => {
    const rows = ownRows(
      topicMappings.parse([
        { topic: 'A', class: 'person' },
        { topic: 'B', class: 'tamper' },
        { topic: 'C', class: 'tamper', max_on: '1h' },
      ]),
    );
    expect(rows.map(({ maxOnMs }) => maxOnMs)).toEqual([600_000, undefined, 3_600_000]);
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { topicsIn } from '../../../src/devices/onvif/discovery/event-topics.ts';
import { parseXml } from '../../../src/lib/xml.ts';

const names =
  'xmlns:tev="http://www.onvif.org/ver10/events/wsdl" xmlns:wstop="http://docs.oasis-open.org/wsn/t-1" xmlns:t="http://www.onvif.org/ver10/topics" xmlns:x="http://www.axis.com/2009/event/topics" xmlns:tt="http://www.onvif.org/ver10/schema"';
const set = (content: string) =>
  topicsIn(
    parseXml(
      `<tev:GetEventPropertiesResponse ${names}><wstop:TopicSet>${content}</wstop:TopicSet></tev:GetEventPropertiesResponse>`,
    ),
  );
const described = '<tt:MessageDescription IsProperty="true"><tt:Source/></tt:MessageDescription>';

describe('the topics a device says it has', () => {
  it('are those that are described, in the spelling of the table', () => {
    expect(
      set(
        `<t:RuleEngine wstop:topic="true"><CellMotionDetector><Motion wstop:topic="true">${described}</Motion></CellMotionDetector></t:RuleEngine>` +
          `<t:Device><x:IO><Port wstop:topic="true">${described}</Port></x:IO></t:Device><t:UserAlarm><y:Thing wstop:topic="1"/></t:UserAlarm>`,
      ),
    ).toEqual(['Device/tnsaxis:IO/Port', 'RuleEngine/CellMotionDetector/Motion', 'UserAlarm/y:Thing']);
  });

  it('may have the usual prefix that nobody declared', () => {
    const undeclared = `<tns1:VideoSource><tns1:MotionAlarm>${described}</tns1:MotionAlarm></tns1:VideoSource>`;
    expect(set(undeclared)).toEqual(['VideoSource/MotionAlarm']);
  });

  it('are none where there is no set, and at most 500', () => {
    expect(topicsIn(parseXml('<a/>'))).toEqual([]);
    const many = Array.from({ length: 700 }, (_, at) => `<n${at} wstop:topic="true"/>`).join('');
    expect(set(`<t:A>${many}</t:A>`)).toHaveLength(500);
  });

  const shared = join(import.meta.dirname, '../../../../shared/data/onvif-captures');
  const present = existsSync(join(shared, 'topicsets.tsv'));
  const rows = present
    ? readFileSync(join(shared, 'topicsets.tsv'), 'utf8')
        .trim()
        .split('\n')
        .slice(1)
        .map((row) => row.split('\t'))
    : [];
  const files = present ? [...new Set(rows.map((row) => row[6] ?? ''))] : ['none'];
  it.skipIf(!present).each(files)('captured in ../shared/data/onvif-captures/%s, are all read', (file) => {
    const plain = (topic = '') => topic.replaceAll(/\btns1:/g, '');
    const own = rows.filter((row) => row[6] === file);
    const found = topicsIn(parseXml(readFileSync(join(shared, file))));
    for (const [, topic, isProperty] of own) if (isProperty !== '(absent)') expect(found).toContain(plain(topic));
    const known = own.map(([, topic]) => plain(topic));
    expect(found.filter((topic) => !known.includes(topic))).toEqual([]);
  });
});

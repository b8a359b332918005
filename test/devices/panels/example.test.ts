import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { compileProfile, meaningOf, renderCommand } from '#devices/panels/index.ts';
import { readOne } from './helpers.ts';

/** The worked example of docs/panels.md, as it stands there: whoever writes a profile begins with it. */
const page = readFileSync(new URL('../../../docs/panels.md', import.meta.url), 'utf8');
const [, text = ''] = /A worked example: .*?```json\n(.*?)```/s.exec(page) ?? [];

it('the worked example of the page is a profile that reads what the page says', () => {
  const example = compileProfile(JSON.parse(text));
  const said = [...page.matchAll(/`(house\/[^`]+)` =\s+`([^`]+)`/g)].map(([, topic = '', payload = '']) =>
    [topic, meaningOf(readOne(example, topic, payload))].join(' -> '),
  );
  expect(said).toEqual([
    'house/area/1 -> partition 1: arming',
    'house/area/1/entry -> partition 1: pending',
    'house/door/7 -> zone 7: open',
    'house/alive -> link bridge: up, online',
  ]);
  expect(renderCommand(example, { action: 'arm_away', partition: '1' })).toMatchObject({
    topic: 'house/area/1/set',
    payload: '{"mode":"full","area":1}',
  });
});

import { expect, it } from 'vitest';
import { cameraHints } from '#daemon/hints.ts';

it('the status says of cameras what is wrong though events arrive, and which line makes a topic known', () => {
  const unknown = { topic: 'jeff:This/Rule', count: 3, items: 'State=true', lastAt: 0 };
  const cameras: Parameters<typeof cameraHints>[0] = [
    {
      kind: 'camera',
      id: 'yard',
      warnings: [{ code: 'event_flood', text: 'It sends too much' }],
      unknownTopics: [{ ...unknown, line: '- { topic: "jeff:This/Rule", class: other }' }],
    },
    { kind: 'nvr', id: 'rec', warnings: [], hints: ['two channels look alike'], unknownTopics: [] },
  ];
  const hints = cameraHints(cameras, 0, () => false);
  expect(hints.map(({ device, about, values }) => [device, about, ...values])).toEqual([
    ['camera yard', 'event_flood'],
    ['camera yard', 'jeff:This/Rule', '- { topic: "jeff:This/Rule", class: other }', 'State=true'],
    ['nvr rec', 'channels'],
  ]);
  const silent = cameraHints(cameras, 0, (id) => id === 'yard');
  expect(silent.map(({ about }) => about)).toEqual(['event_flood', 'channels']);
  expect(hints[1]?.text).toContain('"topics:" of the camera');
});

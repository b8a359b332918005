import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { buildPanels, createRawWatch, type RawFrame } from '#devices/panels/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { panel, presets } from './helpers.ts';

function watching() {
  const [built] = buildPanels([panel({ id: 'qol', profile: 'qolsysgw' })], [presets]).built;
  if (built === undefined) throw new Error('no panel');
  const clock = manualClock();
  const frames: RawFrame[] = [];
  const metrics = new Registry();
  const raw = createRawWatch({
    ...{ panels: ['qol'], clock, metrics },
    publish: (id, frame) => void (id === 'qol' && frames.push(frame)),
  });
  const say = (payload: string, topic = 'qolsys/qolsys_panel/event') =>
    raw.heard(built, { topic, payload: Buffer.from(payload), retain: false });
  const dropped = async () => (await metrics.getSingleMetric('siteward_panel_raw_dropped_total')?.get())?.values[0];
  return { raw, say, frames, clock, dropped };
}

test('a watch shows nothing before it is asked for, and ends by itself and at no minutes', () => {
  const { raw, say, frames, clock } = watching();
  say('{"n":1}');
  expect(raw.watch('other', 5)).toBe(false);
  expect(raw.watch('qol', 2)).toBe(true);
  say('{"n":2}');
  clock.advance(119_999);
  say('{"n":3}');
  clock.advance(1);
  say('{"n":4}');
  raw.watch('qol', 10);
  say('{"n":5}');
  raw.watch('qol', 0);
  say('{"n":6}');
  expect(frames.map(({ raw: text }) => text)).toEqual(['{"n":2}', '{"n":3}', '{"n":5}']);
});

test('codes and tokens are masked in payload and topic', () => {
  const { raw, say, frames } = watching();
  raw.watch('qol', 10);
  say('{"usercode":"4827","session_token":"abc","text":"arm 482712"}');
  say('4827', 'alarm/4827/set');
  say('2 5 8 0', 'alarm/2-5-8-0/set');
  say('{"keys":["２","５","８","０"],"typed":[2,5,8,0]}', 'alarm/２５８０/12');
  expect(JSON.stringify(frames)).not.toMatch(/4827|abc|2\D*5\D*8|２/);
  expect(frames.map(({ topic }) => topic)).toEqual([
    ...['qolsys/qolsys_panel/event', 'alarm/***/set', 'alarm/***/set', 'alarm/***/12'],
  ]);
});

test('more than 20 messages a second, what is too long and what is no text are counted and gone', async () => {
  const { raw, say, frames, clock, dropped } = watching();
  raw.watch('qol', 10);
  for (let n = 0; n < 50; n += 1) say(`{"n":${n}}`);
  expect([frames.length, (await dropped())?.value]).toEqual([20, 30]);
  clock.advance(1000);
  say(`{"text":"${'x'.repeat(4097)}"}`);
  say('{"n":"last"}');
  expect([frames.length, (await dropped())?.value]).toEqual([21, 31]);
});

import { expect, it } from 'vitest';
import { audioOptions } from '#devices/audio/options.ts';
import { enginePlan } from '#devices/audio/speakers.ts';
import { speakerOf } from './speaker-of.ts';

const at = (url: string) => ({ url });
const stop = at('http://192.0.2.9/stop');
const all = [
  { id: 'card', driver: 'alsa', device: 'hw:usb' },
  { id: 'yard', driver: 'onvif', camera: 'yard' },
  { id: 'same', driver: 'onvif', url: 'rtsp://192.0.2.10:8554/other' },
  { id: 'push', driver: 'http', push: at('http://192.0.2.10/play') },
  { id: 'one', driver: 'onvif', camera: 'one' },
  { id: 'two', driver: 'onvif', camera: 'two' },
  { id: 'left', driver: 'http', trigger: at('http://192.0.2.9/left'), stop },
  { id: 'right', driver: 'http', trigger: at('http://192.0.2.9/right'), stop },
].map(speakerOf);
const plan = enginePlan({
  speakers: all,
  audio: audioOptions.parse({}),
  timezone: 'UTC',
  devices: { yard: '192.0.2.10', one: 'recorder/one', two: 'recorder/two' },
});

it('a speaker on the network has longer to begin and to end than a local one', () => {
  const times = plan.speakers.map(({ id, startMs, stopMs }) => [id, startMs, stopMs]);
  expect(times).toEqual([['card', 3_000, 300], ...all.slice(1).map(({ id }) => [id, 8_000, 1_000])]);
});

it('what has a stop is silent by order alone', () => {
  expect(plan.speakers.filter(({ byOrder }) => byOrder === true).map(({ id }) => id)).toEqual(['left', 'right']);
});

it('speakers of one device take turns; those of a recorder, and those behind one gateway, do not', () => {
  const lanes = Map.groupBy(plan.speakers, ({ lane }) => lane);
  expect([...lanes.values()].map((lane) => lane.map(({ id }) => id))).toEqual([
    ['card'],
    ['yard', 'same', 'push'],
    ['one'],
    ['two'],
    ['left'],
    ['right'],
  ]);
});

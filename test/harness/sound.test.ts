import { describe, expect, it } from 'vitest';
import { wavHead } from '#devices/audio/wav.ts';
import { measure, rawPcm, readPcm } from './sound.ts';

const rate = 8000;
const silence = (ms: number) => Array<number>(ms * 8).fill(0);
const tone = (ms: number, amplitude: number) =>
  Array.from({ length: ms * 8 }, (_, index) => Math.round(32767 * amplitude * Math.sin((Math.PI * (index + 0.5)) / 4)));
const bytes = (samples: readonly number[]) => Buffer.from(Int16Array.from(samples).buffer);
const one = (samples: readonly number[], pauseMs?: number) => {
  const [measured] = measure(rawPcm(bytes(samples), { rate, channels: 1 }), pauseMs);
  if (measured === undefined) throw new Error('no channel');
  return measured;
};

describe('measuring what was heard', () => {
  it('tells onset, duration, bursts and gaps', () => {
    const heard = one([...silence(250), ...tone(400, 0.5), ...silence(500), ...tone(300, 0.5), ...silence(50)]);
    expect(heard.lengthMs).toBe(1500);
    expect(heard.onsetMs).toBe(250);
    expect(heard.durationMs).toBe(1200);
    expect(heard.soundingMs).toBe(700);
    expect(heard.bursts.map(({ atMs, lengthMs }) => [atMs, lengthMs])).toEqual([
      [250, 400],
      [1150, 300],
    ]);
    expect(heard.gapsMs).toEqual([500]);
  });

  it('tells the level of what is heard, not of the silence around it', () => {
    expect(one([...silence(700), ...tone(300, 0.5)]).rmsDb).toBeCloseTo(20 * Math.log10(0.5 / Math.SQRT2), 2);
    expect(one([...silence(700), ...tone(300, 0.05)]).rmsDb).toBeCloseTo(20 * Math.log10(0.05 / Math.SQRT2), 2);
  });

  it('joins what only a short pause parts, and tells that less sounded', () => {
    const heard = one([...tone(400, 0.5), ...silence(90), ...tone(300, 0.5)]);
    expect(heard.bursts).toHaveLength(1);
    expect(heard.durationMs).toBe(790);
    expect(heard.soundingMs).toBe(700);
    expect(one([...tone(400, 0.5), ...silence(90), ...tone(300, 0.5)], 50).gapsMs).toEqual([90]);
  });

  it('hears nothing in silence', () => {
    const heard = one(silence(500));
    expect(heard).toMatchObject({ durationMs: 0, soundingMs: 0, bursts: [], gapsMs: [] });
    expect(heard).not.toHaveProperty('onsetMs');
  });

  it('reads the channels of a wav file, also of one that is cut', () => {
    const left = tone(100, 0.5);
    const samples = left.flatMap((value) => [value, 0]);
    const head = wavHead({ rate, channels: 2 }, 100_000);
    const pcm = readPcm(Buffer.concat([head, bytes(samples)]));
    expect(pcm.rate).toBe(rate);
    const [first, second] = measure(pcm);
    expect(first?.soundingMs).toBe(100);
    expect(second?.soundingMs).toBe(0);
  });
});

import type { Sound, SoundFormat } from '#devices/audio/driver.ts';

export interface Tone extends Sound {
  /** What was read of it, in the order it was read. */
  readonly reads: readonly { readonly from: number; readonly to: number; readonly at: number }[];
}

export interface ToneOptions {
  readonly ms?: number;
  readonly repeat?: number;
  readonly gapMs?: number;
  readonly amplitude?: number;
  readonly hz?: number;
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly encoding?: SoundFormat['encoding'];
}

/** A sine, made as it is read. */
export function tone(options: ToneOptions = {}): Tone {
  const { ms = 600, repeat = 1, gapMs = 500, amplitude = 0.5, hz = 1000 } = options;
  const { rate = 48_000, channels = 1, encoding = 's16le' } = options;
  const [on, off] = [(ms * rate) / 1000, (gapMs * rate) / 1000];
  const reads: { from: number; to: number; at: number }[] = [];
  const sample = (at: number) => {
    const within = at % (on + off);
    return within < on ? Math.round(32767 * amplitude * Math.sin((2 * Math.PI * hz * (within + 0.5)) / rate)) : 0;
  };
  return {
    reads,
    format: { encoding, rate, channels },
    samples: repeat * on + (repeat - 1) * off,
    read(from, to) {
      reads.push({ from, to, at: performance.now() });
      const bytes = Buffer.alloc((to - from) * 2 * channels);
      for (let at = from; at < to; at += 1) {
        for (let channel = 0; channel < channels; channel += 1)
          bytes.writeInt16LE(sample(at), ((at - from) * channels + channel) * 2);
      }
      return bytes;
    },
    asked: { key: 'test.tone', volume: 100, repeat },
  };
}

export const toneDb = (amplitude: number) => 20 * Math.log10(amplitude / Math.SQRT2);

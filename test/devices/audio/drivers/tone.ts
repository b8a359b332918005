import type { Sound, SoundFormat } from '#devices/audio/driver.ts';
import { toAlaw, toUlaw } from '#devices/audio/g711.ts';

export interface Tone extends Sound {
  /** What was read of it, in the order it was read. */
  readonly reads: readonly { readonly from: number; readonly to: number; readonly at: number }[];
}

export interface ToneOptions {
  readonly ms?: number;
  readonly repeat?: number;
  readonly gapMs?: number;
  /** Silence after it. */
  readonly tailMs?: number;
  readonly amplitude?: number;
  readonly hz?: number;
  readonly rate?: number;
  readonly channels?: 1 | 2;
  readonly encoding?: SoundFormat['encoding'];
  readonly key?: string;
}

/** A sine, made as it is read. */
export function tone(options: ToneOptions = {}): Tone {
  const { ms = 600, repeat = 1, gapMs = 500, tailMs = 0, amplitude = 0.5, hz = 1000 } = options;
  const { rate = 48_000, channels = 1, encoding = 's16le', key = 'test.tone' } = options;
  const [on, off] = [(ms * rate) / 1000, (gapMs * rate) / 1000];
  const sounding = repeat * on + (repeat - 1) * off;
  const reads: { from: number; to: number; at: number }[] = [];
  const sample = (at: number) => {
    const within = at % (on + off);
    return within < on && at < sounding
      ? Math.round(32767 * amplitude * Math.sin((2 * Math.PI * hz * (within + 0.5)) / rate))
      : 0;
  };
  return {
    reads,
    format: { encoding, rate, channels },
    samples: sounding + (tailMs * rate) / 1000,
    read(from, to) {
      reads.push({ from, to, at: performance.now() });
      const frames = Array.from({ length: to - from }, (_, at) => sample(from + at));
      const each = frames.flatMap((value) => Array.from({ length: channels }, () => value));
      if (encoding !== 's16le') return Buffer.from(each.map(encoding === 'ulaw' ? toUlaw : toAlaw));
      const bytes = Buffer.alloc(each.length * 2);
      each.forEach((value, at) => {
        bytes.writeInt16LE(value, at * 2);
      });
      return bytes;
    },
    asked: { key, volume: 100, repeat },
  };
}

export const toneDb = (amplitude: number) => 20 * Math.log10(amplitude / Math.SQRT2);

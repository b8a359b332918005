import { type Measured, measure, type Pcm } from '../../../harness/sound.ts';

/** Where a machine under load lets a player run dry there are pauses too, but no such long ones. */
const pauseMs = 300;

/** The first channel of what was heard, one after the other. */
export function joined(parts: readonly Pcm[], rate = 48_000): Measured {
  const firsts = parts.map((part) => {
    if (part.rate !== rate) throw new Error(`heard at ${part.rate} Hz`);
    return part.channels[0] ?? new Float64Array();
  });
  const all = Float64Array.from(firsts.flatMap((first) => Array.from(first)));
  const [measured] = measure({ rate, channels: [all] }, pauseMs);
  if (measured === undefined) throw new Error('nothing was measured');
  return measured;
}

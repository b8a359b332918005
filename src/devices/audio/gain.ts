/** How volume becomes loudness. `cubic` makes even steps to the ear and is what desktops do; `linear` is what some devices do. */
export const volumeCurves = ['cubic', 'linear'] as const;
export type VolumeCurve = (typeof volumeCurves)[number];

/**
 * The factor for samples at a volume of 0 to 100 percent, with the trim of the speaker in dB. Exact at both ends: nothing at 0,
 * whatever the trim, and 1 at 100 without a trim. `docs/audio.md` shows the steps.
 */
export function gainOf(volume: number, curve: VolumeCurve = 'cubic', trimDb = 0): number {
  const share = Math.min(100, Math.max(0, volume)) / 100;
  const gain = curve === 'cubic' ? share ** 3 : share;
  return trimDb === 0 ? gain : gain * 10 ** (trimDb / 20);
}

/** A sample of 16 bits at a gain; what would be too loud is as loud as can be. */
export function amplify(sample: number, gain: number): number {
  return gain === 1 ? sample : clamp(Math.round(sample * gain));
}

export const clamp = (sample: number): number => Math.min(32_767, Math.max(-32_768, sample));

/** The loudest sample, 0 to 32768. */
export function peakOf(samples: Int16Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}

/** In dB of full scale; -Infinity for silence. */
export const decibels = (amplitude: number): number => 20 * Math.log10(amplitude / 32_768);

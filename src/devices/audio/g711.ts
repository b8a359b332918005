// ITU-T G.711: 16 bits a sample become 8. A code is sign, segment (3 bits) and step (4 bits), the last of µ-law
// inverted, every second bit of A-law.

/** Lifts the segments of µ-law so that they begin at powers of two. */
const bias = 0x84;
const loudest = 32_635;

/** A sample as µ-law code. */
export function toUlaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const lifted = Math.min(Math.abs(sample), loudest) + bias;
  const segment = 24 - Math.clz32(lifted);
  const step = (lifted >> (segment + 3)) & 0x0f;
  return ~(sign | (segment << 4) | step) & 0xff;
}

/** A sample as A-law code. */
export function toAlaw(sample: number): number {
  const sign = sample < 0 ? 0 : 0x80;
  // As ones' complement, so that the steps are even on both sides of zero.
  const size = sample < 0 ? ~sample : sample;
  const segment = Math.max(0, 24 - Math.clz32(size));
  const step = (size >> (segment === 0 ? 4 : segment + 3)) & 0x0f;
  return (sign | (segment << 4) | step) ^ 0x55;
}

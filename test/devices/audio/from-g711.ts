// ITU-T G.711 back to 16 bits, for what listens to a speaker.

const bias = 0x84;

/** A µ-law code as sample. */
export function fromUlaw(code: number): number {
  const bits = ~code & 0xff;
  const lifted = (((bits & 0x0f) << 3) + bias) << ((bits >> 4) & 0x07);
  return (bits & 0x80) === 0 ? lifted - bias : bias - lifted;
}

/** An A-law code as sample. */
export function fromAlaw(code: number): number {
  const bits = (code ^ 0x55) & 0xff;
  const segment = (bits >> 4) & 0x07;
  const step = ((bits & 0x0f) << 4) + 8;
  const size = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return (bits & 0x80) === 0 ? -size : size;
}

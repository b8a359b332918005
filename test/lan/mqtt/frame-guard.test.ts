import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameGuard } from '../../../src/lan/mqtt/frame-guard.ts';

function packet(length: number): Buffer {
  const header = [0x30];
  let rest = length;
  do {
    header.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from(header), Buffer.alloc(length, 0xff)]);
}

describe('the guard of packet sizes', () => {
  it('passes any packets up to the cap and counts those that end, however the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { maxLength: 20 }), fc.integer({ min: 1, max: 50 }), (lengths, step) => {
        const stream = Buffer.concat(lengths.map(packet));
        const guard = frameGuard(300);
        let ended = 0;
        for (let at = 0; at < stream.length; at += step) ended += guard(stream.subarray(at, at + step)) ?? Number.NaN;
        expect(ended).toBe(lengths.length);
      }),
    );
  });

  it('stops at the header of a packet over the cap', () => {
    const guard = frameGuard(300);
    expect(guard(packet(300))).toBe(1);
    expect(guard(packet(301).subarray(0, 3))).toBeUndefined();
  });

  it('stops at a length that never ends', () => {
    expect(frameGuard(2 ** 40)(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x80]))).toBeUndefined();
  });
});

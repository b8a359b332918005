import { expect, it } from 'vitest';
import { createRing } from '#devices/media/ring.ts';

const tables = { bytes: Buffer.from('T'), codec: 'h264' } as const;

/** A picture of one byte each second, every fifth a key frame, from second 0 on. */
function filled(seconds: number) {
  const ring = createRing();
  for (let s = 0; s < seconds; s += 1)
    ring.add({ isKey: s % 5 === 0, mono: s * 1000, bytes: Buffer.from(s % 5 === 0 ? 'K' : '.') }, tables);
  return ring;
}
const text = (of: ReturnType<ReturnType<typeof createRing>['between']>) =>
  of && Buffer.concat([...of.parts]).toString();

it('gives a time from the key frame before it on, and to the last picture in it', () => {
  const found = filled(20).between(7000, 12_000);
  expect(found).toMatchObject({ startMono: 5000, codec: 'h264' });
  expect(text(found)).toBe('TK....K..');
  expect(filled(20).between(60_000, 70_000)).toBeUndefined();
  expect(filled(20).keyFrameMs).toBe(5000);
});

it('forgets what was over before a moment, and gives its oldest when there is no room', () => {
  const ring = filled(20);
  ring.forget(9500);
  expect([ring.oldestMono, ring.bytes, ring.bytesSince(15_000)]).toEqual([10_000, 10, 5]);
  ring.dropOldest();
  expect([ring.oldestMono, ring.bytes]).toEqual([15_000, 5]);
  ring.dropOldest();
  // What builds on a key frame that is gone is of no use.
  ring.add({ isKey: false, mono: 20_000, bytes: Buffer.from('.') }, tables);
  expect([ring.oldestMono, ring.bytes]).toEqual([undefined, 0]);
});

it('finds the last picture before a moment, else the first after it, if it is close', () => {
  const ring = filled(8);
  const found = (mono: number) => {
    const past = ring.pictureAt(mono);
    return past && `${Buffer.concat([...past.parts])} ${past.number}`;
  };
  expect(found(3500)).toBe('TK.... 3');
  expect(found(5000)).toBe('TK.. 0');
  // Nothing has come since.
  expect([found(9900), found(10_500)]).toEqual(['TK.. 2', undefined]);
  expect([found(-900), found(-1100)]).toEqual(['TK.... 0', undefined]);
  ring.cut();
  ring.add({ isKey: true, mono: 11_000, bytes: Buffer.from('n') }, tables);
  expect([found(9000), found(10_900)]).toEqual(['TK.. 2', 'Tn 0']);
});

it('begins anew after a break, and takes key frames that come at once as one', () => {
  const ring = filled(3);
  ring.cut();
  ring.add({ isKey: false, mono: 3000, bytes: Buffer.from('x') }, tables);
  for (const mono of [4000, 4001, 4500])
    ring.add({ isKey: mono < 4500, mono, bytes: Buffer.from('n') }, { ...tables, bytes: Buffer.from('U') });
  expect(text(ring.between(0, 9000))).toBe('TK..Unnn');
  // A break is no distance.
  expect(ring.keyFrameMs).toBeUndefined();
});

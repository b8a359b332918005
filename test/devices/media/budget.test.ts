import { describe, expect, it } from 'vitest';
import { givingWay, type Shelved } from '#devices/media/budget.ts';
import type { Lane } from '#site/model/index.ts';

const one = (seq: number, lane: Lane | undefined, kind: 'jpg' | 'mp4'): Shelved => ({
  ...{ file: `${seq}-0.${kind}`, bytes: 100, seq, index: 0 },
  ...(lane !== undefined && { lane }),
});
const names = (gone: readonly Shelved[] | undefined) => gone?.map(({ file }) => file);
const all = [
  one(1, 'alarm', 'jpg'),
  one(2, 'alarm', 'mp4'),
  one(3, undefined, 'jpg'),
  one(4, undefined, 'mp4'),
  one(5, 'activity', 'jpg'),
  one(6, 'activity', 'mp4'),
  one(12, 'alarm', 'mp4'),
];

describe('on a full budget', () => {
  it('a picture of an alarm takes the place of every clip before that of a picture, newer alarms’ clips too', () => {
    const wanted = { seq: 10, lane: 'alarm', isClip: false } as const;
    const order = ['6-0.mp4', '5-0.jpg', '4-0.mp4', '2-0.mp4', '12-0.mp4', '3-0.jpg', '1-0.jpg'];
    for (const [at] of order.entries())
      expect(names(givingWay(all, { ...wanted, bytes: 100 * (at + 1) }))).toEqual(order.slice(0, at + 1));
  });

  it('a clip of an alarm takes the place of no picture that is or may be an alarm’s, nor of newer clips', () => {
    const wanted = { seq: 10, lane: 'alarm', isClip: true } as const;
    expect(names(givingWay(all, { ...wanted, bytes: 400 }))).toEqual(['6-0.mp4', '5-0.jpg', '4-0.mp4', '2-0.mp4']);
    expect(givingWay(all, { ...wanted, bytes: 401 })).toBeUndefined();
  });

  it('a picture takes the place of a clip of its own event', () => {
    expect(names(givingWay([one(10, 'alarm', 'mp4')], { seq: 10, lane: 'alarm', isClip: false, bytes: 1 }))).toEqual([
      '10-0.mp4',
    ]);
  });
});

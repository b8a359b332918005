import { expect, it, onTestFinished, vi } from 'vitest';
import { harness } from './delivery-harness.ts';
import { rowOf, until } from './support.ts';

it('a lane that cannot be read is told of and keeps no other lane from the cloud', async () => {
  const h = await harness({ start: false });
  onTestFinished(() => h.close());
  const take = h.store.take.bind(h.store);
  let isSick = true;
  vi.spyOn(h.store, 'take').mockImplementation((lane, ...rest) =>
    isSick && lane === 'alarm' ? Promise.reject(new Error('a sick page')) : take(lane, ...rest),
  );
  const lanes = ['alarm', 'arming', 'trouble', 'activity'] as const;
  await h.commit(lanes.map((lane, index) => rowOf(h.clock, index + 1, { lane, orderKey: lane })));
  await h.delivery.start(new AbortController().signal);
  const sent = () => h.posts.map(({ seq }) => seq).sort();
  await until('the other lanes', () => sent().length === 3);
  expect(sent()).toEqual([2, 3, 4]);
  expect(h.delivery.health()).toMatchObject({ reason: expect.stringContaining('a sick page') });
  isSick = false;
  await h.passTime('the alarm', () => sent().includes(1));
});

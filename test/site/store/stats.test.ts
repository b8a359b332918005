import { expect, it } from 'vitest';
import { commitOf, parkedVerdict, row, startStore, temporaryDir } from './helpers.ts';

it('stats count by lane what waits, is parked or was given up, and never a silent event', async () => {
  const store = await startStore(temporaryDir());
  const rows = [
    row(1),
    row(2, { wall: 2000 }),
    row(3, { lane: 'activity' }),
    row(4, { lane: 'trouble' }),
    row(5, { silent: true }),
    row(6, { silent: true }),
  ];
  await store.commit(commitOf(rows));
  await store.settle([parkedVerdict(1), parkedVerdict(3, 'activity'), parkedVerdict(4, 'trouble'), parkedVerdict(5)]);
  expect(await store.dropParked([{ seq: 4, lane: 'trouble' }])).toBe(1);
  expect(await store.stats()).toMatchObject({
    pending: { alarm: 1, arming: 0, trouble: 0, activity: 0 },
    lanes: {
      alarm: { oldest: 2000, parked: 1, lost: 0 },
      arming: { oldest: undefined, parked: 0, lost: 0 },
      trouble: { oldest: undefined, parked: 0, lost: 1 },
      activity: { oldest: undefined, parked: 1, lost: 0 },
    },
    parked: 2,
    lost: 1,
    oldest: 2000,
    mediaFailed: 0,
  });
  expect((await store.parked({ limit: 10 })).map(({ seq }) => seq)).toEqual([3, 1]);
  expect(await store.gaps({ limit: 10 })).toMatchObject([
    { lane: 'trouble', seqFrom: 4, seqTo: 4, count: 1, why: 'technician', reported: false },
  ]);
});

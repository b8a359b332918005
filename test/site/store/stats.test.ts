import { describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { commitOf, parkedVerdict, row, startStore, temporaryDir } from './helpers.ts';

it('stats count by lane what waits, is parked or was given up, and never a silent event', async () => {
  const clock = manualClock();
  const store = await startStore(temporaryDir(), { clock });
  const since = clock.wall() - 3_600_000;
  const rows = [
    row(1),
    row(2, { wall: since }),
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
      alarm: { oldest: since, parked: 1, lost: 0 },
      arming: { oldest: undefined, parked: 0, lost: 0 },
      trouble: { oldest: undefined, parked: 0, lost: 1 },
      activity: { oldest: undefined, parked: 1, lost: 0 },
    },
    parked: 2,
    lost: 1,
    oldest: since,
    mediaFailed: 0,
  });
  expect((await store.parked({ limit: 10 })).map(({ seq }) => seq)).toEqual([3, 1]);
  expect(await store.gaps({ limit: 10 })).toMatchObject([
    { lane: 'trouble', seqFrom: 4, seqTo: 4, count: 1, why: 'technician', reported: false },
  ]);
});

describe('the age of what waits', () => {
  const minute = 60_000;
  const day = 24 * 60 * minute;
  const year = 365 * day;
  const ageOf = async (change: Parameters<typeof row>[1], clock = manualClock()) => {
    const store = await startStore(temporaryDir(), { clock });
    await store.commit(commitOf([row(1, change)]));
    const { oldest, lanes } = await store.stats();
    await store.stop();
    expect(oldest).toBe(lanes.alarm.oldest);
    return clock.wall() - (oldest ?? Number.NaN);
  };

  it('is that of the monotonic clock in its own boot, also when the box woke up in 1970 and its clock was set since', async () => {
    const clock = manualClock();
    const mono = clock.monotonic() - minute;
    for (const wall of [minute, clock.wall() + year])
      expect(await ageOf({ boot: clock.bootId, mono, wall, clock: 'doubtful' }, clock)).toBe(minute);
  });

  it('of an event of an earlier boot is told by the wall clocks, and is never less than the time since this boot', async () => {
    const clock = manualClock();
    const up = clock.monotonic();
    const now = clock.wall();
    expect(await ageOf({ wall: now - day }, clock)).toBe(day);
    // The clock of then was not set, or that of now is not.
    expect(await ageOf({ wall: minute, clock: 'doubtful' }, clock)).toBe(up);
    expect(await ageOf({ wall: now }, manualClock(minute))).toBe(up);
  });
});

import { expect, it } from 'vitest';
import { outboxHistory } from '#lan/http/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import type { OutboxStats } from '#site/store/index.ts';
import { outboxDay } from '../../src/daemon/outbox-day.ts';

const minute = 60_000;
const fiveMinutes = 5 * minute;
const lane = { oldest: undefined, parked: 0, lost: 0 };

function stats(waiting: number, oldest?: number): OutboxStats {
  return {
    pending: { alarm: 0, arming: waiting, trouble: 0, activity: 0 },
    lanes: { alarm: lane, arming: lane, trouble: lane, activity: lane },
    ...{ parked: 0, oldest, mediaPending: 0, mediaFailed: 0, lost: 0, bytes: { site: 1, bulk: 1 } },
  };
}

function started(answer: (clock: ManualClock) => OutboxStats | string = () => stats(0)) {
  const clock = manualClock();
  let questions = 0;
  const day = outboxDay({
    clock,
    count: async () => {
      questions += 1;
      return answer(clock);
    },
  });
  return { clock, day, questions: () => questions, items: () => outboxHistory.parse(day.shown()).items };
}

it('keeps the most that waited and the greatest age of each step', async () => {
  let waiting = 3;
  const { clock, day, items } = started(({ wall }) => stats(waiting, wall() - waiting * 1000));
  await day.look();
  for (waiting of [7, 2]) {
    clock.advance(minute);
    await day.look();
  }
  clock.advance(fiveMinutes);
  waiting = 1;
  await day.look();
  expect(items()).toMatchObject([
    { waiting: 7, oldest_s: 7, accepted: 0, latency_ms: null },
    { waiting: 1, oldest_s: 1, accepted: 0, latency_ms: null },
  ]);
  expect(day.shown().every_s).toBe(300);
});

it('counts what waits once a minute, however often it is asked to, though ticks of the wall clock lie closer', async () => {
  const { clock, day, questions } = started();
  await Promise.all([day.look(), day.look()]);
  clock.advance(30_000);
  await day.look();
  expect(questions()).toBe(1);
  clock.advance(29_990);
  await day.look();
  expect(questions()).toBe(2);
});

it('says null while it cannot be counted, keeps what it knows of the step, and never rejects', async () => {
  let answer: OutboxStats | string = 'The store is not running.';
  const { clock, day, items } = started(() => answer);
  await day.look();
  day.accepted(20);
  expect(items()).toMatchObject([{ waiting: null, oldest_s: null, accepted: 1 }]);
  clock.advance(minute);
  answer = stats(4);
  await day.look();
  clock.advance(minute);
  answer = 'the disk is gone';
  await day.look();
  expect(items()).toMatchObject([{ waiting: 4, oldest_s: 0, accepted: 1 }]);
});

it('tells the middle latency and the one that 95 of 100 did not exceed, too high by a tenth at most', () => {
  const { day, items } = started();
  for (let ms = 1; ms <= 1000; ms += 1) day.accepted(ms);
  const [step] = items();
  expect(step?.accepted).toBe(1000);
  expect(step?.latency_ms?.p50).toBeGreaterThanOrEqual(500);
  expect(step?.latency_ms?.p50).toBeLessThanOrEqual(550);
  expect(step?.latency_ms?.p95).toBeGreaterThanOrEqual(950);
  expect(step?.latency_ms?.p95).toBeLessThanOrEqual(1000);
});

it.each([
  [0.2, 0],
  [80, 80],
  [3_600_000, 3_600_000],
  [40 * 86_400_000, 40 * 86_400_000],
])('tells the latency of a single event, %d ms, as it was', (ms, shown) => {
  const { day, items } = started();
  day.accepted(ms);
  expect(items()[0]?.latency_ms).toEqual({ p50: shown, p95: shown });
});

it('tells of events of an earlier boot that they were accepted, and no latency', () => {
  const { day, items } = started();
  day.accepted(undefined);
  expect(items()).toMatchObject([{ accepted: 1, latency_ms: null }]);
});

it('keeps a day, and of each step as much as its numbers need, however many events there are', async () => {
  const { clock, day, items } = started();
  const first = clock.wall();
  for (let nth = 0; nth < 400; nth += 1) {
    await day.look();
    for (let many = 0; many < 100; many += 1) day.accepted(10 ** (many / 8));
    clock.advance(fiveMinutes);
  }
  const kept = items();
  expect(kept).toHaveLength(287);
  expect(kept[0]?.at).toBe(new Date(first + 113 * fiveMinutes).toISOString());
  day.accepted(1);
  expect(items()).toHaveLength(288);
  clock.advance(2 * 86_400_000);
  expect(items()).toEqual([]);
});

it('leaves out the steps in which siteward did not run', async () => {
  const { clock, day, items } = started();
  await day.look();
  clock.advance(12 * fiveMinutes);
  await day.look();
  const [before, after, ...more] = items();
  expect(more).toEqual([]);
  expect(Date.parse(after?.at ?? '') - Date.parse(before?.at ?? '')).toBe(12 * fiveMinutes);
});

it.each([-3 * 86_400_000, 56 * 365 * 86_400_000])(
  'keeps order and distance when the wall clock is set by %d ms',
  async (byMs) => {
    const { clock, day, items } = started();
    const first = clock.wall();
    for (let nth = 0; nth < 4; nth += 1) {
      if (nth === 2) clock.step(byMs);
      await day.look();
      clock.advance(fiveMinutes);
    }
    expect(items().map(({ at }) => Date.parse(at) - first)).toEqual(
      [0, 1, 2, 3].map((nth) => byMs + nth * fiveMinutes),
    );
  },
);

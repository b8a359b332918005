import { expect, it, onTestFinished } from 'vitest';
import type { ClockPlan, ClockRun } from '#devices/audio/index.ts';
import { daysOf, type Stamp } from '#site/model/index.ts';
import { createRuleClock } from '../../../../src/devices/audio/rules/clock.ts';
import { quiet } from '../../../cloud/support.ts';
import { until } from '../../../lan/mqtt/harness.ts';

const plan: ClockPlan = {
  timezone: 'UTC',
  holidays: [],
  slots: [{ id: 'a', days: daysOf(['daily']), at: '12:00', holidays: 'skip' }],
};

function rig(next: (afterWall: number) => readonly number[]) {
  const due: { readonly id: string; readonly at: number; readonly told: number }[] = [];
  let [set, clock]: [number, Stamp['clock']] = [0, 'synced'];
  const stamp = (): Stamp => ({ mono: performance.now(), wall: 1_000_000 + performance.now() + set, boot: 'b', clock });
  const made = createRuleClock({
    nextRuns: (_, after) => next(after).map((at): ClockRun => ({ id: 'a', date: '2026-12-01', at })),
    onDue: ({ id, at }) => void due.push({ id, at, told: stamp().wall }),
    ...{ stamp, log: quiet },
  });
  onTestFinished(() => made.stop());
  made.follow(plan);
  made.start();
  return { made, due, stamp, set: (ms: number) => (set += ms), doubt: () => (clock = 'doubtful') };
}

it('each moment is told at its time, once, and a stop ends it', async () => {
  const begin = 1_000_000 + performance.now();
  const moments = [begin + 100, begin + 200, begin + 400];
  const on = rig((after) => moments.filter((at) => at > after));
  await until(() => on.due.length === 3, 'all moments');
  expect(on.due.map(({ at }) => at)).toEqual(moments);
  for (const { at, told } of on.due) expect(told).toBeGreaterThanOrEqual(at);
  await on.made.stop();
});

it('nothing is told of a moment the clock was set over, in doubt, or that another plan has not', async () => {
  const begin = 1_000_000 + performance.now();
  const over = rig((after) => [begin + 300_000, begin + 300_300].filter((at) => at > after));
  // Over the first moment, and shortly before the second.
  over.set(300_100);
  over.made.follow({ ...plan });
  await until(() => over.due.length > 0, 'the second moment');
  expect(over.due.map(({ at }) => at)).toEqual([begin + 300_300]);

  const now = 1_000_000 + performance.now();
  const [doubt, gone, well] = [0, 1, 2].map(() => rig((after) => [now + 300].filter((at) => at > after)));
  doubt?.doubt();
  gone?.made.follow({ ...plan, slots: [] });
  await until(() => well?.due.length === 1, 'the moment');
  expect([doubt?.due, gone?.due]).toEqual([[], []]);
});

import { describe, expect, it } from 'vitest';
import { syncTimings } from '#site/core/cloud-sync/index.ts';
import type { MakePolicy } from './arming-model/bridge.ts';
import { add, type Count, nothing } from './arming-model/count.ts';
import { randomDay } from './arming-model/day.ts';
import { ours, oursWith } from './arming-model/ours.ts';
import { followTheCloud, lastWriterWins } from './arming-model/rivals.ts';
import { type Cloud, simulate } from './arming-model/simulate.ts';

const days = Number(process.env.SITEWARD_MODEL_DAYS ?? 1_000);
/** A day takes some milliseconds; a busy machine gets ten times that. */
const timeoutMs = 60_000 + days * 200;

const bare: Cloud = { timestamps: false, skewMs: 0, late: 0, lagMs: 0 };
const stamped: Cloud = { ...bare, timestamps: true };
const skewed: Cloud = { ...stamped, skewMs: 20_000 };
/** Half of the lost writes arrive after all, when nobody waits for them any more. */
const late: Cloud = { ...bare, late: 0.5 };
/** Its copies are behind each other by up to 8 s. */
const lagging: Cloud = { ...bare, lagMs: 8_000 };

function run(cloud: Cloud, policy: MakePolicy, count = days): Count {
  const sum = nothing();
  for (let seed = 1; seed <= count; seed += 1) add(sum, simulate(randomDay(seed), cloud, policy));
  return sum;
}

function report(name: string, count: Count): void {
  if (process.env.SITEWARD_MODEL_DAYS === undefined) return;
  const row = Object.entries(count).map(([key, value]) => `${key} ${value}`);
  process.stdout.write(`${days} days, ${name}: ${row.join(', ')}\n`);
}

describe('The same random days with cuts and lost answers, under three policies', () => {
  it.each([
    { name: 'a cloud without timestamps', cloud: bare, rivals: { followTheCloud } },
    { name: 'a cloud with timestamps', cloud: stamped, rivals: { lastWriterWins } },
    { name: 'a cloud whose clock is off by up to 20 s', cloud: skewed, rivals: { lastWriterWins } },
    { name: 'writes that arrive a minute too late', cloud: late, rivals: { followTheCloud } },
    { name: 'copies that are behind', cloud: lagging, rivals: { followTheCloud } },
    {
      name: 'copies that are behind, with timestamps',
      cloud: { ...lagging, timestamps: true },
      rivals: { lastWriterWins },
    },
  ])(
    'with $name, only the rules of siteward never disarm by a stale value, and they show every refusal',
    ({ name, cloud, rivals }) => {
      for (const [rival, policy] of Object.entries(rivals)) {
        const count = run(cloud, policy);
        report(`${name}, ${rival}`, count);
        expect(count.staleDisarms, rival).toBeGreaterThan(0);
      }
      const count = run(cloud, ours);
      report(`${name}, siteward`, count);
      expect(count).toMatchObject({ staleDisarms: 0, localLost: 0, notConverged: 0, notShown: 0 });
      expect(count.done).toBeGreaterThan(0);
      expect(count.refusedByCut).toBeGreaterThan(0);
      expect(count.refusedHealthy).toBeLessThanOrEqual(count.healthy * 0.001);
      if (cloud.timestamps) expect(count.invisible).toBe(0);
    },
    timeoutMs,
  );
});

it.each([
  { name: 'up to 20 s', cloud: { ...bare, lagMs: 20_000 } },
  { name: 'up to 20 s, with timestamps', cloud: { ...stamped, lagMs: 20_000 } },
  { name: 'up to a minute, with timestamps', cloud: { ...stamped, lagMs: 60_000 } },
  { name: 'up to ten minutes, with timestamps', cloud: { ...stamped, lagMs: 600_000 } },
])(
  'copies that are behind by $name, further than the rules reckon with, refuse more and never disarm by a stale value',
  ({ name, cloud }) => {
    const count = run(cloud, ours);
    report(`copies behind by ${name}, siteward`, count);
    expect(count).toMatchObject({ staleDisarms: 0, localLost: 0, notConverged: 0 });
    expect(count.done).toBeGreaterThan(0);
  },
  timeoutMs,
);

it('The count of stale disarms sees what it is there for: without the rules the same days have some', () => {
  const withoutRules = { ...syncTimings, healthyMs: 1e12, lifeMs: { armed: 1e12, disarmed: 1e12 } };
  expect(run(bare, oursWith(withoutRules), 100).staleDisarms).toBeGreaterThan(0);
});

it('A link that is read again soon after a lost answer refuses far fewer commands than one read at its usual pace', () => {
  const slow = run(bare, oursWith({ ...syncTimings, retryMs: syncTimings.pollMs }), 200);
  const soon = run(bare, ours, 200);
  expect(soon.refusedHealthy * 10).toBeLessThan(slow.refusedHealthy);
});

it('The same seed gives the same day and the same result', () => {
  expect(randomDay(7)).toEqual(randomDay(7));
  expect(simulate(randomDay(7), stamped, ours)).toEqual(simulate(randomDay(7), stamped, ours));
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noDisk } from './model/disk.ts';
import type { History } from './model/history.ts';
import { violationsOf } from './model/invariants.ts';
import { keptRuns, passedSeeds } from './model/kept.ts';
import { play } from './model/run.ts';
import { shrink } from './model/shrink.ts';
import { openStage, type Stage } from './model/stage.ts';
import { type Plan, planOf } from './model/steps.ts';
import { told } from './model/told.ts';

/**
 * The invariants of the outbox under random puts, links, statuses, kills,
 * power cuts, full disks, clock steps, damage and freezes.
 *
 * CI plays the plans of `model/kept.ts` and no others: the steps are the same every time, only the moments at which a
 * kill or an answer falls are the machine's. Random runs are asked for by `SITEWARD_MODEL_RUNS`, their number;
 * `SITEWARD_SEED` is the first of them. A seed that fails goes to `kept.ts`.
 *
 * Where each invariant is proven (files beside this one unless a path is given; "model" is this test):
 *
 * | no | what | proven by |
 * |---|---|---|
 * | 1 | acknowledged is delivered, waiting, parked or counted | model, kill, power-cut, crash-points, disk-faults |
 * | 2 | one event id has one body | model, kill, power-cut |
 * | 3 | repeats only after a fault | model |
 * | 4 | order within lane group and key | model |
 * | 5 | alarms and arming give way last | model; test/site/store/pressure; disk-faults |
 * | 6 | gaps are exact | model; test/site/store/pressure, corruption, count-after-kill |
 * | 7 | the outbox empties itself | model (in box time, not measured) |
 * | 8 | accept and event loop p99 | `npm run bench`: store |
 * | 9 | a fresh alarm during a drain | `npm run bench`: drain |
 * | 10 | an offline box knocks seldom | model |
 * | 11 | pauses asked for are kept | model |
 * | 12 | failed tries write nothing | model; test/site/store/wear |
 * | 13 | start with a million rows, memory | `npm run bench`: million |
 * | 14 | files stay below their caps | model |
 * | 15 | pictures, rows and uploads agree | model |
 * | 16 | event times | model |
 * | 17 | one put is one event | model |
 * | 18 | every connection is synchronous, a sync before each answer | model; test/site/store/durability |
 * | 19 | SIGTERM ends the box in time | model (each part has the 2 s the daemon gives it) |
 * | 20 | a frozen cloud stops nothing | model |
 *
 * After damage 6 is counted per file (the lane of a row that cannot be read is unknown). 5 sees what stands undelivered in the
 * files in use before and after a step, and leaves media and delivered rows to pressure.test.ts. What a damaged file holds that was
 * set aside cannot give way before it was read: its pages are of no use to the new file, and among its rows are alarms.
 */
const runs = Number(process.env.SITEWARD_MODEL_RUNS ?? 0);
const first = Number(process.env.SITEWARD_SEED ?? Date.now() % 2 ** 31);
/** Time a failed run may spend on looking for a shorter one, milliseconds. */
const shrinkMs = Number(process.env.SITEWARD_MODEL_SHRINK_MS ?? 60_000);
const runMs = 180_000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function holds(plan: Plan): Promise<void> {
  let history: History;
  try {
    history = await play(plan, stage);
  } catch (error) {
    throw new Error(`seed ${plan.seed} came to no end: ${String(error)}`, { cause: error });
  }
  const violations = violationsOf(history);
  if (violations.length === 0) return;
  const { steps } = await shrink(plan, stage, { untilMs: performance.now() + shrinkMs });
  expect.fail(told({ plan, violations, shorter: steps, entries: history.entries }));
}

describe('the outbox as a whole keeps its invariants', () => {
  const passed = passedSeeds.map((seed) => ({ plan: planOf(seed), found: 'nothing yet' }));
  for (const { plan, found } of [...keptRuns, ...passed]) {
    const needs = plan.disk ? ` (${noDisk() ?? 'on a disk of its own'})` : '';
    const title = `in the ${plan.seed === 0 ? 'written run' : `run of seed ${plan.seed}`} that found ${found}${needs}`;
    it.skipIf(plan.disk && noDisk() !== undefined)(title, { timeout: runMs + shrinkMs }, () => holds(plan));
  }

  if (runs === 0) return;
  it(`in ${runs} random runs from seed ${first} on`, { timeout: runs * runMs + shrinkMs }, async () => {
    for (let seed = first; seed < first + runs; seed += 1) {
      const plan = planOf(seed);
      // Without root there is no disk to cut the power of: those steps do what a folder can.
      await holds(noDisk() === undefined ? plan : { ...plan, disk: false });
    }
  });
});

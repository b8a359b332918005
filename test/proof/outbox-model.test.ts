import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noDisk } from './model/disk.ts';
import type { History } from './model/history.ts';
import { violationsOf } from './model/invariants.ts';
import { keptRuns } from './model/kept.ts';
import { play } from './model/run.ts';
import { shrink } from './model/shrink.ts';
import { openStage, type Stage } from './model/stage.ts';
import { type Plan, planOf, textOf } from './model/steps.ts';

/**
 * Issue 4, proof: the invariants of the outbox under random puts, links, statuses, kills, power cuts, full disks, clock
 * steps, damage and freezes. `SITEWARD_MODEL_RUNS` gives the number of random runs beside the kept seeds,
 * `SITEWARD_SEED` the first of them.
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
  const tail = history.entries.slice(-30).map((entry) => JSON.stringify(entry).slice(0, 300));
  expect.fail(
    [
      `seed ${plan.seed} (repeat with SITEWARD_SEED=${plan.seed} SITEWARD_MODEL_RUNS=1):`,
      ...violations.slice(0, 20),
      `steps that fail as well, on a ${plan.disk ? 'small disk' : 'folder'}, cap of bulk.db ${plan.bulkBytes ?? 'as usual'}:`,
      ...steps.map((step) => `  ${textOf(step)}`),
      'the last that was seen:',
      ...tail,
    ].join('\n'),
  );
}

describe('the outbox as a whole keeps its invariants', () => {
  for (const { plan, found } of keptRuns) {
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

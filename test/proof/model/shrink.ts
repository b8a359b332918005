import { violationsOf } from './invariants.ts';
import { play } from './run.ts';
import type { Stage } from './stage.ts';
import type { Plan } from './steps.ts';

/**
 * A shorter plan that still fails, found by leaving parts out; the plan itself where nothing can be left out in time.
 * What depends on the moment of a kill may not fail again; then little is left out.
 */
export async function shrink(plan: Plan, stage: Stage, options: { untilMs: number }): Promise<Plan> {
  let best = plan;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.steps.length; ) {
      if (performance.now() > options.untilMs) return best;
      const steps = best.steps.toSpliced(from, size);
      if (await fails({ ...best, steps }, stage)) best = { ...best, steps };
      else from += size;
    }
  }
  return best;
}

async function fails(plan: Plan, stage: Stage): Promise<boolean> {
  try {
    return violationsOf(await play(plan, stage)).length > 0;
  } catch {
    return true;
  }
}

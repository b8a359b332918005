import { Counter, type Registry } from 'prom-client';
import { type Decision, givenWay, type Input, manyTogether } from './core/index.ts';

/** What the bounds on the troubles of panels have done. */
const bounds = [
  [manyTogether, 'together'],
  [givenWay, 'given_way'],
] as const;

/** Counts inputs. Calls for help and silent buttons show in no metric: what nobody may see is not passed here (safety 4). */
export function inputMetrics(metrics: Registry): (kind: Input['kind'], seen: Pick<Decision, 'rules'>) => void {
  const inputs = new Counter({
    name: 'siteward_inputs_total',
    help: 'Inputs of the core by kind',
    labelNames: ['kind'],
    registers: [metrics],
  });
  const bounded = new Counter({
    name: 'siteward_troubles_bounded_total',
    help: 'Inputs by which troubles were told together or gave way to newer ones',
    labelNames: ['what'],
    registers: [metrics],
  });
  return (kind, { rules }) => {
    inputs.inc({ kind });
    for (const [rule, what] of bounds) if (rules.includes(rule)) bounded.inc({ what });
  };
}

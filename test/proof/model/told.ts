import type { Entry } from './history.ts';
import { type Plan, textOf } from './steps.ts';

/** So much of what was seen is told, entries; each up to so many characters. */
const tailEntries = 30;
const entryChars = 300;

export const tailOf = (entries: readonly Entry[]): readonly string[] =>
  entries.slice(-tailEntries).map((entry) => JSON.stringify(entry).slice(0, entryChars));

/**
 * What a failed run says. Of a long log often only the end is kept: its last line says again which run it was and what it
 * broke first. `shorter`: steps that fail as well.
 */
export function told(of: {
  plan: Plan;
  violations: readonly string[];
  shorter: Plan['steps'];
  entries: readonly Entry[];
}): string {
  const { plan, violations, shorter, entries } = of;
  return [
    `seed ${plan.seed} (repeat with SITEWARD_SEED=${plan.seed} SITEWARD_MODEL_RUNS=1):`,
    ...violations.slice(0, 20),
    `steps that fail as well, on a ${plan.disk ? 'small disk' : 'folder'}, cap of bulk.db ${plan.bulkBytes ?? 'as usual'}:`,
    ...shorter.map((step) => `  ${textOf(step)}`),
    'the last that was seen:',
    ...tailOf(entries),
    `seed ${plan.seed} broke ${violations.length} in all, first: ${violations[0]}`,
  ].join('\n');
}

import { type Plan, planOf } from './steps.ts';

/** Runs that once found a defect, or take a road no other does; kept for ever, each with a word on what. */
export const keptRuns: readonly { readonly plan: Plan; readonly found: string }[] = [
  { plan: planOf(1), found: 'nothing: offline, frozen and repeated, with bulk.db at its cap' },
  { plan: planOf(13), found: 'nothing: bursts and kills, with the most events of all' },
];

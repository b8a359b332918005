import { type Plan, planOf } from './steps.ts';

/** Runs that once found a defect, or take a road no other does; kept for ever, each with a word on what. */
export const keptRuns: readonly { readonly plan: Plan; readonly found: string }[] = [
  { plan: planOf(1), found: 'nothing: offline, frozen and repeated, with bulk.db at its cap' },
  {
    plan: {
      ...{ seed: 8, disk: false, bulkBytes: undefined },
      steps: [
        { do: 'fault', on: 'events', fault: 'redirect', count: 1 },
        { do: 'fault', on: 'events', fault: 'too many', count: 3 },
        { do: 'burst', lanes: ['alarm'], count: 6 },
        { do: 'skip', ms: 500 },
        { do: 'skip', ms: 500 },
        { do: 'skip', ms: 1_000 },
      ],
    },
    found: 'a pause that was forgotten because another request of the same moment had failed before',
  },
  { plan: planOf(103), found: 'a picture of a trimmed event that a kill had left in the spool' },
  { plan: planOf(213), found: 'nothing in the end: damage on a full disk, brought back when there is room' },
  { plan: planOf(13), found: 'nothing: bursts and kills, with the most events of all' },
];

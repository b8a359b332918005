/** Seeds that once found a defect, or that take a road no other does; kept for ever, each with a word on what. */
export const keptSeeds: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 1, found: 'nothing: offline, parked, frozen and repeated, with bulk.db at its cap' },
];

/** What listeners have been shown of a list, so that they are told of what changed alone. */
export interface LiveList<T> {
  /** What of these is not as it was shown; `whole` where others have come or gone, or the order is another. */
  update(entries: readonly T[]): { readonly whole: boolean; readonly changed: readonly T[] };
}

/**
 * What only moves with the time, such as an exit delay that runs, is no change: with every decision it would show when
 * one was made of which nobody may know (safety 4).
 */
export function liveList<T>(keyOf: (entry: T) => string): LiveList<T> {
  let shown = new Map<string, string>();
  return {
    update(entries) {
      const next = new Map(entries.map((entry) => [keyOf(entry), settledText(entry)]));
      const whole = [...next.keys()].join('\n') !== [...shown.keys()].join('\n');
      const changed = entries.filter((entry) => next.get(keyOf(entry)) !== shown.get(keyOf(entry)));
      shown = next;
      return { whole, changed };
    },
  };
}

/** Without what only moves with the time. */
export const settledText = (value: unknown): string =>
  JSON.stringify(value, (name, member: unknown) => (name.endsWith('left_s') ? undefined : member));

import type { OnLink } from '#cloud/delivery/index.ts';
import { bridgeTrouble, type Signal } from '#site/model/index.ts';

type Kind = NonNullable<Parameters<OnLink>[2]>;

/** What only a person can end is reported at once; a line may be back in a moment. */
const urgent: ReadonlySet<Kind> = new Set(['unauthorized', 'forbidden']);

/**
 * Tells the core of each change: one condition `comm_fail` of the bridge while the cloud takes no events, whatever the
 * reason becomes meanwhile. Its end is told at each opening of the line, so that one from before a restart ends too.
 */
export function cloudTrouble(emit: (signals: readonly Signal[]) => Promise<void>): OnLink {
  return (up, detail, kind = 'unreachable') => {
    void emit([{ ...bridgeTrouble('comm_fail', !up, detail), ...(!up && urgent.has(kind) && { urgent: true }) }])
      // Only a controller that is ending refuses.
      .catch(() => {});
  };
}

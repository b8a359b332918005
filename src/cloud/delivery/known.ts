import { withDeadline } from '#lib/wait.ts';
import { lanes } from '#site/model/index.ts';
import type { PendingRow, Store } from '#site/store/index.ts';

/** Newest events looked through for one that was delivered. */
const among = 500;
const deadlineMs = 3_000;

/** The newest event the cloud is known to have; one whose lane is known by its class. */
export async function newestDelivered(
  store: Pick<Store, 'events' | 'row'>,
  signal: AbortSignal,
): Promise<PendingRow | undefined> {
  const look = async () => {
    for (const { seq, delivery, event } of await store.events({ limit: among })) {
      const lane = lanes.find((one) => one === event.class);
      if (delivery === 'delivered' && lane !== undefined) return store.row({ seq, lane });
    }
    return undefined;
  };
  // A disk that hangs keeps no slot.
  return withDeadline(deadlineMs, signal, look).catch(() => undefined);
}

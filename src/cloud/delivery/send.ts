import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import type { PendingRow } from '#site/store/index.ts';
import type { Sent } from './address-book.ts';
import type { EventTimes } from './event-times.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { judge } from './outcome.ts';

export type Send = (row: PendingRow, signal: AbortSignal) => Promise<Sent>;

const eventDeadlineMs = 20_000;

/** One try. Body and id are the same every time, only `sent_at` differs (S-168). */
export function createSend(options: {
  readonly cloud: Pick<CloudClient, 'api'>;
  readonly times: Pick<EventTimes, 'encoded'>;
  readonly clock: Clock;
  readonly metrics: DeliveryMetrics;
}): Send {
  const { cloud, times, clock, metrics } = options;
  return async (row, signal) => {
    const encoded = await times.encoded(row, signal);
    crashPoint('send.before');
    const result = await cloud.api.postEvent({
      encoded,
      headers: { 'x-partner-trace-id': row.eventId },
      signal,
      deadlineMs: eventDeadlineMs,
    });
    crashPoint('send.after');
    const judgement = judge(result, row.eventId, clock.wall());
    if (row.silent !== true) metrics.tries.inc({ outcome: judgement.row.name });
    const taken = judgement.row.action.do === 'accept' && result.kind === 'answer';
    return { judgement, answer: taken ? result : undefined };
  };
}

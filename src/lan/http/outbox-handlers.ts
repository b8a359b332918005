import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { localClient } from '#site/model/index.ts';
import type { outboxOperations } from './outbox-operations.ts';
import type { OutboxPort } from './port.ts';

/** The handlers of the outbox. Who asked for a change goes with it. */
export function outboxHandlers(
  port: OutboxPort,
  { deadlineMs, json }: { deadlineMs: number; json: (body: unknown) => Reply },
): Handlers<typeof outboxOperations, 'local'> {
  const within = <T>(signal: AbortSignal, work: () => Promise<T>, what: string) =>
    withDeadline(deadlineMs, signal, work, what);

  return {
    getOutbox: async ({ signal }) => json(await within(signal, () => port.show(), 'counting the outbox')),
    listWaiting: async ({ query, signal }) =>
      json(await within(signal, () => port.waiting(query), 'reading what waits')),
    async listParked({ query, signal }) {
      const items = await within(signal, () => port.parked(query), 'reading parked events');
      return json({ items, next_before: items.at(-1)?.seq ?? null });
    },
    getParked: async ({ params, signal }) =>
      json(await within(signal, () => port.parkedOne(Number(params.seq)), 'reading a parked event')),
    async retryParked({ body: { seqs }, signal }) {
      const retried = await within(
        signal,
        () => port.retry({ seqs, actor: localClient }),
        'putting events back in line',
      );
      return json({ retried });
    },
    async dropParked({ body: { seqs }, signal }) {
      const dropped = await within(signal, () => port.drop({ seqs, actor: localClient }), 'dropping events');
      return json({ dropped });
    },
    listGaps: async ({ query, signal }) =>
      json({ items: await within(signal, () => port.gaps(query.limit), 'reading gap records') }),
  };
}

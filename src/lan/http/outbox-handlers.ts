import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, askerOf, json } from './answering.ts';
import type { outboxOperations } from './outbox-operations.ts';
import type { OutboxPort } from './port.ts';

/** The handlers of the outbox. Who asked for a change goes with it. */
export function outboxHandlers(port: OutboxPort): Handlers<typeof outboxOperations, By> {
  const within = <T>(signal: AbortSignal, work: () => Promise<T>, what: string) =>
    withDeadline(answerDeadlineMs, signal, work, what);

  return {
    getOutbox: async ({ signal }) => json(await within(signal, () => port.show(), 'counting the outbox')),
    getOutboxHistory: () => json(port.history()),
    listWaiting: async ({ query, signal }) =>
      json(await within(signal, () => port.waiting(query), 'reading what waits')),
    async listParked({ query, signal }) {
      const items = await within(signal, () => port.parked(query), 'reading parked events');
      return json({ items, next_before: items.at(-1)?.seq ?? null });
    },
    getParked: async ({ params, signal }) =>
      json(await within(signal, () => port.parkedOne(Number(params.seq)), 'reading a parked event')),
    async retryParked({ body: { seqs }, identity, signal }) {
      const retried = await within(
        signal,
        () => port.retry({ seqs, by: askerOf(identity) }),
        'putting events back in line',
      );
      return json({ retried });
    },
    async dropParked({ body: { seqs }, identity, signal }) {
      const dropped = await within(signal, () => port.drop({ seqs, by: askerOf(identity) }), 'dropping events');
      return json({ dropped });
    },
    listGaps: async ({ query, signal }) =>
      json({ items: await within(signal, () => port.gaps(query.limit), 'reading gap records') }),
  };
}

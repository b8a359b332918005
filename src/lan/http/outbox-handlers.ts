import type { Logger } from 'pino';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { outboxOperations } from './outbox-operations.ts';
import type { OutboxPort } from './port.ts';

/** The socket does not tell who opened it; its file's permissions say who may. */
const actor = 'control socket';
/** Numbers that stand in one log line. */
const logged = 50;

/** The handlers of the outbox. What changes it is logged with who asked. */
export function outboxHandlers(
  port: OutboxPort,
  log: Logger,
  { deadlineMs, json }: { deadlineMs: number; json: (body: unknown) => Reply },
): Handlers<typeof outboxOperations, 'local'> {
  const within = <T>(signal: AbortSignal, work: () => Promise<T>, what: string) =>
    withDeadline(deadlineMs, signal, work, what);
  const note = (seqs: readonly number[], count: number, text: string) =>
    log.warn({ actor, count, seqs: seqs.slice(0, logged) }, text);

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
      const retried = await within(signal, () => port.retry({ seqs, actor }), 'putting events back in line');
      note(seqs, retried, 'parked events were put back in line');
      return json({ retried });
    },
    async dropParked({ body: { seqs }, signal }) {
      const dropped = await within(signal, () => port.drop({ seqs, actor }), 'dropping events');
      note(seqs, dropped, 'parked events were given up');
      return json({ dropped });
    },
    listGaps: async ({ query, signal }) =>
      json({ items: await within(signal, () => port.gaps(query.limit), 'reading gap records') }),
  };
}

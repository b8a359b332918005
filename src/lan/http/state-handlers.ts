import type { By } from '#lan/access/index.ts';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, json } from './answering.ts';
import type { LanPort } from './port.ts';
import type { stateOperations } from './state-operations.ts';

/** The same document may go to many: it is written out once. */
function textOnce(): (document: object) => Reply {
  const texts = new WeakMap<object, string>();
  return (document) => {
    const body = texts.get(document) ?? JSON.stringify(document);
    texts.set(document, body);
    return { status: 200, body, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } };
  };
}

/** The state of the whole bridge, its health and its events. */
export function stateHandlers(port: LanPort): Handlers<typeof stateOperations, By> {
  const asText = textOnce();
  return {
    getStatus: async ({ signal }) =>
      asText(await withDeadline(answerDeadlineMs, signal, () => port.status(), 'status')),
    async listEvents({ query, signal }) {
      const items = await withDeadline(answerDeadlineMs, signal, () => port.events(query), 'reading events');
      // A short page is not the last one: the port may have left events out (silent alarms, safety 4).
      return json({ items, next_before: items.at(-1)?.seq ?? null });
    },
    getHealth: () => json({ status: 'ok' }),
    getReady({ identity: { from } }) {
      const { ready, reasons } = port.ready();
      // Whoever asks over the network has shown nothing of himself: the part must do.
      const shown = from === 'local' ? reasons : reasons.map((reason) => reason.split(':')[0] ?? '');
      const readiness = { ready, reasons: shown };
      return json(readiness, readiness.ready ? 200 : 503);
    },
    getMetrics: async ({ signal }) => ({
      status: 200,
      body: await withDeadline(answerDeadlineMs, signal, () => port.metrics(), 'reading metrics'),
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    }),
  };
}

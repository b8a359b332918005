import { Hono } from 'hono';
import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { bindServer, type Handlers, type Reply, refuseOtherMethods, type ServerRules } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { lanOperations } from './operations.ts';
import { outboxHandlers } from './outbox-handlers.ts';
import type { LanPort } from './port.ts';
import { problemReply } from './problem.ts';

/** Who calls. On the control socket the permissions of its file have answered that already. */
export type Identity = 'local';

const bodyCapBytes = 64 * 1024;
/** Longer than a commit on a slow SD card, shorter than a person's patience. */
const answerDeadlineMs = 5000;

/** The LAN API as an app that can be served on any listener, or called without one. */
export function lanApp(port: LanPort, log: Logger): Hono {
  const app = new Hono();
  bindServer(app, lanOperations, handlers(port, log), rules(log));
  refuseOtherMethods(app, Object.values(lanOperations), (allow) => {
    const refusal = problemReply(405, 'method_not_allowed', { detail: `Use ${allow.join(' or ')}.` });
    return { ...refusal, headers: { ...refusal.headers, allow: allow.join(', ') } };
  });
  app.notFound((context) => {
    const { status, body, headers } = problemReply(404, 'not_found');
    return context.body(JSON.stringify(body), status as 404, headers);
  });
  return app;
}

function handlers(port: LanPort, log: Logger): Handlers<typeof lanOperations, Identity> {
  return {
    getStatus: async ({ signal }) => json(await withDeadline(answerDeadlineMs, signal, () => port.status(), 'status')),
    listEvents: async ({ query, signal }) => {
      const items = await withDeadline(answerDeadlineMs, signal, () => port.events(query), 'reading events');
      // A short page is not the last one: the port may have left events out (silent alarms, safety 4).
      return json({ items, next_before: items.at(-1)?.seq ?? null });
    },
    getHealth: () => json({ status: 'ok' }),
    getReady: () => {
      const readiness = port.ready();
      return json(readiness, readiness.ready ? 200 : 503);
    },
    getMetrics: async ({ signal }) => ({
      status: 200,
      body: await withDeadline(answerDeadlineMs, signal, () => port.metrics(), 'reading metrics'),
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    }),
    ...outboxHandlers(port.outbox, log, { deadlineMs: answerDeadlineMs, json }),
  };
}

const json = (body: unknown, status = 200): Reply => ({ status, body, headers: { 'cache-control': 'no-store' } });

function rules(log: Logger): ServerRules<Identity> {
  return {
    identify: () => 'local',
    refuse: (_operation, status, issues) => problemReply(status, 'request_invalid', { issues }),
    failed: (operation, error) => failed(operation, error, log),
    bodyCap: bodyCapBytes,
  };
}

/** Failures of the moment keep their code, so that a caller may try again; anything else is ours and is logged. */
function failed(operation: Operation, error: unknown, log: Logger): Reply {
  if (error instanceof SitewardError && passing.has(error.code)) {
    return problemReply(503, error.code, { detail: error.message });
  }
  if (error instanceof SitewardError && error.code === 'not_parked')
    return problemReply(404, error.code, { detail: error.message });
  // The client hung up; nobody is there to be told.
  if (error instanceof Error && error.name === 'AbortError') return problemReply(503, 'stopped');
  log.error({ err: error, operation: operation.id }, 'a request of the LAN API failed');
  return problemReply(500, 'internal', { detail: 'The log says more.' });
}

const passing = new Set(['deadline', 'queue_full', 'stopped', 'store_failed', 'store_unavailable']);

import { Hono } from 'hono';
import type { Logger } from 'pino';
import { type ErrorCode, SitewardError } from '#errors.ts';
import type { Operation, Operations } from '#lib/contract/operation.ts';
import {
  bindServer,
  type Handlers,
  type Reply,
  type RequestIssue,
  refuseOtherMethods,
  type ServerRules,
} from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { audioHandlers } from './audio-handlers.ts';
import { auditHandlers } from './audit-handlers.ts';
import { cameraHandlers } from './cameras-handlers.ts';
import { commandHandlers } from './commands-handlers.ts';
import { mediaHandlers } from './media-handlers.ts';
import { controlOperations, lanOperations } from './operations.ts';
import { outboxHandlers } from './outbox-handlers.ts';
import type { LanPort } from './port.ts';
import { problemReply } from './problem.ts';
import { scheduleHandlers } from './schedules-handlers.ts';
import { securityTypeHandlers } from './security-type.ts';
import { userHandlers } from './users-handlers.ts';
import { verificationHandlers } from './verification-handlers.ts';
import { zoneHandlers } from './zones.ts';

/** Who calls. On the control socket the permissions of its file have answered that already. */
export type Identity = 'local';

const bodyCapBytes = 64 * 1024;
/** Longer than a commit on a slow SD card, shorter than a person's patience. */
const answerDeadlineMs = 5000;

/** The LAN API as an app that can be served on any listener, or called without one. */
export function lanApp(port: LanPort, log: Logger): Hono {
  return appOf(lanOperations, handlers(port), log);
}

/** What the control socket serves: beside the LAN API what nobody may ask over the network. */
export function controlApp(port: LanPort, log: Logger): Hono {
  const people = userHandlers(port.users, { deadlineMs: answerDeadlineMs, json });
  const clocks = scheduleHandlers(port.schedules, { deadlineMs: answerDeadlineMs, json });
  const audit = auditHandlers(port, { deadlineMs: answerDeadlineMs, json });
  const commands = commandHandlers(port.commands, { json });
  const verifications = verificationHandlers(port.verifications, { json });
  const authority = securityTypeHandlers(port.securityType, { deadlineMs: answerDeadlineMs, json });
  const zones = zoneHandlers(port.zones, { json });
  const cameras = cameraHandlers(port.cameras, { json });
  const media = mediaHandlers(port.media, { deadlineMs: answerDeadlineMs, json });
  const audio = audioHandlers(port.audio, { deadlineMs: answerDeadlineMs, json });
  const lan = handlers(port);
  const all = {
    ...lan,
    ...commands,
    ...people,
    ...clocks,
    ...audit,
    ...verifications,
    ...authority,
    ...zones,
    ...cameras,
    ...media,
    ...audio,
  };
  return appOf(controlOperations, all, log);
}

function appOf<const Ops extends Operations>(operations: Ops, handlers: Handlers<Ops, Identity>, log: Logger): Hono {
  const app = new Hono();
  bindServer(app, operations, handlers, rules(log));
  refuseOtherMethods(app, Object.values(operations), (allow) => {
    const refusal = problemReply(405, 'method_not_allowed', { detail: `Use ${allow.join(' or ')}.` });
    return { ...refusal, headers: { ...refusal.headers, allow: allow.join(', ') } };
  });
  app.notFound((context) => {
    const { status, body, headers } = problemReply(404, 'not_found');
    return context.body(JSON.stringify(body), status as 404, headers);
  });
  return app;
}

function handlers(port: LanPort): Handlers<typeof lanOperations, Identity> {
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
    ...outboxHandlers(port.outbox, { deadlineMs: answerDeadlineMs, json }),
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

/** Failures a caller can do something about keep their code; anything else is ours and is logged. */
function failed(operation: Operation, error: unknown, log: Logger): Reply {
  const status = error instanceof SitewardError ? statusOf[error.code] : undefined;
  if (error instanceof SitewardError && status !== undefined)
    return problemReply(status, error.code, { detail: error.message, ...fieldOf(error) });
  // The client hung up; nobody is there to be told.
  if (error instanceof Error && error.name === 'AbortError') return problemReply(503, 'stopped');
  log.error({ err: error, operation: operation.id }, 'a request of the LAN API failed');
  return problemReply(500, 'internal', { detail: 'The log says more.' });
}

/** Which member of a request an error is about, where it says so. */
function fieldOf({ facts: { field }, message }: SitewardError): { issues?: readonly RequestIssue[] } {
  return typeof field === 'string' ? { issues: [{ where: 'body', field, message }] } : {};
}

const statusOf: Readonly<Partial<Record<ErrorCode, number>>> = {
  audio_gone: 409,
  audio_invalid: 400,
  audio_refused: 409,
  audio_tool_missing: 503,
  audio_unavailable: 503,
  audio_unknown: 404,
  audit_discontinued: 409,
  auditor_needed: 403,
  camera_auth: 503,
  camera_bad_answer: 503,
  camera_certificate: 409,
  camera_fault: 503,
  camera_refused: 409,
  camera_unknown: 404,
  camera_unreachable: 503,
  code_refused: 409,
  config_fixed: 409,
  deadline: 503,
  last_owner: 409,
  media_gone: 404,
  media_unknown: 404,
  not_parked: 404,
  picture_invalid: 503,
  postpone_refused: 409,
  queue_full: 503,
  schedule_unknown: 404,
  stopped: 503,
  store_failed: 503,
  store_unavailable: 503,
  user_refused: 409,
  user_unknown: 404,
  users_unusable: 503,
  verification_refused: 409,
  verification_unknown: 404,
};

import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';
import type { By } from '#lan/access/index.ts';
import type { Operation } from '#lib/contract/operation.ts';
import {
  bindServer,
  type Handler,
  type Handlers,
  type Reply,
  refuseOtherMethods,
  type ServerRules,
} from '#lib/contract/server.ts';
import { accessHandlers } from './access-handlers.ts';
import { audioHandlers } from './audio-handlers.ts';
import { auditHandlers } from './audit-handlers.ts';
import { backupHandlers } from './backup-operations.ts';
import { bundleHandlers } from './bundle-handlers.ts';
import { cameraHandlers } from './cameras-handlers.ts';
import { bindCloudPaths } from './cloud-app.ts';
import { cloudChangesHandlers } from './cloud-changes.ts';
import { cloudDevicesHandlers } from './cloud-devices.ts';
import { commandHandlers } from './commands-handlers.ts';
import { configHandlers } from './config-handlers.ts';
import { dangerHandlers } from './danger.ts';
import { deviceHandlers } from './devices.ts';
import { findCamerasHandlers } from './find-cameras.ts';
import type { Idempotency } from './idempotency.ts';
import { identityHandlers } from './identity-operations.ts';
import { logHandlers } from './log-handlers.ts';
import { mediaHandlers } from './media-handlers.ts';
import { mirrorHandlers } from './mirror-operations.ts';
import { openApiHandlers } from './openapi.ts';
import { lanOperations } from './operations.ts';
import { outboxHandlers } from './outbox-handlers.ts';
import { partitionHandlers } from './partitions.ts';
import type { LanPort } from './port.ts';
import { knownProblem, problemReply, withRequestId } from './problem.ts';
import { scheduleHandlers } from './schedules-handlers.ts';
import { securityTypeHandlers } from './security-type.ts';
import { serveApp } from './serve-app.ts';
import { requestIdOf, type Take } from './serving.ts';
import { stateHandlers } from './state-handlers.ts';
import { streamHandlers } from './stream-handlers.ts';
import { userHandlers } from './users-handlers.ts';
import { verificationHandlers } from './verification-handlers.ts';
import { zoneHandlers } from './zones.ts';

const bodyCapBytes = 64 * 1024;

/** Who calls, or the answer to somebody who may not; may throw what `knownProblem` knows. */
export type Identify = ServerRules<By>['identify'];

/** Whoever could open the socket: its permissions have answered that already. */
export const identifyLocal: Identify = () => ({ caller: { kind: 'local' }, from: 'local' });

/** The LAN API as a server of Node takes requests to it. */
export const lanTake = (...of: Parameters<typeof lanApp>): Take => serveApp(lanApp(...of));

/** The LAN API as an app that can be served on any listener, or called without one; `identify` tells the listeners apart. */
export function lanApp(port: LanPort, { log, identify }: { log: Logger; identify: Identify }): Hono {
  const app = new Hono();
  const shared = rules(log, identify);
  bindServer(app, lanOperations, once(handlers(port), port.idempotency), shared);
  refuseOtherMethods(app, Object.values(lanOperations), (allow, context) =>
    finish(
      problemReply(405, 'method_not_allowed', {
        detail: `Use ${allow.join(' or ')}.`,
        headers: { allow: allow.join(', ') },
      }),
      context,
    ),
  );
  bindCloudPaths(app, port.cloudPaths, shared);
  app.notFound((context) => {
    const { status, body, headers } = finish(problemReply(404, 'not_found'), context);
    return context.body(JSON.stringify(body), status as 404, headers);
  });
  return app;
}

function handlers(port: LanPort): Handlers<typeof lanOperations, By> {
  return {
    ...stateHandlers(port),
    ...identityHandlers(port),
    ...streamHandlers(port),
    ...outboxHandlers(port.outbox),
    ...commandHandlers(port.commands),
    ...userHandlers(port.users),
    ...scheduleHandlers(port.schedules),
    ...auditHandlers(port),
    ...verificationHandlers(port.verifications),
    ...securityTypeHandlers(port.securityType),
    ...zoneHandlers(port.zones),
    ...partitionHandlers(port.partitions),
    ...deviceHandlers(port.devices),
    ...cameraHandlers(port.cameras),
    ...cloudDevicesHandlers(port.cloudDevices),
    ...cloudChangesHandlers(port.cloudChanges),
    ...mediaHandlers(port.media),
    ...audioHandlers(port.audio, port.mayEndAlarms),
    ...accessHandlers(port.access),
    ...logHandlers(port.log),
    ...configHandlers(port.config),
    ...findCamerasHandlers(port.findCameras),
    ...dangerHandlers(port.danger),
    ...bundleHandlers(port.bundle),
    ...backupHandlers(port.backup),
    ...mirrorHandlers(port.mirror),
    ...openApiHandlers(),
  };
}

/** Nothing is done twice for one `Idempotency-Key`. */
function once(all: Handlers<typeof lanOperations, By>, idempotency: Idempotency): Handlers<typeof lanOperations, By> {
  const guarded = Object.values(lanOperations).map((operation) => [
    operation.id,
    idempotency.guard(operation, all[operation.id] as Handler<Operation, By>),
  ]);
  return Object.fromEntries(guarded) as typeof all;
}

function rules(log: Logger, identify: Identify): ServerRules<By> {
  return {
    identify,
    refuse: (_operation, status, issues) => problemReply(status, 'request_invalid', { issues }),
    failed: (operation, error, context) => knownProblem(error) ?? unknownProblem(operation, error, context, log),
    finish,
    bodyCap: bodyCapBytes,
  };
}

const finish = (reply: Reply, context: Context): Reply => withRequestId(reply, requestIdOf(context));

function unknownProblem(operation: Operation, error: unknown, context: Context, log: Logger): Reply {
  // The client hung up; nobody is there to be told.
  if (error instanceof Error && error.name === 'AbortError') return problemReply(503, 'stopped');
  const about = { err: error, operation: operation.id, request_id: requestIdOf(context) };
  log.error(about, 'a request of the LAN API failed');
  return problemReply(500, 'internal', { detail: 'The log says more.' });
}

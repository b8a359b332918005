import type { Context, Hono } from 'hono';
import type { By } from '#lan/access/index.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { bindServer, type Reply, refuseOtherMethods, type ServerRules } from '#lib/contract/server.ts';
import { apiError, asApiError, requestRefused } from './cloud-answers.ts';
import { cloudHandlers, missing } from './cloud-handlers.ts';
import { cloudOperationsFor } from './cloud-operations.ts';
import type { CloudPathsPort } from './cloud-port.ts';
import { problemReply } from './problem.ts';

type Rules = Pick<ServerRules<By>, 'identify' | 'bodyCap'> & {
  /** The answer to what a handler or `identify` threw, as a problem. */
  readonly failed: (operation: Operation, error: unknown, context: Context) => Reply;
};

/** The cloud's own paths: a group of its own, since their refusals have the contract's form. */
export function bindCloudPaths(app: Hono, port: CloudPathsPort, { identify, failed, bodyCap }: Rules): void {
  const operations = cloudOperationsFor(port.referencePath());
  bindServer(app, operations, cloudHandlers(port), {
    bodyCap,
    async identify(operation, context) {
      const found = await identify(operation, context);
      if (!('status' in found)) return found;
      // What a page may not do with a session is done with a key; whoever shows neither is told so (S-041).
      const isBare = ['authorization', 'cookie'].every((name) => context.req.header(name) === undefined);
      return asApiError(isBare && found.status === 403 ? problemReply(401, 'access_needed') : found);
    },
    before: (_operation, params) => missing(port, params),
    refuse: (_operation, status, issues) => requestRefused(status, issues),
    failed: (operation, error, context) => asApiError(failed(operation, error, context)),
  });
  refuseOtherMethods(app, Object.values(operations), (allow) => {
    const reply = apiError(405, 'method_not_allowed', `use ${allow.join(' or ')}`);
    return { ...reply, headers: { ...reply.headers, allow: allow.join(', ') } };
  });
}

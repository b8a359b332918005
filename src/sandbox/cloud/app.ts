import { Hono } from 'hono';
import { type Reply, refuseOtherMethods } from '#lib/contract/server.ts';
import { partnerError } from './answers.ts';
import { controlResource, isLoopback } from './control/resource.ts';
import { exchangeOf } from './resource.ts';
import { eventsResource } from './resources/events.ts';
import { tokensResource } from './resources/tokens.ts';
import { uploadsResource } from './resources/uploads.ts';
import type { CloudState } from './state.ts';

/** All routes of the service. A new resource is one file and one line here. */
export function buildApp(state: CloudState, options: { control: boolean }): Hono {
  const app = new Hono();
  const resources = [tokensResource(state), eventsResource(state), uploadsResource(state)];
  if (options.control) resources.push(controlResource(state));
  for (const part of resources) part.bind(app);
  refuseOtherMethods(
    app,
    resources.flatMap((part) => part.operations),
    (allow, context) => {
      const hidden = context.req.path.startsWith('/__sandbox') && !isLoopback(exchangeOf(context).remoteAddress);
      if (hidden) return nothingHere;
      const refusal = partnerError(405, `use ${allow.join(' or ')} here`);
      return { ...refusal, headers: { allow: allow.join(', ') } };
    },
  );
  app.notFound((context) => context.json(nothingHere.body, 404));
  return app;
}

const nothingHere = partnerError(404, 'there is nothing at this path') as Reply & { body: object };

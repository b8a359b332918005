import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { problemReply } from './problem.ts';
import { setRequestId, type Take } from './serving.ts';

/** The app behind a server of Node. What stands in the head of `outgoing` goes out with every answer, whoever makes it. */
export function serveApp(app: Hono): Take {
  const idOf = (outgoing: { getHeader(name: string): unknown }) => String(outgoing.getHeader('x-request-id'));
  const listener = getRequestListener(
    (request, { incoming, outgoing }) => app.fetch(request, { incoming, outgoing, requestId: idOf(outgoing) }),
    {
      overrideGlobalObjects: false,
      // For the app's own reckoning; whether a host is ours is the guards' to say.
      hostname: 'localhost',
      errorHandler() {
        const { status, body, headers = {} } = problemReply(400, 'request_invalid');
        return Response.json(body, { status, headers });
      },
    },
  );
  return (incoming, outgoing) => {
    setRequestId(outgoing);
    void listener(incoming, outgoing);
  };
}

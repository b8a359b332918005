import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { problemReply } from './problem.ts';

/** What a listener says of a request beside the request itself. */
export interface LanBindings {
  readonly requestId: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Undefined where the app is asked without a listener. */
export const bindingsOf = (context: Context): LanBindings | undefined =>
  (context.env as Partial<LanBindings> | undefined)?.incoming === undefined ? undefined : (context.env as LanBindings);

export const requestIdOf = (context: Context): string | undefined => bindingsOf(context)?.requestId;

/** Short enough to be read out on the telephone; it stands for one answer and opens nothing. */
export const newRequestId = (): string => randomBytes(6).toString('hex');

export function setRequestId(outgoing: ServerResponse): string {
  const id = newRequestId();
  outgoing.setHeader('x-request-id', id);
  return id;
}

export type Take = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

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

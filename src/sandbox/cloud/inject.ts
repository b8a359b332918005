import type { Socket } from 'node:net';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { sleep } from '#lib/wait.ts';
import type { FaultSpec } from './faults.ts';

/**
 * Carries out one fault. `serve` runs the service; with `after` it has run, and its effect stays, when the answer is
 * lost, late or replaced. Everything that waits ends with `stop`.
 */
export async function withFault(
  fault: FaultSpec,
  options: { serve: () => Promise<Response>; socket: Socket; stop: AbortSignal },
): Promise<Response> {
  const { serve, socket, stop } = options;
  const served = fault.when === 'after' ? await serve() : undefined;
  switch (fault.mode) {
    case 'status':
      return falseAnswer(fault, 503);
    case 'garbage':
      return falseAnswer({ ...fault, body: fault.body ?? garbage }, 200);
    case 'delay':
      await sleep(fault.delay_ms, stop).catch(() => undefined);
      return served ?? serve();
    case 'hang':
      await sleep(2 ** 31 - 1, AbortSignal.any([stop, closed(socket)])).catch(() => undefined);
      return cut(socket);
    case 'reset':
      return cut(socket);
  }
}

/** Neither JSON nor UTF-8. */
const garbage = Buffer.from('7b22fffe00c328a0a1<<<', 'latin1');

function falseAnswer(fault: Pick<FaultSpec, 'status' | 'headers' | 'body'>, status: number): Response {
  const headers = new Headers(fault.headers);
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  const code = fault.status ?? status;
  const body = fault.body ?? { error: 'fault', message: 'a planted fault of the sandbox' };
  if (code === 204 || code === 205 || code === 304) return new Response(null, { status: code, headers });
  const plain = typeof body === 'string' || body instanceof Uint8Array;
  return new Response(plain ? (body as string) : JSON.stringify(body), { status: code, headers });
}

/** Ends the connection with a TCP reset where the socket allows it (a TLS socket can only be destroyed). */
function cut(socket: Socket): Response {
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

function closed(socket: Socket): AbortSignal {
  const controller = new AbortController();
  if (socket.destroyed) controller.abort();
  else socket.once('close', () => controller.abort());
  return controller.signal;
}

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { securityHeaders } from '#lan/access/index.ts';
import { problemReply, withRequestId } from './problem.ts';
import { newRequestId } from './serving.ts';

/** Of what Node's parser refuses; everything else it could not read. */
const statuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** Answers what never becomes a request as everything else is answered, and ends its connection. */
export function answerParserErrors(server: Server, answered: (status: number) => void): void {
  /** Connections whose handshake is done: to others nothing can be said. */
  const spoken = new WeakSet<Duplex>();
  const asked = new WeakMap<Duplex, Set<ServerResponse>>();

  server.on('secureConnection', (socket) => spoken.add(socket));

  server.on('request', ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    const open = asked.get(socket) ?? new Set();
    asked.set(socket, open.add(outgoing));
    outgoing.once('close', () => open.delete(outgoing));
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const open = [...(asked.get(socket) ?? [])];
    // Nothing may come into the middle of an answer.
    const isUnderWay = open.some(({ headersSent }) => headersSent);
    if (!spoken.has(socket) || isUnderWay || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const status = statuses[error.code ?? ''] ?? 400;
    // A request whose body did not come is counted with its own answer.
    for (const outgoing of open) outgoing.statusCode = status;
    if (open.length === 0) answered(status);
    socket.end(problemText(status), () => socket.destroy());
  });

  server.on('checkExpectation', (_incoming: IncomingMessage, outgoing: ServerResponse) => {
    answered(417);
    const { head, text } = problemOf(417);
    // In its turn: what was asked before on this connection may not be answered yet.
    outgoing.writeHead(417, head).end(text);
  });
}

function problemText(status: number): string {
  const { head, text } = problemOf(status);
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`;
}

function problemOf(status: number): { readonly head: Readonly<Record<string, string>>; readonly text: string } {
  const id = newRequestId();
  const { body, headers } = withRequestId(problemReply(status, 'request_invalid'), id);
  const text = JSON.stringify(body);
  const length = `${Buffer.byteLength(text)}`;
  const head = { ...securityHeaders, ...headers, 'x-request-id': id, 'content-length': length, connection: 'close' };
  return { head, text };
}

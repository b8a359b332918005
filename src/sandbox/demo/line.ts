import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Pool } from 'undici';

/**
 * A defect planted into the line, so that a test can show that the story notices it: an event is swallowed, pictures
 * are swallowed, or an event arrives after its successor. The sender sees a success each time.
 */
export const plants = ['delivery', 'media', 'order'] as const;
export type Plant = (typeof plants)[number];

/** The site's internet line: an HTTP relay between siteward and the cloud that can be cut like a cable. */
export interface Line {
  /** The address siteward knows as the cloud's. */
  readonly url: string;
  /** Where the line leads to; needed before the first request. */
  connect(target: string): Promise<void>;
  /** Open connections die, new ones are refused. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  close(): Promise<void>;
}

const bodyCap = 20 * 1024 * 1024;
const dropped = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'content-length']);

/** With `tls` (PEM) siteward must speak TLS to it; what is behind it is reached in clear all the same. */
export async function openLine(options: {
  plant?: Plant;
  tls?: { readonly cert: string; readonly key: string };
}): Promise<Line> {
  let pool: Pool | undefined;
  const sockets = new Set<Socket>();
  /** The event held back by the planted disorder, sent after the next one has passed. */
  let heldBack: (() => Promise<unknown>) | undefined;
  let heldOnce = false;
  let port = 0;
  let server: Server | undefined;

  async function forward(request: IncomingMessage, body: Buffer) {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.has(name)));
    if (pool === undefined) throw new Error('the line leads nowhere yet');
    return pool.request({
      method: (request.method ?? 'GET') as 'GET',
      path: request.url ?? '/',
      headers,
      body: body.length > 0 ? body : null,
    });
  }

  /** True when the planted defect has answered instead of the cloud. */
  async function planted(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<boolean> {
    const swallowed =
      (options.plant === 'delivery' && isEvent(request) && body.includes('"kind":"burglary')) ||
      (options.plant === 'media' && request.method === 'PUT');
    const held =
      options.plant === 'order' && !heldOnce && isWarehouseEvent(request, body) && body.includes('"kind":"armed_away"');
    if (held) {
      heldOnce = true;
      heldBack = async () => (await forward(request, body)).body.dump();
    }
    if (!swallowed && !held) return false;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return true;
  }

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request);
    if (await planted(request, body, response)) return;
    const answer = await forward(request, body);
    const headers = Object.entries(answer.headers).filter(([name]) => !dropped.has(name));
    response.writeHead(answer.statusCode, Object.fromEntries(headers) as Record<string, string>);
    response.end(Buffer.from(await answer.body.arrayBuffer()));
    if (heldBack !== undefined && isWarehouseEvent(request, body)) {
      const late = heldBack;
      heldBack = undefined;
      await late();
    }
  }

  async function listen(): Promise<void> {
    const serve: RequestListener = (request, response) => {
      relay(request, response).catch(() => response.destroy());
    };
    const next = options.tls === undefined ? createServer(serve) : createTlsServer(options.tls, serve);
    next.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      next.once('error', reject);
      next.listen(port, '127.0.0.1', () => resolve());
    });
    port = (next.address() as AddressInfo).port;
    server = next;
  }

  async function cut(): Promise<void> {
    const current = server;
    server = undefined;
    if (current === undefined) return;
    const closed = new Promise<void>((resolve) => current.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await listen();
  return {
    get url() {
      return `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    },
    async connect(target) {
      await pool?.destroy();
      pool = new Pool(target, { connections: 8 });
    },
    cut,
    restore: listen,
    async close() {
      await cut();
      await pool?.destroy();
    },
  };
}

function isEvent(request: IncomingMessage): boolean {
  return request.method === 'POST' && request.url === '/partner/v1/events';
}

/** Both events of the second half of the story belong to the warehouse: partition p2. */
function isWarehouseEvent(request: IncomingMessage, body: Buffer): boolean {
  return isEvent(request) && body.includes('"partition":"p2"');
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > bodyCap) throw new Error('the body is too large for the line');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

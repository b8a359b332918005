import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Pool } from 'undici';

/** One request as it passed, with the answer that came back. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  status?: number;
  answer?: string;
}

/** What is answered in the cloud's place. */
export type Answer =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | { readonly hang: true };

/** A person in the middle: everything between siteward and the cloud passes here, and may be answered otherwise. */
export interface Gate {
  readonly url: string;
  readonly passed: Passed[];
  /** Answers in the cloud's place; undefined lets the request through. */
  rule: (request: Passed) => Answer | undefined;
  leadTo(target: string): Promise<void>;
  /** The line is cut: connections die, new ones are refused. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  close(): Promise<void>;
}

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'content-length']);
type Headers = Record<string, string | string[]>;

export async function openGate(): Promise<Gate> {
  const sockets = new Set<Socket>();
  let pool: Pool | undefined;

  async function forward(request: Passed, response: ServerResponse): Promise<void> {
    if (pool === undefined) throw new Error('the gate leads nowhere');
    const answer = await pool.request({
      method: request.method as 'GET',
      path: request.path,
      headers: keep(request.headers),
      body: request.body.length > 0 ? request.body : null,
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    request.status = answer.statusCode;
    request.answer = bytes.toString('utf8');
    response.writeHead(answer.statusCode, keep(answer.headers)).end(bytes);
  }

  const server = createServer(async (incoming, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
      const { method = 'GET', url: path = '/', headers } = incoming;
      const request: Passed = { method, path, headers, body: Buffer.concat(chunks) };
      gate.passed.push(request);
      const instead = gate.rule(request);
      if (instead === undefined) return await forward(request, response);
      if ('hang' in instead) return;
      request.status = instead.status;
      response.writeHead(instead.status, { 'content-type': 'application/json', ...instead.headers });
      response.end(instead.body ?? '');
    } catch {
      response.destroy();
    }
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const gate: Gate = {
    url: `http://127.0.0.1:${port}`,
    passed: [],
    rule: () => undefined,
    async leadTo(target) {
      await pool?.destroy();
      pool = new Pool(target, { connections: 8 });
    },
    async cut() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    restore: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await pool?.destroy();
    },
  };
  return gate;
}

function keep(headers: Passed['headers']): Headers {
  const entries = Object.entries(headers).filter(([name, value]) => !hopByHop.has(name) && value !== undefined);
  return Object.fromEntries(entries) as Headers;
}

export const isToken = (request: Passed): boolean => request.path.startsWith('/oauth/token');
export const isEvent = (request: Passed): boolean => request.method === 'POST' && request.path === '/partner/v1/events';
export const isUpload = (request: Passed): boolean => request.method === 'PUT';

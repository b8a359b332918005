import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { systemCode } from '#lib/system-code.ts';
import { sleep } from '#lib/wait.ts';
import type { LanPort } from './port.ts';
import { type Later, type Take, takeLater } from './serving.ts';

export interface ControlSocketOptions {
  /** The socket's file. Whoever may open it (mode 0660) is `local` and may do everything. */
  readonly path: string;
  readonly port: LanPort;
  readonly log: Logger;
  readonly metrics: Registry;
}

/**
 * The LAN API on a unix socket, for the command line. When the socket cannot be had, the part is down with
 * the reason and tries again with backoff; nothing else of the daemon waits for it.
 */
export function createControlSocket(options: ControlSocketOptions): Part {
  const { path } = options;
  const stopping = new AbortController();
  const wait = backoff({ baseMs: 500, capMs: 30_000 });
  let server: Server | undefined;
  let trying: Promise<void> | undefined;
  let health: Health = { state: 'down', reason: 'not started' };
  const answers = counted(options);
  const dropped = new Counter({
    name: 'siteward_control_dropped_total',
    help: `Connections to the control socket refused because ${maxConnections} were open`,
    registers: [options.metrics],
  });

  async function open(): Promise<boolean> {
    try {
      server = await listen(path, answers.take, () => dropped.inc());
      health = ok({ path });
      wait.reset();
      return true;
    } catch (error) {
      health = { state: 'down', reason: `the control socket ${path} cannot be opened: ${describe(error)}` };
      return false;
    }
  }

  async function keepTrying(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(wait.next(), stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted || (await open())) return;
    }
  }

  return {
    name: 'control',
    async start() {
      answers.begin(stopping.signal);
      if (!(await open())) trying = keepTrying();
    },
    async stop() {
      stopping.abort();
      await trying;
      if (server !== undefined) await close(server);
      server = undefined;
      health = { state: 'down', reason: 'stopped' };
    },
    health: () => health,
  };
}

function counted({ port, log, metrics }: ControlSocketOptions): Later {
  const later = takeLater(async () => {
    const { identifyLocal, lanTake } = await import('./app.ts');
    return lanTake(port, { log, identify: identifyLocal });
  }, log);
  const requests = new Counter({
    name: 'siteward_control_requests_total',
    help: 'Requests on the control socket by status of the answer',
    labelNames: ['status'],
    registers: [metrics],
  });
  return {
    take(incoming, outgoing) {
      outgoing.once('close', () => requests.inc({ status: outgoing.headersSent ? outgoing.statusCode : 'none' }));
      later.take(incoming, outgoing);
    },
    begin: later.begin,
  };
}

const limits = { requestTimeout: 10_000, headersTimeout: 5000, keepAliveTimeout: 5000, maxHeaderSize: 16 * 1024 };
const maxConnections = 32;

async function listen(path: string, take: Take, onDrop: () => void): Promise<Server> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  // A unix socket has no host; the header may say anything.
  const server = createServer({ ...limits, requireHostHeader: false }, take);
  server.maxConnections = maxConnections;
  server.on('drop', onDrop);
  try {
    await bind(server, path);
  } catch (error) {
    if (systemCode(error) !== 'EADDRINUSE') throw error;
    await removeStale(path);
    await bind(server, path);
  }
  await chmod(path, 0o660);
  return server;
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A killed daemon leaves its socket file behind. It is removed only if it is a socket on which nobody answers. */
async function removeStale(path: string): Promise<void> {
  if (!(await lstat(path)).isSocket()) throw new Error('a file of another kind is in the way; remove it');
  if (await answers(path)) throw new Error('another siteward answers on it; stop that one first');
  await rm(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

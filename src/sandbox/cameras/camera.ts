import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, SitewardError } from '#errors.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import type { AuthMode } from './auth.ts';
import { answerHttp, type PlannedAnswer } from './http.ts';
import { CameraState } from './state.ts';

export interface CameraOptions {
  readonly host?: string;
  /** 0 takes a free port, kept over `stop`, `start` and `reboot`. */
  readonly port?: number;
  readonly id: string;
  readonly username?: string;
  readonly password?: string;
  /** Default `both`. With `wsse` the snapshot still asks for HTTP digest, as cameras do. */
  readonly auth?: AuthMode;
  /** How far its clock is ahead, milliseconds; negative is behind. */
  readonly clockSkewMs?: number;
  /** Pull points at the same time; default 4. */
  readonly subscriptionLimit?: number;
  /** Pads pictures to this size. */
  readonly pictureBytes?: number;
  /** How long it takes to make a picture, milliseconds. */
  readonly pictureMs?: number;
  readonly clock?: Clock;
}

export interface SimCamera {
  readonly id: string;
  /** `http://host:port`; the device service is at `/onvif/device_service`. */
  readonly url: string;
  readonly deviceUrl: string;
  motion(on: boolean): void;
  person(on: boolean): void;
  tamper(on: boolean): void;
  setPassword(password: string): void;
  /** Subscriptions end at an hour of its clock, unless they are kept. */
  setClockSkew(ms: number, options?: { keepsSubscriptions?: boolean }): void;
  /** `operation` is the SOAP name, or `snapshot`. */
  plan(operation: string, answer: PlannedAnswer): void;
  /** Unreachable until `start`: connections are cut and refused. Subscriptions stay. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Unreachable for `downMs`; subscriptions and states are lost. Resolves when it answers again. */
  reboot(downMs: number): Promise<void>;
  /** Requests by operation; `snapshot` for pictures, `refused` for failed authentications. */
  counts(): Record<string, number>;
  readonly openSubscriptions: number;
  close(): Promise<void>;
}

/** Starts one simulated camera. Throws what listening throws. */
export async function startCamera(options: CameraOptions): Promise<SimCamera> {
  const host = options.host ?? '127.0.0.1';
  const state = new CameraState({
    id: options.id,
    clock: options.clock ?? systemClock(),
    username: options.username ?? 'siteward',
    password: options.password ?? 'camera-password',
    clockSkewMs: options.clockSkewMs ?? 0,
    subscriptionLimit: options.subscriptionLimit ?? 4,
    pictureBytes: options.pictureBytes ?? 0,
    pictureMs: options.pictureMs ?? 0,
  });
  const planned = new Map<string, PlannedAnswer[]>();
  const closing = new AbortController();
  const context = { state, planned, auth: options.auth ?? 'both' };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const { status, type, body, headers } = await answerHttp(context, request, gone.signal);
    const length = Buffer.byteLength(body);
    response.writeHead(status, { 'content-type': type, 'content-length': length, ...headers }).end(body);
  };
  let running: Running | undefined = await listen(serve, host, options.port ?? 0);
  const { port } = running;
  state.url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

  const stop = async () => {
    const current = running;
    running = undefined;
    await current?.close();
  };
  const start = async () => {
    if (running === undefined && !closing.signal.aborted) running = await listen(serve, host, port);
  };
  return {
    id: options.id,
    url: state.url,
    deviceUrl: `${state.url}/onvif/device_service`,
    motion: (on) => state.set('motion', on),
    person: (on) => state.set('person', on),
    tamper: (on) => state.set('tamper', on),
    setPassword: (password) => {
      state.auth.password = password;
    },
    setClockSkew: (ms, more) => state.setClockSkew(ms, more),
    plan: (operation, answer) => {
      planned.set(
        operation,
        Array.from({ length: Math.min(answer.times ?? 1, 1000) }, () => answer),
      );
    },
    stop,
    start,
    reboot: async (downMs) => {
      await stop();
      state.subscriptions.closeAll();
      for (const name of ['motion', 'person', 'tamper'] as const) state.set(name, false);
      await sleep(downMs, closing.signal).catch(() => undefined);
      await start();
    },
    counts: () => state.counts(),
    get openSubscriptions() {
      return state.subscriptions.count;
    },
    close: async () => {
      closing.abort();
      await stop();
      state.subscriptions.closeAll();
    },
  };
}

interface Running {
  readonly port: number;
  close(): Promise<void>;
}

async function listen(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  host: string,
  port: number,
): Promise<Running> {
  const server: Server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      // The client went away, or a defect of the simulator: either way this connection is of no more use.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new SitewardError('camera_unreachable', `The simulated camera cannot listen: ${describe(cause)}`, { cause }),
      ),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

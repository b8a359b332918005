import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { describe } from '#errors.ts';
import { securityHeaders } from '#lan/access/index.ts';
import { backoff } from '#lib/backoff.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { listening } from '#lib/listening.ts';
import { never, sleep, unlessAborted, withDeadline } from '#lib/wait.ts';
import { identifyNetwork, refuseAtDoor } from './identify-network.ts';
import { createDoor, type Door } from './listener-door.ts';
import { type PageFile, pageServer } from './page-files.ts';
import { answerParserErrors } from './parser-errors.ts';
import type { LanPort } from './port.ts';
import { withRequestId } from './problem.ts';
import { type Later, setRequestId, takeLater } from './serving.ts';

/** What the listener shows, PEM. */
export interface ShownCertificate {
  readonly cert: string;
  readonly key: string;
  /** Why it is not as it should be, although it can be shown. */
  readonly note?: string | undefined;
}

export interface HttpListenerOptions {
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Names of the bridge beside its addresses, `localhost` and `*.local`; lower case. */
  readonly names: ReadonlySet<string>;
  /** Asked at each try to listen, and every hour after that. */
  readonly certificate: (signal: AbortSignal) => Promise<ShownCertificate>;
  readonly port: LanPort;
  /** The technician page; a bridge without one answers all the same. */
  readonly page: () => Promise<readonly PageFile[]>;
  readonly log: Logger;
  readonly metrics: Registry;
  /** For tests. */
  readonly renewEveryMs?: number;
  readonly times?: Partial<typeof times>;
}

/** A head in 10 s and a whole request in a minute: slower is nobody who needs to be waited for. */
const times = {
  handshakeTimeout: 10_000,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000,
};
/** A connection on which nothing moves, such as one whose client reads no answer. */
const stillMs = 120_000;
const maxHeaderSize = 16 * 1024;
const renewEveryMs = 3_600_000;
const mendedMs = 300_000;
const graceMs = 500;

/**
 * The LAN API over HTTPS. When the address or the certificate cannot be had, the part is down with the reason and tries
 * again with backoff; nothing else of the daemon waits for it, not even its own start.
 */
export function createHttpListener(options: HttpListenerOptions): Part {
  const { log, listen } = options;
  const stopping = new AbortController();
  const meters = metersOf(options.metrics, () => door.size());
  const door = createDoor((reason) => meters.refused.inc({ reason }));
  const answers = answering(options, meters);
  let server: Server | undefined;
  let shown: ShownCertificate | undefined;
  let running: Promise<void> | undefined;
  let health: Health = { state: 'down', reason: 'not started' };

  /** A disk that does not answer is not waited for at a stop. */
  const certificate = () => unlessAborted(options.certificate(stopping.signal), stopping.signal);

  async function open(): Promise<void> {
    const { cert, key, note } = await certificate();
    const next = createServer({
      ...{ cert, key, minVersion: 'TLSv1.2', maxHeaderSize },
      ...{ ...times, ...options.times, requireHostHeader: false, noDelay: true },
    });
    next.timeout = stillMs;
    door.watch(next);
    answerParserErrors(next, (status) => meters.requests.inc({ status }));
    next.on('request', answers.take);
    next.on('tlsClientError', () => meters.refused.inc({ reason: 'handshake' }));
    await listening(next, listen);
    next.on('error', (error) => log.warn({ reason: describe(error) }, 'the HTTPS listener had a mishap'));
    server = next;
    show({ cert, key, note });
    log.info({ listen: addressText(next), fingerprint: fingerprintOf(cert) }, 'the LAN API listens');
  }

  function show(next: ShownCertificate): void {
    shown = next;
    const { cert, note } = next;
    const facts = {
      listen: server === undefined ? '' : addressText(server),
      fingerprint: fingerprintOf(cert),
      certificate_until: new X509Certificate(cert).validToDate.toISOString(),
    };
    health = note === undefined ? ok(facts) : { state: 'degraded', reason: note, facts };
  }

  /** Another certificate is shown to whoever connects from now on; no connection is cut. */
  async function renew(): Promise<void> {
    const next = await certificate();
    if (next.cert !== shown?.cert || next.key !== shown.key) {
      server?.setSecureContext({ cert: next.cert, key: next.key, minVersion: 'TLSv1.2' });
      log.info({ fingerprint: fingerprintOf(next.cert) }, 'the LAN API shows another certificate');
    }
    show(next);
  }

  async function run(): Promise<void> {
    const wait = backoff({ baseMs: 500, capMs: 30_000 });
    while (!stopping.signal.aborted) {
      try {
        await (server === undefined ? open() : renew());
      } catch (error) {
        if (stopping.signal.aborted) return;
        failed(error);
      }
      await sleep(server === undefined ? wait.next() : untilNextLook(), stopping.signal).catch(() => undefined);
    }
  }

  function untilNextLook(): number {
    const everyMs = options.renewEveryMs ?? renewEveryMs;
    // What is wrong, such as the clock, may be mended soon.
    return health.state === 'ok' ? everyMs : Math.min(everyMs, mendedMs);
  }

  function failed(error: unknown): void {
    const reason =
      server === undefined
        ? `the LAN API cannot listen on ${textOf(listen)}: ${describe(error)}${adviceOn(error)}`
        : `the certificate of the LAN API was not renewed: ${describe(error)}`;
    if (reason !== health.reason) log.warn({ reason }, 'the LAN API is not as it should be');
    health = { ...health, state: server === undefined ? 'down' : 'degraded', reason };
  }

  return {
    name: 'http',
    async start() {
      answers.begin(stopping.signal);
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
      if (server !== undefined) await close(server, answers, door);
      server = undefined;
      health = { state: 'down', reason: 'stopped' };
    },
    health: () => health,
  };
}

type Meters = ReturnType<typeof metersOf>;

interface Answers extends Later {
  /** Ends streams, which have no end of their own. Resolves when what was answered so far has gone out. */
  end(): Promise<unknown>;
}

/** Every answer has the headers and is counted; what is not for this bridge is refused before the app sees it. */
function answering({ port, names, page, log }: HttpListenerOptions, meters: Meters): Answers {
  const servePage = pageServer(page, log);
  const later = takeLater(async () => {
    const { lanTake } = await import('./app.ts');
    return lanTake(port, { log, identify: identifyNetwork(port, names) });
  }, log);
  /** Bounded by the connections. */
  const open = new Set<ServerResponse>();

  function take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const started = performance.now();
    open.add(outgoing);
    outgoing.once('close', () => {
      open.delete(outgoing);
      meters.requests.inc({
        status: outgoing.headersSent || outgoing.statusCode !== 200 ? outgoing.statusCode : 'none',
      });
      // How long somebody follows a stream says nothing of how fast siteward answers.
      if (!isStream(outgoing)) meters.seconds.observe((performance.now() - started) / 1000);
    });
    for (const [name, value] of Object.entries(securityHeaders)) outgoing.setHeader(name, value);
    const refusal = refuseAtDoor(incoming, port, names);
    if (refusal === undefined) {
      setRequestId(outgoing);
      if (!servePage(incoming, outgoing)) later.take(incoming, outgoing);
    } else {
      const { status, body, headers } = withRequestId(refusal, setRequestId(outgoing));
      outgoing.writeHead(status, headers).end(JSON.stringify(body));
    }
  }

  return {
    take,
    begin: later.begin,
    end() {
      for (const one of open) if (isStream(one)) one.end();
      const ended = [...open].filter(({ writableEnded }) => writableEnded);
      return Promise.all(ended.map((one) => new Promise<void>((resolve) => one.once('close', () => resolve()))));
    },
  };
}

const isStream = (outgoing: ServerResponse): boolean =>
  String(outgoing.getHeader('content-type')).startsWith('text/event-stream');

function metersOf(metrics: Registry, connections: () => number) {
  const registers = [metrics];
  new Gauge({
    name: 'siteward_http_connections',
    help: 'Connections to the HTTPS address',
    registers,
    collect() {
      this.set(connections());
    },
  });
  return {
    requests: new Counter({
      name: 'siteward_http_requests_total',
      help: 'Requests on the HTTPS address by status of the answer; none: the client left before',
      labelNames: ['status'],
      registers,
    }),
    seconds: new Histogram({
      name: 'siteward_http_request_seconds',
      help: 'Time from the head of a request to the end of its answer, without streams',
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    refused: new Counter({
      name: 'siteward_http_refused_total',
      help: 'Connections to the HTTPS address that were sent away, by reason',
      labelNames: ['reason'],
      registers,
    }),
  };
}

async function close(server: Server, answers: Answers, door: Door): Promise<void> {
  // Node takes a connection for idle as soon as its answer is written, and would cut what has not gone out.
  await withDeadline(graceMs, never(), answers.end).catch(() => undefined);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const last = setTimeout(() => {
    server.closeAllConnections();
    door.cut();
  }, graceMs);
  await closed;
  clearTimeout(last);
}

const fingerprintOf = (cert: string): string => new X509Certificate(cert).fingerprint256;

function addressText(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return textOf({ host: address, port });
}

const textOf = ({ host, port }: HttpListenerOptions['listen']): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const advice: Readonly<Record<string, string>> = {
  EACCES: '. Ports below 1024 are for root: choose another one for http.listen',
  EADDRINUSE: '. Another program has the port: stop it, or give http.listen another one',
  EADDRNOTAVAIL: '. This machine does not have the address, or not yet',
};

const adviceOn = (error: unknown): string =>
  (error instanceof Error && 'code' in error && advice[String(error.code)]) || '';

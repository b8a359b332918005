import http from 'node:http';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import { SitewardError } from '#errors.ts';

export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From here to the last byte of the answer, connecting included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Requests of one lane wait for each other; the lanes do not. Small cameras bear few connections. */
  readonly lane: 'pull' | 'call' | 'picture';
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** All `WWW-Authenticate` headers, one entry each. */
  readonly challenges: readonly string[];
  readonly body: Uint8Array;
}

/** The wire to one camera: own agents, own deadlines, nothing followed, nothing unbounded. */
export interface CameraHttp {
  /**
   * Throws `camera_unreachable` (no connection, cut), `deadline`, `camera_bad_answer` (not HTTP, or larger than `maxBytes`)
   * or the reason of the signal. Every status is a result.
   */
  request(request: HttpRequest): Promise<HttpReply>;
  close(): void;
}

const connectTimeoutMs = 8000;

/**
 * @param fingerprint SHA-256 of the camera's certificate. Without it https needs a certificate the system trusts.
 */
export function cameraHttp(options: { fingerprint?: string | undefined } = {}): CameraHttp {
  const agents = new Map<string, http.Agent>();
  function agentFor(request: HttpRequest): http.Agent {
    const key = `${request.url.protocol}${request.lane}`;
    let agent = agents.get(key);
    if (agent === undefined) {
      // No keep-alive: many cameras close idle connections without telling, and the next request then fails.
      const settings = { keepAlive: false, maxSockets: 1 };
      const tls = options.fingerprint === undefined ? {} : { rejectUnauthorized: false };
      agent = request.url.protocol === 'https:' ? new https.Agent({ ...settings, ...tls }) : new http.Agent(settings);
      agents.set(key, agent);
    }
    return agent;
  }
  return {
    request: (request) => send(request, agentFor(request), options.fingerprint),
    close() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

function send(request: HttpRequest, agent: http.Agent, fingerprint: string | undefined): Promise<HttpReply> {
  const { url, method, headers, body, maxBytes } = request;
  return new Promise((resolve, reject) => {
    if (request.signal.aborted) return reject(request.signal.reason);
    const make = url.protocol === 'https:' ? https.request : http.request;
    const outgoing = make(url, {
      method,
      agent,
      insecureHTTPParser: true,
      headers: { accept: '*/*', 'accept-encoding': 'identity', ...headers, ...bodyHeaders(body) },
    });
    const timer = setTimeout(() => fail(late(request)), request.timeoutMs);
    const onAbort = () => fail(request.signal.reason);
    request.signal.addEventListener('abort', onAbort, { once: true });
    let settled = false;

    function settle(): boolean {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      request.signal.removeEventListener('abort', onAbort);
      return true;
    }
    function fail(error: unknown) {
      if (!settle()) return;
      outgoing.destroy();
      reject(error);
    }

    // This listener stays for good: an error after the end must not become an uncaught exception.
    outgoing.on('error', (cause) => fail(wireError(cause, url)));
    watchConnect(outgoing, { url, fingerprint, fail, ready: () => outgoing.end(body) });
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxBytes) return fail(tooLarge(url, maxBytes));
        chunks.push(chunk);
      });
      response.on('error', (cause) => fail(wireError(cause, url)));
      response.on('end', () => {
        if (settle()) resolve(toReply(response, Buffer.concat(chunks, length)));
      });
      response.on('close', () => fail(wireError(new Error('the answer was cut'), url)));
    });
  });
}

/**
 * Ends a connection attempt that hangs. With a fingerprint nothing is sent before the certificate was compared, since the
 * request carries what proves the password.
 */
function watchConnect(
  outgoing: http.ClientRequest,
  options: { url: URL; fingerprint: string | undefined; fail: (error: unknown) => void; ready: () => void },
) {
  const { url, fingerprint, fail, ready } = options;
  const secure = url.protocol === 'https:';
  const pinned = secure && fingerprint !== undefined;
  if (!pinned) ready();
  outgoing.on('socket', (socket) => {
    const timer = setTimeout(
      () => fail(wireError(new Error(`no connection within ${connectTimeoutMs} ms`), url)),
      connectTimeoutMs,
    );
    socket.once('close', () => clearTimeout(timer));
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      if (!pinned) return;
      const seen = (socket as TLSSocket).getPeerCertificate().fingerprint256 ?? 'none';
      if (seen.toUpperCase() === fingerprint.toUpperCase()) ready();
      else fail(wrongCertificate(url, seen));
    });
  });
}

function bodyHeaders(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}

function toReply(response: http.IncomingMessage, body: Uint8Array): HttpReply {
  const challenges: string[] = [];
  for (let at = 0; at + 1 < response.rawHeaders.length; at += 2) {
    if (response.rawHeaders[at]?.toLowerCase() === 'www-authenticate')
      challenges.push(response.rawHeaders[at + 1] ?? '');
  }
  return { status: response.statusCode ?? 0, headers: response.headers, challenges, body };
}

function wireError(cause: unknown, url: URL): SitewardError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code.startsWith('HPE_')) {
    return new SitewardError('camera_bad_answer', `The camera at ${url.host} does not speak HTTP`, { cause });
  }
  return new SitewardError('camera_unreachable', `No connection to the camera at ${url.host}`, {
    facts: { host: url.host, cause: code },
    cause,
  });
}

const late = (request: HttpRequest) =>
  new SitewardError('deadline', `The camera at ${request.url.host} did not answer within ${request.timeoutMs} ms`, {
    facts: { host: request.url.host, ms: request.timeoutMs },
  });

const tooLarge = (url: URL, maxBytes: number) =>
  new SitewardError('camera_bad_answer', `The camera at ${url.host} sent more than ${maxBytes} bytes`, {
    facts: { host: url.host, maxBytes },
  });

const wrongCertificate = (url: URL, seen: string) =>
  new SitewardError(
    'camera_unreachable',
    `The camera at ${url.host} shows another certificate than the configured tls_fingerprint; it shows ${seen}`,
    { facts: { host: url.host, seen } },
  );

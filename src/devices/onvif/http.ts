import http from 'node:http';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import { SitewardError } from '#errors.ts';
import { systemCode } from '#lib/system-code.ts';
import type { CertificatePin } from './certificate-pin.ts';

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
  /** See `Ask`. */
  readonly silent?: boolean;
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
   * Throws `camera_unreachable` (no connection, cut), `camera_certificate`, `deadline`, `camera_bad_answer` (not HTTP, or
   * larger than `maxBytes`) or the reason of the signal. Every status is a result.
   */
  request(request: HttpRequest): Promise<HttpReply>;
  close(): void;
}

/** Three tries to connect. A picture of a camera that is gone leaves time to ask for its stream, and to say why neither came. */
const connectTimeoutMs = 4000;

/**
 * Without a pin https needs a certificate the system trusts. `besidePin` is for pictures at another place than `host`: that
 * may be another server, whose certificate says nothing of the device's.
 */
export function cameraHttp(
  options: { pin?: CertificatePin | undefined; besidePin?: CertificatePin | undefined; host?: string } = {},
): CameraHttp {
  const pinFor = ({ lane, url }: HttpRequest) =>
    lane === 'picture' && url.host !== options.host ? (options.besidePin ?? options.pin) : options.pin;
  const agents = new Map<string, http.Agent>();
  function agentFor(request: HttpRequest): http.Agent {
    const key = `${request.url.protocol}${request.lane}`;
    let agent = agents.get(key);
    if (agent === undefined) {
      // No keep-alive: many cameras close idle connections without telling, and the next request then fails.
      const settings = { keepAlive: false, maxSockets: 1 };
      // Judged by the pin, before anything is sent; no session is taken up again, so that each shows its certificate.
      const tls = { rejectUnauthorized: options.pin === undefined, maxCachedSessions: 0 };
      agent = request.url.protocol === 'https:' ? new https.Agent({ ...settings, ...tls }) : new http.Agent(settings);
      agents.set(key, agent);
    }
    return agent;
  }
  return {
    request: (request) => send(request, agentFor(request), pinFor(request)),
    close() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

function send(request: HttpRequest, agent: http.Agent, pin: CertificatePin | undefined): Promise<HttpReply> {
  const { url, method, headers, body, maxBytes, silent = false } = request;
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
    watchConnect(outgoing, { url, pin, silent, fail, ready: () => outgoing.end(body) });
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
 * Ends a connection attempt that hangs. With a pin nothing is sent before the certificate was judged, since the request
 * carries what proves the password.
 */
function watchConnect(
  outgoing: http.ClientRequest,
  options: {
    url: URL;
    pin: CertificatePin | undefined;
    silent: boolean;
    fail: (error: unknown) => void;
    ready: () => void;
  },
) {
  const { url, pin, silent, fail, ready } = options;
  const judged = url.protocol === 'https:' && pin !== undefined;
  if (!judged) ready();
  outgoing.on('socket', (socket) => {
    const timer = setTimeout(() => fail(unreachable(url, ` within ${connectTimeoutMs / 1000} s`)), connectTimeoutMs);
    socket.once('close', () => clearTimeout(timer));
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      if (!judged) return;
      const secure = socket as TLSSocket;
      const fingerprint = secure.getPeerCertificate().fingerprint256 ?? 'none';
      pin.judge({ fingerprint, vouched: secure.authorized }, url.host, silent).then(ready, fail);
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
  const code = systemCode(cause) ?? '';
  if (code.startsWith('HPE_')) {
    return new SitewardError('camera_bad_answer', `The camera at ${url.host} does not speak HTTP`, { cause });
  }
  return unreachable(url, '', { code, cause });
}

const unreachable = ({ host }: URL, when = '', { code, cause }: { code?: string; cause?: unknown } = {}) =>
  new SitewardError('camera_unreachable', `No connection to the camera at ${host}${when}`, {
    facts: { host, ...(code !== undefined && { cause: code }) },
    cause,
  });

const late = (request: HttpRequest) =>
  new SitewardError('deadline', `The camera at ${request.url.host} did not answer within ${request.timeoutMs} ms`, {
    facts: { host: request.url.host, ms: request.timeoutMs },
  });

const tooLarge = (url: URL, maxBytes: number) =>
  new SitewardError('camera_bad_answer', `The camera at ${url.host} sent more than ${maxBytes} bytes`, {
    facts: { host: url.host, maxBytes },
  });

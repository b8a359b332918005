import { request as httpRequest, type IncomingMessage } from 'node:http';
import { SpeakerError } from '../driver.ts';
import { dial, type Trust } from './network.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** http or https. */
  readonly url: string;
}

export interface HttpAnswer {
  readonly status: number;
  /** All `WWW-Authenticate` headers, one entry each. */
  readonly challenges: readonly string[];
}

/** One request on a connection of its own. Nothing is followed, and no body of an answer is read. */
export interface Exchange {
  /** Resolves when the bytes have left this process; not at all where the connection is lost. */
  write(bytes: Buffer): Promise<void>;
  /** The request has no more bytes. */
  end(): void;
  /** Every status is a result. Rejects with a SpeakerError. */
  readonly answer: Promise<HttpAnswer>;
  /** Aborts with a SpeakerError when the connection ends, also after the answer. */
  readonly lost: AbortSignal;
  close(): void;
}

const headCap = 16 * 1024;

/** Connects, and sends the head. Rejects as `dial`. */
export async function openExchange(
  call: HttpCall & { readonly headers: Readonly<Record<string, string | number>> },
  trust: Trust,
  signal: AbortSignal,
): Promise<Exchange> {
  const url = new URL(call.url);
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const socket = await dial({ host: url.hostname, port, secure }, trust, signal);
  const lost = new AbortController();
  const { promise: answer, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  // Who wants it waits for it.
  answer.catch(() => undefined);
  const fail = (error: SpeakerError) => {
    reject(error);
    lost.abort(error);
  };
  const request = httpRequest({
    createConnection: () => socket,
    ...{ method: call.method, path: pathOf(call), maxHeaderSize: headCap, insecureHTTPParser: true },
    // Some answer before they have the sound, and would end the connection over it.
    headers: { host: url.host, 'user-agent': 'siteward', accept: '*/*', connection: 'keep-alive', ...call.headers },
  });
  request.on('error', (cause) => fail(wireError(cause)));
  request.on('response', (response) => {
    // Not read: once it were at its end, the connection would be closed, though the sound may still be on its way.
    response.on('error', () => undefined);
    resolve({ status: response.statusCode ?? 0, challenges: challengesOf(response) });
  });
  request.on('close', () => fail(new SpeakerError('connection_lost', 'the device ended the connection')));
  request.flushHeaders();
  return {
    write: (bytes) =>
      new Promise((taken) => {
        request.write(bytes, (error) => {
          if (error == null) taken();
        });
      }),
    end: () => void request.end(),
    ...{ answer, lost: lost.signal },
    close() {
      request.destroy();
      socket.destroy();
    },
  };
}

/** As it stands in the request, without user and password. */
export function pathOf({ url }: HttpCall): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

function challengesOf({ rawHeaders }: IncomingMessage): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'www-authenticate');
}

function wireError(cause: Error): SpeakerError {
  const code = 'code' in cause ? String(cause.code) : '';
  return code.startsWith('HPE_')
    ? new SpeakerError('device_error', 'what answers does not speak HTTP', { cause })
    : new SpeakerError('connection_lost', 'the device ended the connection', { cause });
}

import { once } from 'node:events';
import { type Socket, connect as tcpConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { type ErrorCode, isCode, SitewardError } from '#errors.ts';
import { bareHost } from '#lib/host.ts';
import type { Secret } from '#lib/secret.ts';
import { systemCode } from '#lib/system-code.ts';
import { withDeadline } from '#lib/wait.ts';
import { type DriverFailure, SpeakerError } from '../driver.ts';

/** A device on the network is silent so long after an abort at the latest. */
export const networkStopMs = 1000;
/** Of it, what a device that is told to stop may take to answer. */
export const stopAnswerMs = 500;
/** Two tries to connect. */
const connectMs = 3000;
/** Whoever asks the device first whether a password is still right may take so long. */
const loginMs = 7000;

export interface Credentials {
  readonly username: string;
  readonly password: Secret;
}

/** How a speaker may prove the password of its account. Many devices lock one after five wrong tries, whoever made them. */
export interface SpeakerLogin {
  /** Undefined: there is none. */
  readonly credentials: () => Credentials | undefined;
  /** Waited for before anything else is asked of it. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /**
   * Waited for before what proves the password is sent, once per connection, until it is `told`, or `over` aborts with the
   * connection. Rejects where it must not be sent.
   */
  readonly mayLogIn?: (signal: AbortSignal, over: AbortSignal) => Promise<void>;
  /** What became of it. */
  readonly told?: (verdict: 'accepted' | 'refused') => void;
  /** Throws where the password must not be sent in clear, which a device asks for that offers nothing else. */
  readonly mayGoInClear?: () => void;
}

/** Whom a device may be that is talked to over TLS. Without both, one that a CA of the system vouches for. */
export interface Trust {
  /** PEM. */
  readonly ca?: string;
  /** Throws where it must not be talked to; nothing is sent before. */
  readonly judge?: (shown: { readonly fingerprint: string; readonly vouched: boolean }, host: string) => Promise<void>;
}

/** Believes the certificate of this SHA-256 alone, hex with colons. */
export const pinnedTo =
  (fingerprint: string): NonNullable<Trust['judge']> =>
  async (shown) => {
    if (shown.fingerprint.toUpperCase() !== fingerprint.toUpperCase())
      throw new SpeakerError('refused', `it shows another certificate than the one that counts: ${shown.fingerprint}`);
  };

/**
 * A connection to the device, its certificate judged. Rejects with a SpeakerError or with the reason of the signal. The socket has
 * a listener for errors, for good.
 */
export async function dial(
  target: { host: string; port: number; secure: boolean },
  trust: Trust,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port, secure } = target;
  const { ca, judge } = trust;
  const open = { host: bareHost(host), port };
  signal.throwIfAborted();
  const socket = secure
    ? tlsConnect({ ...open, ...(ca !== undefined && { ca }), rejectUnauthorized: judge === undefined })
    : tcpConnect(open);
  // Who waits for it learns of it; without a listener it would end the process.
  socket.on('error', () => undefined);
  socket.setNoDelay();
  try {
    return await withDeadline(connectMs, signal, async (until) => {
      await once(socket, secure ? 'secureConnect' : 'connect', { signal: until });
      if (secure && judge !== undefined && 'getPeerCertificate' in socket) {
        const fingerprint = socket.getPeerCertificate().fingerprint256 ?? 'none';
        await judge({ fingerprint, vouched: socket.authorized }, host);
      }
      return socket;
    });
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw speakerError(error, (cause) => notReached(host, cause));
  }
}

function notReached(host: string, cause: unknown): SpeakerError {
  const code = systemCode(cause) ?? '';
  if (isCode(cause, 'deadline'))
    return new SpeakerError('not_found', `no connection to ${host} within ${connectMs / 1000} s`, { cause });
  const isCertificate = /CERT|SIGNATURE|ALTNAME|SELF_SIGNED|ISSUER/.test(code);
  const what = isCertificate ? `the certificate of ${host} is not believed` : `no connection to ${host}`;
  return new SpeakerError(isCertificate ? 'refused' : 'not_found', code === '' ? what : `${what}: ${code}`, { cause });
}

/** What those throw who ask a camera for siteward. */
const portFailures: Readonly<Partial<Record<ErrorCode, DriverFailure>>> = {
  camera_auth: 'auth',
  camera_certificate: 'refused',
  camera_unreachable: 'not_found',
};

/** The same where it is one already; what a port threw keeps its words. */
export function speakerError(error: unknown, otherwise: (cause: unknown) => SpeakerError): SpeakerError {
  if (error instanceof SpeakerError) return error;
  const failure = error instanceof SitewardError ? portFailures[error.code] : undefined;
  if (error instanceof SitewardError && failure !== undefined)
    return new SpeakerError(failure, error.message, { cause: error });
  return otherwise(error);
}

/** Waits until the password may be sent. `over` aborts with the connection. */
export async function enter(
  login: SpeakerLogin,
  { signal, over, inClear = false }: { signal: AbortSignal; over: AbortSignal; inClear?: boolean },
): Promise<void> {
  const work = async (until: AbortSignal) => {
    if (inClear) login.mayGoInClear?.();
    await login.mayLogIn?.(until, over);
  };
  try {
    await withDeadline(loginMs, signal, work, 'the account of the device');
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof SitewardError ? `: ${error.message}` : '';
    throw speakerError(error, (cause) => new SpeakerError('auth', `no password is tried now${why}`, { cause }));
  }
}

const failures: Readonly<Record<number, DriverFailure>> = {
  401: 'auth',
  404: 'not_found',
  405: 'unsupported',
  410: 'not_found',
  415: 'format',
  453: 'busy',
  // Method not valid in this state: for devices that want something else than a backchannel.
  455: 'unsupported',
  461: 'unsupported',
  486: 'busy',
  501: 'unsupported',
  503: 'busy',
  551: 'unsupported',
};

/** What a status of RTSP or HTTP means that is no success. */
export const failureOfStatus = (status: number): DriverFailure =>
  failures[status] ?? (status >= 500 ? 'device_error' : 'refused');

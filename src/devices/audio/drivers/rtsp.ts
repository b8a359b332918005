import { SitewardError } from '#errors.ts';
import { encodeRtsp, headersNamed, isAnswer, type RtspMessage, rtspSplitter } from '#lib/rtsp-message.ts';
import { rtspTalk } from '#lib/rtsp-talk.ts';
import { unlessAborted } from '#lib/wait.ts';
import { SpeakerError } from '../driver.ts';
import type { PaceClock } from '../pace.ts';
import { dial, enter, failureOfStatus, type SpeakerLogin, speakerError, type Trust } from './network.ts';

/** A connection to a device by RTSP. */
export interface Rtsp {
  /** Of the device, without user and password. */
  readonly url: string;
  /**
   * Resolves with the answer. Rejects with a SpeakerError, before the device plays for each status that is no success, or with
   * the reason of the signal.
   */
  ask(request: Asking, signal: AbortSignal): Promise<RtspMessage>;
  /** Resolves when the bytes have left this process; not at all where the connection is lost. */
  write(bytes: Buffer): Promise<void>;
  /** Aborts with a SpeakerError. */
  readonly lost: AbortSignal;
  /** When anything was last received, by the clock. */
  readonly heardAt: number;
  /** The device ended the connection in good order. */
  readonly isEnded: boolean;
  close(): void;
}

export interface Asking {
  readonly method: string;
  readonly url: string;
  readonly headers?: readonly string[];
  /** The device may take so long to answer. */
  readonly ms?: number;
}

const answerMs = 5000;

/** Connects; nothing is asked yet. Rejects as `dial`. */
export async function openRtsp(
  device: { url: string; login: SpeakerLogin; trust: Trust; clock: PaceClock },
  signal: AbortSignal,
): Promise<Rtsp> {
  const { login, trust, clock } = device;
  const address = new URL(device.url);
  // What stands in the address would be sent in clear.
  address.username = '';
  address.password = '';
  const url = address.href;
  const secure = address.protocol === 'rtsps:';
  const port = Number(address.port || (secure ? 322 : 554));
  await login.ready?.(signal);
  const socket = await dial({ host: address.hostname, port, secure }, trust, signal);

  const lost = new AbortController();
  const waiting = new Map<string, (answer: RtspMessage) => void>();
  let heardAt = clock.now();
  let sent = 0;
  let isEnded = false;

  function fail(error: unknown): void {
    lost.abort(failureOf(error));
    socket.destroy();
  }

  const { username, password } = login.credentials() ?? {};
  const talk = rtspTalk({
    camera: {
      ...{ url, username, password },
      enter: (over) => enter(login, { signal: over, over }),
      judged: (isAccepted) => login.told?.(isAccepted ? 'accepted' : 'refused'),
      basic: () => {
        if (!secure) login.mayGoInClear?.();
      },
    },
    // There is no other reader than this process, which knows the device by its own address.
    lent: url,
    toCamera: (bytes) => void socket.write(bytes),
    toReader: rtspSplitter({
      message: (message) => {
        // Some ask, too, by numbers of their own.
        if (isAnswer(message)) waiting.get(headersNamed(message, 'cseq')[0] ?? '')?.(message);
      },
      media: () => undefined,
    }),
    failed: fail,
    over: lost.signal,
  });

  socket.on('data', (chunk) => {
    heardAt = clock.now();
    try {
      if (!lost.signal.aborted) talk.fromCamera(chunk);
    } catch (error) {
      fail(error);
    }
  });
  socket.once('end', () => {
    isEnded = true;
  });
  socket.once('close', () => fail(new SpeakerError('connection_lost', 'the device ended the connection')));
  if (socket.destroyed) fail(new SpeakerError('connection_lost', 'the device ended the connection'));

  return {
    url,
    async ask({ method, url: at, headers = [], ms = answerMs }, stop) {
      const until = AbortSignal.any([lost.signal, stop]);
      until.throwIfAborted();
      const number = `${++sent}`;
      const { promise, resolve } = Promise.withResolvers<RtspMessage>();
      const over = new AbortController();
      const late = async (): Promise<never> => {
        // While others log in it is nobody's fault that nothing comes.
        do await clock.sleep(ms, over.signal);
        while (talk.isEntering);
        throw new SpeakerError('timeout', `the device does not answer to ${method}`);
      };
      waiting.set(number, resolve);
      try {
        const own = [`CSeq: ${number}`, 'User-Agent: siteward', ...headers];
        talk.fromReader(encodeRtsp({ start: `${method} ${at} RTSP/1.0`, headers: own, body: Buffer.alloc(0) }));
        return await Promise.race([unlessAborted(promise, until), late()]);
      } finally {
        over.abort();
        waiting.delete(number);
      }
    },
    write: (bytes) =>
      new Promise((resolve) => {
        socket.write(bytes, (error) => {
          if (error == null) resolve();
        });
      }),
    lost: lost.signal,
    get heardAt() {
      return heardAt;
    },
    get isEnded() {
      return isEnded;
    },
    close: () => void socket.destroy(),
  };
}

function failureOf(error: unknown): SpeakerError {
  return speakerError(error, (cause) => {
    if (!(cause instanceof SitewardError))
      return new SpeakerError('device_error', 'what answers does not speak RTSP', { cause });
    const status = Number(cause.facts.status);
    return new SpeakerError(status > 0 ? failureOfStatus(status) : 'device_error', cause.message, { cause });
  });
}

import { SitewardError } from '#errors.ts';
import { basicAuthorization, digestMemory, offersBasic, parseChallenges, pickDigest } from './http-digest.ts';
import { encodeRtsp, headersNamed, isAnswer, type RtspMessage, rtspSplitter, withHeader } from './rtsp-message.ts';
import type { Secret } from './secret.ts';

/** A camera's stream, and how it is asked for. */
export interface RtspCamera {
  /** rtsp or rtsps, without user and password. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  /** Throws when an rtsps camera must not be talked to; without it only a certificate that a CA vouches for is good. */
  readonly judge?: (shown: { readonly fingerprint: string; readonly vouched: boolean }, host: string) => Promise<void>;
  /**
   * Told once per connection that wants the password whether it was accepted, and whether it went in clear; and once more
   * where it is refused after that, as when it was changed while the stream is read.
   */
  readonly judged?: (isAccepted: boolean, inClear: boolean) => void;
  /** Throws where the password must not be sent in clear. */
  readonly basic?: () => void;
  /**
   * Waited for once per connection that wants the password, before it is sent; rejects where it must not be. `over` aborts
   * with the connection.
   */
  readonly enter?: (over: AbortSignal) => Promise<void>;
}

/** A request the camera has not answered. */
interface Asked {
  readonly request: RtspMessage;
  readonly method: string;
  readonly uri: string;
  readonly sends: number;
  readonly proven: boolean;
  /** Of the digest that went with it. */
  readonly nonce: string;
}

const waitingCap = 32;
const sendsCap = 3;

/**
 * Both directions of an RTSP connection, between a reader, who knows the camera as `lent` and no password, and the camera.
 * A request gets the camera's own address, a number of ours, since a second try needs a new one, and, once it is asked for,
 * what proves the password, until that is refused, so that a wrong one costs one try: a reader gives a sign of life every few
 * seconds, and many cameras lock the account after five. All else passes as it is. What is taken may throw:
 * `camera_auth`, `camera_bad_answer`, or what says that this is no RTSP. The connection is then of no more use.
 */
export function rtspTalk(options: {
  camera: RtspCamera;
  lent: string;
  toCamera: (bytes: Buffer) => void;
  toReader: (bytes: Buffer) => void;
  /** The password must not be sent. */
  failed: (error: unknown) => void;
  over: AbortSignal;
}): { fromReader(chunk: Buffer): void; fromCamera(chunk: Buffer): void; readonly isEntering: boolean } {
  const { camera, lent, toCamera, toReader, failed, over } = options;
  const { host } = new URL(camera.url);
  const password = camera.password?.reveal() ?? '';
  const digest = digestMemory();
  const waiting = new Map<string, Asked>();
  let scheme: 'none' | 'digest' | 'basic' = 'none';
  let sent = 0;
  let isAccepted = false;
  let isRefused = false;
  let isPlaying = false;
  let entering: Promise<void> | undefined;
  let isIn = false;

  function ask(asked: Omit<Asked, 'proven' | 'nonce'>): void {
    const [oldest] = waiting.keys();
    // Some cameras never answer a reader's signs of life.
    if (oldest !== undefined && waiting.size >= waitingCap) waiting.delete(oldest);
    sent += 1;
    const proof = proofFor(asked.method, asked.uri);
    waiting.set(String(sent), { ...asked, proven: proof !== undefined, nonce: digest.nonce });
    const numbered = withHeader(asked.request, 'cseq', `CSeq: ${sent}`);
    toCamera(encodeRtsp(withHeader(numbered, 'authorization', proof && `Authorization: ${proof}`)));
  }

  function proofFor(method: string, uri: string): string | undefined {
    const { username } = camera;
    if (username === undefined || scheme === 'none' || !isIn || isRefused) return undefined;
    return scheme === 'basic'
      ? basicAuthorization(username, password)
      : digest.authorize(method, uri, username, password);
  }

  function fromReader(request: RtspMessage): void {
    if (isAnswer(request)) {
      toCamera(encodeRtsp(request));
      return;
    }
    const [method = '', uri = '', version = ''] = request.start.split(' ');
    const own = uri.startsWith(lent) ? `${camera.url}${uri.slice(lent.length)}` : uri;
    ask({ request: { ...request, start: `${method} ${own} ${version}` }, method, uri: own, sends: 1 });
  }

  function fromCamera(answer: RtspMessage): void {
    if (answer.start.startsWith('HTTP/')) throw new Error('it speaks HTTP');
    if (!isAnswer(answer)) {
      toReader(encodeRtsp(answer));
      return;
    }
    // Some cameras leave the number out.
    const number = headersNamed(answer, 'cseq')[0] ?? waiting.keys().next().value ?? '';
    const asked = waiting.get(number);
    if (asked === undefined) return;
    waiting.delete(number);
    const status = Number(answer.start.split(' ')[1]);
    if (status === 401 && learn(answer, asked)) {
      const again = () => ask({ ...asked, sends: asked.sends + 1 });
      if (isIn) again();
      else void enter().then(again).catch(failed);
      return;
    }
    if (asked.proven && status !== 401) digest.accepted(asked.nonce);
    if (asked.proven) judge(status !== 401);
    // Who sees the stream already is not stopped by a camera that does not know a reader's sign of life.
    if (!isPlaying && status >= 300) throw refusal(host, status, asked);
    if (asked.method === 'PLAY') isPlaying = true;
    const [own] = headersNamed(asked.request, 'cseq');
    toReader(encodeRtsp(withHeader(answer, 'cseq', own && `CSeq: ${own}`)));
  }

  function judge(isGood: boolean): void {
    if (isRefused || (isGood && isAccepted)) return;
    isAccepted = isGood;
    isRefused = !isGood;
    camera.judged?.(isGood, scheme === 'basic');
  }

  function enter(): Promise<void> {
    entering ??= (async () => {
      await camera.enter?.(over);
      isIn = true;
    })();
    return entering;
  }

  /** Whether another try makes sense: after the first question, and when the nonce has grown old. */
  function learn(answer: RtspMessage, asked: Asked): boolean {
    const challenges = parseChallenges(headersNamed(answer, 'www-authenticate'));
    const challenge = pickDigest(challenges);
    const isOld = challenge !== undefined && digest.mayBeOld(asked.nonce, challenge);
    if (camera.username === undefined || isRefused) return false;
    if (asked.sends >= sendsCap || (asked.proven && !isOld)) return false;
    if (challenge !== undefined) digest.learn(challenge);
    // The password in clear is sent only to who offers nothing else.
    scheme = challenge !== undefined ? 'digest' : offersBasic(challenges) ? 'basic' : 'none';
    if (scheme === 'basic') camera.basic?.();
    return scheme !== 'none';
  }

  return {
    fromReader: rtspSplitter({ message: fromReader, media: toCamera }),
    fromCamera: rtspSplitter({ message: fromCamera, media: toReader }),
    get isEntering() {
      return entering !== undefined && !isIn;
    },
  };
}

function refusal(host: string, status: number, { method, proven }: Asked): SitewardError {
  const facts = { host, status };
  if (status === 401) {
    const why = proven ? 'the user name or password was refused' : 'it wants credentials that siteward does not have';
    return new SitewardError('camera_auth', `The camera at ${host} does not show its stream: ${why}`, { facts });
  }
  const what = `${status} to ${method} of its stream`;
  return new SitewardError('camera_bad_answer', `The camera at ${host} answered ${what}`, { facts });
}

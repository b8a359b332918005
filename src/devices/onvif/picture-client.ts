import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { basicAuthorization, digestMemory, offersBasic, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import { readJpeg } from '#lib/jpeg.ts';
import type { Snapshot } from './camera.ts';
import { type Device, redirectTarget } from './device.ts';
import type { HttpReply } from './http.ts';
import type { Login } from './login.ts';

const maxBytes = 8 * 1024 * 1024;
const maxSends = 5;

export interface Fetching {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** See `Ask`. */
  readonly silent?: boolean;
}

/** Fetches still pictures of one device: credentials, redirects, and whether it is a picture. */
export interface PictureClient {
  /** Throws as `Camera.snapshot`. */
  fetch(url: URL, how: Fetching): Promise<Snapshot>;
}

type Taken = HttpReply & { readonly takenAt: number };

export function createPictureClient(options: { device: Device; login: Login; clock: Clock }): PictureClient {
  const { device, login, clock } = options;
  const { account, clear, username, password } = device;
  // Pictures often have a realm of their own.
  const digest = digestMemory();
  let scheme: 'none' | 'digest' | 'basic' = 'none';

  async function fetch(start: URL, how: Fetching): Promise<Snapshot> {
    const { signal, silent = false } = how;
    let url = start;
    for (let sends = 0; sends < maxSends; sends += 1) {
      await clear.recall();
      // What was right may not be any more: it has to ask again.
      if (scheme === 'basic' && !clear.allows(url)) scheme = 'none';
      const at = url;
      const reply = await (scheme === 'none' ? send(at, how) : login.at('pictures', signal, () => prove(at, how)));
      const next = redirectTarget(reply, url);
      if (next !== undefined) url = next;
      else if (reply.status === 401) learn(reply.challenges, url, silent);
      else {
        if (!silent) clear.answered();
        return checked(reply.status, reply.body, reply.takenAt);
      }
    }
    throw new SitewardError('camera_bad_answer', 'The camera asks for credentials or redirects again and again');
  }

  async function send(url: URL, { timeoutMs, signal, silent = false }: Fetching, proof?: string): Promise<Taken> {
    const takenAt = clock.wall();
    const headers: Record<string, string> = proof === undefined ? {} : { authorization: proof };
    const lane = 'picture';
    const reply = await device.http.request({ url, method: 'GET', headers, timeoutMs, maxBytes, lane, signal, silent });
    return { ...reply, takenAt };
  }

  async function prove(url: URL, how: Fetching): Promise<Taken> {
    const proof =
      scheme === 'basic'
        ? basicAuthorization(username ?? '', password)
        : digest.authorize('GET', `${url.pathname}${url.search}`, username ?? '', password);
    const { nonce } = digest;
    if (account.wasAccepted('pictures') !== true) await device.trying('pictures');
    const reply = await send(url, how, proof);
    if (reply.status === 401) {
      const challenge = pickDigest(parseChallenges(reply.challenges));
      if (challenge === undefined || !digest.mayBeOld(nonce, challenge)) {
        digest.doubt();
        await device.judged('pictures', false);
      }
    } else if (reply.status < 300) {
      // A device that refuses otherwise, or is out of order, has told nothing of the password.
      await device.judged('pictures', true);
      if (scheme === 'digest') {
        digest.accepted(nonce);
        clear.better();
      }
    }
    return reply;
  }

  /**
   * Prepares the next send, or throws `camera_auth`. The password in clear (Basic) is sent only to who offers nothing else,
   * now and ever.
   */
  function learn(headers: readonly string[], url: URL, silent: boolean): void {
    account.check('pictures');
    const challenges = parseChallenges(headers);
    const challenge = pickDigest(challenges);
    if (username === undefined || (challenge === undefined && !offersBasic(challenges))) {
      throw new SitewardError(
        'camera_auth',
        'The camera wants credentials for its pictures that siteward does not have',
      );
    }
    if (challenge === undefined) clear.check(url, silent);
    else digest.learn(challenge);
    scheme = challenge !== undefined ? 'digest' : 'basic';
  }

  return { fetch };
}
function checked(status: number, body: Uint8Array, takenAt: number): Snapshot {
  if (status !== 200) {
    throw new SitewardError('camera_bad_answer', `The camera answered HTTP ${status} for its picture`, {
      facts: { status },
    });
  }
  const jpeg = readJpeg(body);
  if (typeof jpeg === 'string') {
    throw new SitewardError('picture_invalid', `What the camera sent is not a usable JPEG picture: ${jpeg}`, {
      facts: { bytes: body.length, reason: jpeg },
    });
  }
  return { bytes: body.subarray(0, jpeg.length), mime: 'image/jpeg', takenAt };
}

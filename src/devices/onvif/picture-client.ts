import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { basicAuthorization, digestMemory, offersBasic, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { authLatch } from './auth-latch.ts';
import type { Snapshot } from './camera.ts';
import { type Device, redirectTarget } from './device.ts';

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

export function createPictureClient(options: {
  device: Device;
  clock: Clock;
  authHoldMs: number;
  /** In place of the device's, where it has been found out otherwise that the login is right. */
  letIn?: Device['letIn'];
}): PictureClient {
  const { device, clock, letIn = device.letIn } = options;
  // Pictures often have a realm, sometimes users, of their own: a refusal here must not end the events.
  const latch = authLatch(clock, options.authHoldMs);
  const digest = digestMemory();
  let scheme: 'none' | 'digest' | 'basic' = 'none';
  /** In this run, and not refused since. */
  let wasAccepted = false;

  async function fetch(start: URL, { timeoutMs, signal, silent = false }: Fetching): Promise<Snapshot> {
    latch.check();
    let url = start;
    for (let sends = 0; sends < maxSends; sends += 1) {
      const takenAt = clock.wall();
      const proof = await authorization(url, signal);
      const { nonce } = digest;
      const headers: Record<string, string> = proof === undefined ? {} : { authorization: proof };
      const request = {
        url,
        method: 'GET',
        headers,
        timeoutMs,
        maxBytes,
        lane: 'picture',
        signal,
      } as const;
      const reply = await device.http.request(request);
      const next = redirectTarget(reply, url);
      if (next !== undefined) url = next;
      else if (reply.status === 401)
        answerChallenge(reply.challenges, { url, nonce, proofSent: proof !== undefined, silent });
      else {
        // A device that refuses otherwise, or is out of order, has told nothing of the password.
        if (proof !== undefined && reply.status < 300) accepted(nonce);
        if (!silent) device.clear.answered();
        return checked(reply.status, reply.body, takenAt);
      }
    }
    throw new SitewardError('camera_bad_answer', 'The camera asks for credentials or redirects again and again');
  }

  function accepted(nonce: string): void {
    latch.accepted();
    wasAccepted = true;
    if (scheme !== 'digest') return;
    digest.accepted(nonce);
    device.clear.better();
  }

  async function authorization(url: URL, signal: AbortSignal): Promise<string | undefined> {
    const { username, password, clear } = device;
    if (username === undefined) return undefined;
    await clear.recall();
    // What was right may not be any more: it has to ask again.
    if (scheme === 'basic' && !clear.allows(url)) scheme = 'none';
    if (scheme === 'none') return undefined;
    await letIn(signal, wasAccepted);
    if (scheme === 'basic') return basicAuthorization(username, password);
    return digest.authorize('GET', `${url.pathname}${url.search}`, username, password);
  }

  /**
   * Prepares the next send, or throws `camera_auth`. The password in clear (Basic) is sent only to who offers nothing else,
   * now and ever.
   */
  function answerChallenge(
    headers: readonly string[],
    { url, nonce, proofSent, silent }: { url: URL; nonce: string; proofSent: boolean; silent: boolean },
  ): void {
    const challenges = parseChallenges(headers);
    const challenge = pickDigest(challenges);
    if (device.username === undefined || (challenge === undefined && !offersBasic(challenges))) {
      throw new SitewardError(
        'camera_auth',
        'The camera wants credentials for its pictures that siteward does not have',
      );
    }
    const isOld = challenge !== undefined && digest.mayBeOld(nonce, challenge);
    if (proofSent && !isOld) {
      digest.doubt();
      device.doubt('refused');
      wasAccepted = false;
      if (latch.refused()) throw latch.error();
    }
    if (challenge === undefined) device.clear.check(url, silent);
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

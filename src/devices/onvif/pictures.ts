import { isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { basicAuthorization, digestMemory, offersBasic, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { withDeadline } from '#lib/wait.ts';
import { type AddressMode, pictureAddresses } from './address.ts';
import { authLatch } from './auth-latch.ts';
import type { Snapshot } from './camera.ts';
import { type Device, redirectTarget } from './device.ts';
import type { Profile, Reads } from './reads.ts';

/** Still pictures of one camera, and what is known of its streams. */
export interface Pictures {
  /** See `Camera.snapshot`. */
  take(signal: AbortSignal): Promise<Snapshot>;
  /** Learns addresses ahead of the first alarm; best effort, never throws. */
  prepare(): Promise<void>;
  known(): { profiles?: number; stream?: string };
  close(): void;
}

const deadlineMs = 10_000;
const choiceTimeoutMs = 4000;
const maxBytes = 8 * 1024 * 1024;
const maxSends = 5;

export function createPictures(options: {
  device: Device;
  reads: Reads;
  addresses: AddressMode;
  configured?: string | undefined;
  clock: Clock;
  authHoldMs: number;
}): Pictures {
  const { device, reads, clock } = options;
  const lifetime = new AbortController();
  // Pictures often have a realm, sometimes users, of their own: a refusal here must not end the events.
  const latch = authLatch(clock, options.authHoldMs);
  const digest = digestMemory();
  let scheme: 'none' | 'digest' | 'basic' = 'none';
  /** Shared by those who learn at the same time; forgotten when it failed or when its addresses did. */
  let learning: Promise<readonly URL[]> | undefined;
  let profiles: readonly Profile[] | undefined;
  let stream: string | undefined;
  let running: Promise<Snapshot> | undefined;

  function addresses(): Promise<readonly URL[]> {
    if (options.configured !== undefined) return Promise.resolve([new URL(options.configured)]);
    learning ??= learn(lifetime.signal).catch((error) => {
      learning = undefined;
      throw error;
    });
    return learning;
  }

  /** Throws what `Reads` throws; the first profile is the one cameras use for their main picture. */
  async function learn(signal: AbortSignal): Promise<readonly URL[]> {
    profiles = await reads.profiles(signal);
    const token = profiles[0]?.token;
    if (token === undefined) throw new SitewardError('camera_bad_answer', 'The camera has no media profile');
    return pictureAddresses(await reads.snapshotAddress(token, signal), device.base, options.addresses);
  }

  async function shoot(signal: AbortSignal): Promise<Snapshot> {
    device.latch.check();
    let failure: unknown;
    const all = await addresses();
    // With a choice of addresses one that hangs must leave time for the next.
    const timeoutMs = all.length > 1 ? choiceTimeoutMs : deadlineMs;
    for (const url of all) {
      try {
        const picture = await fetchPicture(url, timeoutMs, signal);
        learning = Promise.resolve([url]);
        return picture;
      } catch (error) {
        signal.throwIfAborted();
        if (isCode(error, 'camera_auth')) throw error;
        // An address that was only guessed tells less when nobody is there.
        if (failure === undefined || isCode(failure, 'camera_unreachable')) failure = error;
      }
    }
    // The address may have changed with a setting or a firmware: it is learned again next time.
    learning = undefined;
    throw failure;
  }

  async function fetchPicture(start: URL, timeoutMs: number, signal: AbortSignal): Promise<Snapshot> {
    latch.check();
    let url = start;
    for (let sends = 0; sends < maxSends; sends += 1) {
      const takenAt = clock.wall();
      const proof = authorization(url);
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
      else if (reply.status === 401) answerChallenge(reply.challenges, proof !== undefined);
      else {
        if (proof !== undefined) latch.accepted();
        return checked(reply.status, reply.body, takenAt);
      }
    }
    throw new SitewardError('camera_bad_answer', 'The camera asks for credentials or redirects again and again');
  }

  function authorization(url: URL): string | undefined {
    const { username, password } = device;
    if (username === undefined || scheme === 'none') return undefined;
    if (scheme === 'basic') return basicAuthorization(username, password);
    return digest.authorize('GET', `${url.pathname}${url.search}`, username, password);
  }

  /** Prepares the next send, or throws `camera_auth`. The password in clear (Basic) is sent only to who offers nothing else. */
  function answerChallenge(headers: readonly string[], proofSent: boolean): void {
    const challenges = parseChallenges(headers);
    const challenge = pickDigest(challenges);
    if (device.username === undefined || (challenge === undefined && !offersBasic(challenges))) {
      throw new SitewardError(
        'camera_auth',
        'The camera wants credentials for its pictures that siteward does not have',
      );
    }
    if (proofSent && challenge?.stale !== true && latch.refused()) throw latch.error();
    if (challenge !== undefined) digest.learn(challenge);
    scheme = challenge !== undefined ? 'digest' : 'basic';
  }

  return {
    take(signal) {
      running ??= withDeadline(deadlineMs, lifetime.signal, shoot, 'the picture').finally(() => {
        running = undefined;
      });
      const shared = running;
      return withDeadline(deadlineMs + 1000, signal, () => shared, 'the picture');
    },
    async prepare() {
      try {
        learning = undefined;
        await addresses();
        const token = profiles?.[0]?.token;
        if (token !== undefined) stream = withoutUser(await reads.streamAddress(token, lifetime.signal));
      } catch {
        // Learned again when a picture is asked for; the failure is told then.
      }
    },
    known: () => ({
      ...(profiles !== undefined && { profiles: profiles.length }),
      ...(stream !== undefined && { stream }),
    }),
    close: () => lifetime.abort(new SitewardError('stopped', 'The camera session was stopped')),
  };
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

const withoutUser = (address: string) => address.replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');

import { randomUUID } from 'node:crypto';
import { isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { digestMemory, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import type { Secret } from '#lib/secret.ts';
import { createTurns } from '#lib/turns.ts';
import { unlessAborted } from '#lib/wait.ts';
import { largeXmlNodes, type XmlElement } from '#lib/xml.ts';
import { type Account, createAccount, type Door } from './account.ts';
import { accountMemory } from './account-memory.ts';
import type { MemoryPort } from './camera.ts';
import type { CertificatePin } from './certificate-pin.ts';
import { type ClearLogin, clearLogin } from './clear-login.ts';
import { type DeviceClock, deviceClock } from './device-clock.ts';
import { type CameraHttp, cameraHttp, type HttpReply, type HttpRequest } from './http.ts';
import { keyOf } from './memory-keys.ts';
import { addressing, envelope, type Fault, faultError, isRefusal, ns, readAnswer, usernameToken } from './soap.ts';

export interface SoapCall {
  /** The operation's name, for people. */
  readonly name: string;
  readonly action: string;
  /** Content of the SOAP body. */
  readonly body: string;
  readonly url?: URL;
  /** WS-Addressing: where the message is for, in the camera's own words. */
  readonly to?: { readonly address: string; readonly parameters: readonly string[] } | undefined;
  readonly timeoutMs: number;
  readonly lane?: 'pull' | 'call';
  /** Its answer may be larger than any other, and is not read often. */
  readonly large?: boolean;
  /** Sent without credentials, also when the camera wants some. */
  readonly open?: boolean;
  /** A fault that refuses this one operation says nothing about the password; an HTTP 401 does, and counts. */
  /** `spare`: many accounts may not ask for it. Once let in, a refusal counts in the row alone, and two are risked. */
  readonly optional?: boolean | 'spare';
  readonly signal: AbortSignal;
}

export interface SoapReply {
  readonly body: XmlElement;
}

/** One camera as a SOAP server: transport, credentials, clock. */
export interface Device {
  readonly base: URL;
  readonly http: CameraHttp;
  readonly clock: DeviceClock;
  readonly account: Account;
  readonly clear: ClearLogin;
  readonly username: string | undefined;
  readonly password: string;
  /**
   * Throws `camera_auth` (two refusals, then at once for a while), `camera_fault` (facts: code, reason, full),
   * `camera_bad_answer` (facts: status), `camera_unreachable`, `deadline`.
   */
  call(call: SoapCall): Promise<SoapReply>;
  /** Reads the camera's clock without credentials; returns by how many milliseconds it had moved. */
  readClock(signal: AbortSignal): Promise<number>;
  /** Takes what earlier runs know of refused logins; every call that needs one waits for it. */
  recall(): Promise<void>;
  /** Before the password is sent to a door that has not taken it yet. */
  trying(door: Door): Promise<void>;
  /** What was heard at a door where the password was proved. */
  judged(door: Door, isAccepted: boolean): Promise<void>;
  /** The password may be another by now. */
  doubt(): void;
  close(): void;
}

const maxBytes = 4 * 1024 * 1024;
const usualRedirects = 3;
/** What many tell anybody: an answer says nothing of the password, unless it was wanted for this. */
const oftenOpen = /^Get(DeviceInformation|Service|Capabilities|SystemDate)/;
const sparesAllowed = 2;
const startRestMs = 60_000;
const startText =
  'it seems to have just started and may not know its users yet; if its password was changed, "siteward camera replace --anyway" takes the new one';

export function createDevice(options: {
  url: string;
  username?: string | undefined;
  password?: Secret | undefined;
  /** Judges the certificate of an https camera; without it only one that a CA vouches for is good. */
  pin?: CertificatePin | undefined;
  /** Of pictures at another port. */
  besidePin?: CertificatePin | undefined;
  clock: Clock;
  authHoldMs: number;
  /** Where refused logins are kept over a restart. */
  kept?: { readonly id: string; readonly memory: MemoryPort } | undefined;
  /** Whether it may have the password in clear; `unless_better`: as long as it never took a better proof. */
  basicLogin?: boolean | 'unless_better' | undefined;
  /** Redirects that are followed, all to the same host; three unless set. */
  redirects?: number | undefined;
}): Device {
  const base = new URL(options.url);
  const http = cameraHttp({ pin: options.pin, besidePin: options.besidePin, host: base.host });
  const clock = deviceClock(options.clock);
  const account = createAccount(options.clock, options.authHoldMs);
  const { kept, username, basicLogin, redirects: maxRedirects = usualRedirects } = options;
  const clear = clearLogin({ kept, basicLogin });
  const password = options.password?.reveal() ?? '';
  const about = { account, login: `${username}\n${password}`, clock: options.clock, holdMs: options.authHoldMs };
  const memory =
    kept && username !== undefined
      ? accountMemory({ ...about, kept: { key: keyOf('login', kept.id), memory: kept.memory } })
      : undefined;
  // Nothing is sent before the camera asks, so that learning which proofs it wants costs no try.
  let digest = digestMemory();
  let wantsToken = false;
  /** Refusals of what is spare since the password was last taken. */
  let spared = 0;
  /** Operations it wanted one for. */
  const guarded = new Set<string>();
  const turns = createTurns();
  let isAway = false;

  async function post(call: SoapCall, proofs: boolean): Promise<HttpReply> {
    let url = call.url ?? base;
    for (let redirects = 0; ; redirects += 1) {
      const headers: Record<string, string> = {
        'content-type': `application/soap+xml; charset=utf-8; action="${call.action}"`,
      };
      const authorization =
        proofs && username !== undefined
          ? digest.authorize('POST', `${url.pathname}${url.search}`, username, password)
          : undefined;
      if (authorization !== undefined) headers.authorization = authorization;
      const reply = await reach({
        url,
        method: 'POST',
        headers,
        body: envelope(call.body, soapHeaders(call, proofs)),
        timeoutMs: call.timeoutMs,
        maxBytes,
        lane: call.lane ?? 'call',
        signal: call.signal,
      });
      const next = redirects < maxRedirects ? redirectTarget(reply, url) : undefined;
      if (next === undefined) return reply;
      url = next;
    }
  }

  /** Notices an absence whichever call meets it: a picture may be asked for before the events are (bug 3). */
  async function reach(request: HttpRequest): Promise<HttpReply> {
    try {
      const reply = await http.request(request);
      if (isAway) account.returned();
      isAway = false;
      return reply;
    } catch (error) {
      if (isCode(error, 'camera_unreachable') || isCode(error, 'deadline')) isAway = true;
      if (isCode(error, 'camera_unreachable')) doubt();
      throw error;
    }
  }

  /** It is asked anew which proof it wants: a nonce from before would cost a try. */
  function doubt(): void {
    account.isLetIn = false;
    digest = digestMemory();
  }

  function soapHeaders(call: SoapCall, proofs: boolean): string[] {
    const headers: string[] = [];
    if (call.to !== undefined) {
      const { address, parameters } = call.to;
      headers.push(addressing({ action: call.action, to: address, parameters, messageId: randomUUID() }));
    }
    if (proofs && wantsToken && username !== undefined) {
      headers.push(usernameToken({ username, password, created: clock.now() }));
    }
    return headers;
  }

  /** Sends once and judges the answer: a body, a fault, or who the camera wants to hear from. */
  async function attempt(call: SoapCall): Promise<Verdict> {
    const proofs = call.open !== true;
    const { nonce } = digest;
    const sent = { digest: proofs && nonce !== '', token: proofs && wantsToken };
    if ((sent.digest || sent.token) && !account.isLetIn) await trying('events');
    const reply = await post(call, proofs);
    if (reply.status === 401) {
      const challenge = pickDigest(parseChallenges(reply.challenges));
      if (challenge !== undefined) {
        const isOld = digest.mayBeOld(nonce, challenge);
        digest.learn(challenge);
        return sent.digest && !isOld ? { kind: 'refused' } : { kind: 'asked' };
      }
      return askForToken(sent.token);
    }
    const limits = { maxBytes, ...(call.large === true && { maxNodes: largeXmlNodes }) };
    const answer = readAnswer(reply.status, reply.body, limits, reply.headers['content-type']);
    const isProven = (sent.digest || sent.token) && (!oftenOpen.test(call.name) || guarded.has(call.name));
    if (isProven && sent.digest) digest.accepted(nonce);
    if ('body' in answer) return { kind: 'ok', reply: { body: answer.body }, isProven };
    if (isRefusal(answer.fault) && proofs)
      return askForToken(sent.token, { fault: answer.fault, status: reply.status });
    throw faultError(answer.fault, call.name, reply.status);
  }

  function askForToken(tokenSent: boolean, facts?: { fault: Fault; status: number }): Verdict {
    if (tokenSent) return { kind: 'refused', ...facts };
    wantsToken = true;
    return { kind: 'asked', ...facts };
  }

  /** A try without a verdict was none, unless nobody waited for it. */
  async function heard(request: SoapCall): Promise<Verdict> {
    try {
      return await attempt(request);
    } catch (error) {
      if (!account.isLetIn && !request.signal.aborted) await memory?.keep();
      throw error;
    }
  }

  async function trying(door: Door): Promise<void> {
    await memory?.trying(door);
  }

  async function call(request: SoapCall): Promise<SoapReply> {
    if (request.open === true) return exchange(request);
    await memory?.recall();
    // A pull is held, and is never the first.
    if (account.isLetIn || username === undefined || request.lane === 'pull') return exchange(request);
    // Two that are refused at the same time would both cost a try.
    return unlessAborted(
      turns('login', () => exchange(request)),
      request.signal,
    );
  }

  const isOptional = ({ optional }: SoapCall) => optional === true || (optional === 'spare' && account.isLetIn);

  async function exchange(request: SoapCall): Promise<SoapReply> {
    // Asked at most for digest, for a token and once for a fresh nonce; refused at most twice and pardoned twice.
    for (let sends = 0; sends < 7; sends += 1) {
      if (request.open !== true) account.check('events');
      // The tries that are left are the events' own.
      if (request.optional === 'spare' && account.isLetIn && spared >= sparesAllowed) throw unasked(request.name);
      const verdict = await heard(request);
      if (verdict.kind === 'ok') {
        if (request.lane === 'pull' && !account.isLetIn) {
          account.isLetIn = true;
          await memory?.keep();
        }
        if (verdict.isProven) {
          clock.accepted();
          clear.better();
          await judged('events', true);
        }
        return verdict.reply;
      }
      if (request.open === true) break;
      if (verdict.kind === 'asked') {
        guarded.add(request.name);
        if (username !== undefined) continue;
        if (request.optional !== undefined && request.optional !== false) throw refusedTo(request.name, verdict);
        account.close('it wants a user name and none is configured');
        continue;
      }
      if (isOptional(request)) {
        // The camera counts it as a wrong password, so it must be counted here, too.
        if (request.optional === 'spare') {
          spared += 1;
          account.doubted();
        } else if (verdict.fault === undefined) await afterRefusal(request.signal);
        throw refusedTo(request.name, verdict);
      }
      await afterRefusal(request.signal);
    }
    throw new SitewardError('camera_bad_answer', `The camera asks for credentials again and again at ${request.name}`);
  }

  /**
   * A refusal may be the clock's fault: the camera's clock is read again, and one refusal after a step of it is pardoned
   * (bugs 1, 3, 5). A camera that has just started is left alone for a minute. Throws when no more may be tried.
   */
  async function afterRefusal(signal: AbortSignal): Promise<void> {
    digest.doubt();
    account.isLetIn = false;
    const moved = wantsToken ? await readClock(signal).catch(() => 0) : 0;
    const isStepped = moved > 5000;
    if ((isStepped || clock.unset || account.isStarting) && account.pardon()) {
      if (!isStepped) account.rest(startText, startRestMs);
    } else {
      account.refused('events');
      if (wantsToken) clock.tryNext();
    }
    await memory?.keep();
    account.check('events');
  }

  async function judged(door: Door, isAccepted: boolean): Promise<void> {
    if (isAccepted) {
      account.accepted(door);
      if (door === 'events') spared = 0;
    } else {
      account.refused(door);
      doubt();
    }
    await memory?.keep();
  }

  async function readClock(signal: AbortSignal): Promise<number> {
    const body = `<d:GetSystemDateAndTime xmlns:d="${ns.device}"/>`;
    const action = `${ns.device}/GetSystemDateAndTime`;
    const reply = await call({ name: 'GetSystemDateAndTime', action, body, timeoutMs: 10_000, open: true, signal });
    return clock.learn(reply.body);
  }

  return {
    ...{ base, http, clock, account, clear, username, password, call, readClock, trying, judged, doubt },
    recall: async () => memory?.recall(),
    close: http.close,
  };
}

type Verdict =
  | { readonly kind: 'ok'; readonly reply: SoapReply; readonly isProven: boolean }
  /** Credentials of a kind, or with a nonce, that was not sent are wanted. */
  | { readonly kind: 'asked'; readonly fault?: Fault; readonly status?: number }
  | { readonly kind: 'refused'; readonly fault?: Fault; readonly status?: number };

const refusedTo = (name: string, { fault, status = 401 }: { readonly fault?: Fault; readonly status?: number }) =>
  faultError(fault ?? { reason: 'not authorized', codes: [] }, name, status);

const unasked = (name: string) =>
  new SitewardError('camera_fault', `The camera is not asked for ${name} before it has taken the password again`);

/** Only to the same host, never from https to http: a redirect must not carry credentials elsewhere. */
export function redirectTarget(reply: Pick<HttpReply, 'status' | 'headers'>, from: URL): URL | undefined {
  if (![301, 302, 307, 308].includes(reply.status) || reply.headers.location === undefined) return undefined;
  const to = URL.parse(reply.headers.location, from.href);
  if (to === null || to.hostname !== from.hostname) return undefined;
  const same = to.protocol === from.protocol || (from.protocol === 'http:' && to.protocol === 'https:');
  return same ? to : undefined;
}

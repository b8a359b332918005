import { randomUUID } from 'node:crypto';
import { isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { digestMemory, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import type { Secret } from '#lib/secret.ts';
import { createTurns } from '#lib/turns.ts';
import { unlessAborted } from '#lib/wait.ts';
import { largeXmlNodes, type XmlElement } from '#lib/xml.ts';
import { type AuthLatch, authLatch } from './auth-latch.ts';
import type { MemoryPort } from './camera.ts';
import type { CertificatePin } from './certificate-pin.ts';
import { type ClearLogin, clearLogin } from './clear-login.ts';
import { type DeviceClock, deviceClock } from './device-clock.ts';
import { type CameraHttp, cameraHttp, type HttpReply, type HttpRequest } from './http.ts';
import { latchMemory } from './latch-memory.ts';
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
  readonly optional?: boolean;
  readonly signal: AbortSignal;
}

export interface SoapReply {
  readonly body: XmlElement;
}

/** One camera as a SOAP server: transport, credentials, clock, latch. */
export interface Device {
  readonly base: URL;
  readonly http: CameraHttp;
  readonly clock: DeviceClock;
  readonly latch: AuthLatch;
  readonly clear: ClearLogin;
  readonly username: string | undefined;
  readonly password: string;
  /**
   * Throws `camera_auth` (two refusals, then at once until the latch opens), `camera_fault` (facts: code, reason, full),
   * `camera_bad_answer` (facts: status), `camera_unreachable`, `deadline`.
   */
  call(call: SoapCall): Promise<SoapReply>;
  /** Reads the camera's clock without credentials; returns by how many milliseconds it had moved. */
  readClock(signal: AbortSignal): Promise<number>;
  /** Undefined until credentials were wanted; then whether they were accepted last. */
  readonly authenticated: boolean | undefined;
  /** Takes what earlier runs know of refused logins; every call that needs one waits for it. */
  recall(): Promise<void>;
  /**
   * For pictures and streams, before they send what proves the password: that it is still right is known from the events, so
   * that one which was changed costs no tries of theirs. Asks where it is not known since the device was away or since
   * `doubt`. Where SOAP never asked for a password, the tries of who asks decide; where it cannot be asked now, one of who
   * was accepted in this run (`wasAccepted`). Throws as `call`, and `camera_fault` where the device does not tell.
   */
  letIn(signal: AbortSignal, wasAccepted: boolean): Promise<void>;
  /** A picture or stream was refused its login, or its connection was lost: perhaps the password is another by now. */
  doubt(how: 'refused' | 'lost'): void;
  close(): void;
}

const maxBytes = 4 * 1024 * 1024;
const maxRedirects = 3;
/** How long after its start a camera may refuse what is right: its clock and its users come late. */
const startMs = 5 * 60_000;
const startRestMs = 60_000;
/** Where a try may be made without an answer, a picture has still to come in time. */
const briefMs = 3000;
/** What most tell nobody without the password; it is asked only for the proof. */
const mostlyGuarded = /^Get(?!DeviceInformation|Service|Capabilities|SystemDate)/;
/**
 * Refusals that are not counted, from one acceptance to the next: one, and one more after an absence. With the two that
 * are counted that stays below the five after which cameras lock an account.
 */
const pardonsAllowed = { ordinary: 1, start: 1 };

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
}): Device {
  const base = new URL(options.url);
  const http = cameraHttp({ pin: options.pin, besidePin: options.besidePin, host: base.host });
  const clock = deviceClock(options.clock);
  const latch = authLatch(options.clock, options.authHoldMs);
  const clear = clearLogin({ kept: options.kept, basicLogin: options.basicLogin });
  const username = options.username;
  const password = options.password?.reveal() ?? '';
  const refusals =
    options.kept === undefined || username === undefined
      ? undefined
      : latchMemory({
          memory: options.kept.memory,
          key: `onvif/login/${options.kept.id}`,
          latch,
          login: { username, password },
          clock: options.clock,
          holdMs: options.authHoldMs,
        });
  const digest = digestMemory();
  // Which proofs this camera asked for so far. Nothing is sent before it asks, so that learning costs no try.
  const wants = { digest: false, token: false };
  /** It wanted a proof at least once. */
  let isGuarded = false;
  /** The login was accepted, or events came without one, since the device was away and since it was doubted. */
  let isLetIn = false;
  /** A read that was accepted with a proof: asked again where what it is tells anybody. */
  let proven: SoapCall | undefined;
  const turns = createTurns();
  let pardons = pardonsAllowed.ordinary;
  let startUntil = 0;
  let isAway = false;
  /** Of the pardons for a start none was given since the camera last accepted the password. */
  let startIsNews = false;
  let authenticated: boolean | undefined;

  async function post(call: SoapCall, proofs: boolean): Promise<HttpReply> {
    let url = call.url ?? base;
    for (let redirects = 0; ; redirects += 1) {
      const headers: Record<string, string> = {
        'content-type': `application/soap+xml; charset=utf-8; action="${call.action}"`,
      };
      const authorization =
        proofs && wants.digest && username !== undefined
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
      if (isAway) returned();
      isAway = false;
      return reply;
    } catch (error) {
      if (isCode(error, 'camera_unreachable') || isCode(error, 'deadline')) isAway = true;
      if (isCode(error, 'camera_unreachable')) forget();
      throw error;
    }
  }

  /** If the camera knew the password before, refusals of the next minutes are taken for its start. */
  function returned(): void {
    if (authenticated !== true) return;
    startUntil = options.clock.monotonic() + startMs;
    if (startIsNews) pardons += pardonsAllowed.start;
    startIsNews = false;
  }

  /** It is asked anew which proof it wants: a nonce from before would cost a try. */
  function forget(): void {
    isLetIn = false;
    wants.digest = false;
    digest.doubt();
  }

  function soapHeaders(call: SoapCall, proofs: boolean): string[] {
    const headers: string[] = [];
    if (call.to !== undefined) {
      const { address, parameters } = call.to;
      headers.push(addressing({ action: call.action, to: address, parameters, messageId: randomUUID() }));
    }
    if (proofs && wants.token && username !== undefined) {
      headers.push(usernameToken({ username, password, created: clock.now() }));
    }
    return headers;
  }

  /** Sends once and judges the answer: a body, a fault, or who the camera wants to hear from. */
  async function attempt(call: SoapCall): Promise<Verdict> {
    const proofs = call.open !== true;
    const sent = { digest: proofs && wants.digest, token: proofs && wants.token, nonce: digest.nonce };
    const reply = await post(call, proofs);
    if (reply.status === 401) {
      const challenge = pickDigest(parseChallenges(reply.challenges));
      if (challenge !== undefined) {
        const isOld = digest.mayBeOld(sent.nonce, challenge);
        digest.learn(challenge);
        wants.digest = true;
        isGuarded = true;
        return sent.digest && !isOld ? { kind: 'refused' } : { kind: 'asked' };
      }
      return askForToken(sent.token);
    }
    const limits = { maxBytes, ...(call.large === true && { maxNodes: largeXmlNodes }) };
    const answer = readAnswer(reply.status, reply.body, limits, reply.headers['content-type']);
    if (sent.digest) digest.accepted(sent.nonce);
    if ('body' in answer) return { kind: 'ok', reply: { body: answer.body }, isProven: sent.digest || sent.token };
    if (isRefusal(answer.fault) && proofs)
      return askForToken(sent.token, { fault: answer.fault, status: reply.status });
    throw faultError(answer.fault, call.name, reply.status);
  }

  function askForToken(tokenSent: boolean, facts?: { fault: Fault; status: number }): Verdict {
    if (tokenSent) return { kind: 'refused', ...facts };
    wants.token = true;
    isGuarded = true;
    return { kind: 'asked' };
  }

  async function call(request: SoapCall): Promise<SoapReply> {
    if (request.open === true) return exchange(request);
    await recall();
    // A pull is held, and is never the first.
    if (isLetIn || username === undefined || request.lane === 'pull') return exchange(request);
    return oneByOne(request.signal, () => exchange(request));
  }

  /** Two that are refused at the same time would both cost a try, whatever the latch says after the first. */
  function oneByOne<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return unlessAborted(turns('login', work), signal);
  }

  async function exchange(request: SoapCall): Promise<SoapReply> {
    // Asked at most for digest, for a token and once for a fresh nonce; refused at most twice and pardoned twice.
    for (let sends = 0; sends < 7; sends += 1) {
      if (request.open !== true) latch.check();
      const verdict = await attempt(request);
      if (verdict.kind === 'ok') {
        if (verdict.isProven || request.lane === 'pull') isLetIn = true;
        if (verdict.isProven) {
          if (request.lane !== 'pull' && mostlyGuarded.test(request.name)) proven = request;
          latch.accepted();
          authenticated = true;
          pardons = pardonsAllowed.ordinary;
          startIsNews = true;
          clock.accepted();
          await refusals?.accepted();
          clear.better();
        }
        return verdict.reply;
      }
      if (request.open === true) break;
      if (verdict.kind === 'asked') {
        if (username !== undefined) continue;
        latch.close('it wants a user name and none is configured');
        throw latch.error();
      }
      if (request.optional === true) {
        // The camera counts it as a wrong password, so the latch must, too.
        if (verdict.fault === undefined) await afterRefusal(request.signal);
        throw faultError(verdict.fault ?? { reason: 'not authorized', codes: [] }, request.name, verdict.status ?? 401);
      }
      await afterRefusal(request.signal);
    }
    throw new SitewardError('camera_bad_answer', `The camera asks for credentials again and again at ${request.name}`);
  }

  /**
   * A refusal may be the clock's fault: the camera's clock is read again, and one refusal after a step of it is pardoned
   * (bugs 1, 3, 5). A camera that has just started is left alone for a minute. Throws when the latch is closed.
   */
  async function afterRefusal(signal: AbortSignal): Promise<void> {
    digest.doubt();
    isLetIn = false;
    const moved = wants.token ? await readClock(signal).catch(() => 0) : 0;
    if (moved > 5000 && pardons > 0) {
      pardons -= 1;
      return;
    }
    if (pardons > 0 && (clock.unset || options.clock.monotonic() < startUntil)) {
      pardons -= 1;
      latch.rest(
        'it seems to have just started and may not know its users yet; if its password was changed, "siteward camera replace" takes the new one',
        startRestMs,
      );
      throw latch.error();
    }
    authenticated = false;
    const closed = latch.refused();
    if (wants.token) clock.tryNext();
    await refusals?.refused();
    if (closed) throw latch.error();
  }

  async function recall(): Promise<void> {
    if (refusals === undefined) return;
    await refusals.recall();
    if (latch.leftMs > 0) authenticated ??= false;
  }

  async function letIn(signal: AbortSignal, wasAccepted: boolean): Promise<void> {
    if (username === undefined || isLetIn) return;
    await recall();
    try {
      await oneByOne(signal, () => askForProof(signal, wasAccepted ? briefMs : 10_000));
    } catch (error) {
      signal.throwIfAborted();
      if (isCode(error, 'camera_auth') || isCode(error, 'camera_certificate') || latch.leftMs > 0) throw error;
      const cannotTell = isCode(error, 'camera_unreachable') || isCode(error, 'deadline');
      if (wasAccepted || (!cannotTell && !isGuarded)) return;
      throw error;
    }
    if (isLetIn || wasAccepted || !isGuarded) return;
    throw new SitewardError(
      'camera_fault',
      'The camera tells nothing of user and password yet; its pictures and streams wait until its events come',
    );
  }

  async function askForProof(signal: AbortSignal, timeoutMs: number): Promise<void> {
    if (isLetIn) return;
    const name = 'GetDeviceInformation';
    const body = `<d:${name} xmlns:d="${ns.device}"/>`;
    await exchange({ name, action: `${ns.device}/${name}`, body, timeoutMs, signal });
    if (isLetIn || proven === undefined) return;
    const again = { ...proven, timeoutMs, signal };
    proven = undefined;
    await exchange(again);
  }

  function doubt(how: 'refused' | 'lost'): void {
    // Who wants no password for its events tells nothing of it.
    if (!isGuarded) return;
    forget();
    if (how === 'lost') return;
    // Tried while SOAP is away: it costs what would be pardoned at its return.
    if (pardons > 0) pardons -= 1;
    else startIsNews = false;
  }

  async function readClock(signal: AbortSignal): Promise<number> {
    const body = `<d:GetSystemDateAndTime xmlns:d="${ns.device}"/>`;
    const action = `${ns.device}/GetSystemDateAndTime`;
    const reply = await call({ name: 'GetSystemDateAndTime', action, body, timeoutMs: 10_000, open: true, signal });
    return clock.learn(reply.body);
  }

  return {
    ...{ base, http, clock, latch, clear, username, password, call, readClock, recall, letIn, doubt },
    get authenticated() {
      return authenticated;
    },
    close: http.close,
  };
}

type Verdict =
  | { readonly kind: 'ok'; readonly reply: SoapReply; readonly isProven: boolean }
  /** Credentials of a kind, or with a nonce, that was not sent are wanted. */
  | { readonly kind: 'asked' }
  | { readonly kind: 'refused'; readonly fault?: Fault; readonly status?: number };

/** Only to the same host, never from https to http: a redirect must not carry credentials elsewhere. */
export function redirectTarget(reply: Pick<HttpReply, 'status' | 'headers'>, from: URL): URL | undefined {
  if (![301, 302, 307, 308].includes(reply.status) || reply.headers.location === undefined) return undefined;
  const to = URL.parse(reply.headers.location, from.href);
  if (to === null || to.hostname !== from.hostname) return undefined;
  const same = to.protocol === from.protocol || (from.protocol === 'http:' && to.protocol === 'https:');
  return same ? to : undefined;
}

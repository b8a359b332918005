import { basicAuthorization, digestMemory, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import { SpeakerError } from '../driver.ts';
import type { PaceClock } from '../pace.ts';
import { within } from './fed.ts';
import { type HttpAnswer, type HttpCall, openExchange, pathOf } from './http-exchange.ts';
import { enter, failureOfStatus, type SpeakerLogin, type Trust } from './network.ts';

export type HttpAuth = 'none' | 'basic' | 'digest';

/** What proves the password of one request, and of which challenge. */
export interface Proof {
  readonly headers: Readonly<Record<string, string>>;
  readonly nonce: string;
}

/** Asks one device, for one sound: it proves the password as the device asks, and tries a wrong one once. */
export interface HttpCaller {
  /** Rejects with a SpeakerError for each status that is no success, or with the reason of the signal. */
  call(call: HttpCall, signal: AbortSignal): Promise<void>;
  /** What proves the password of a request with a body. A device is asked for its challenge by one without: no sound goes into a refusal. */
  prove(call: HttpCall, signal: AbortSignal): Promise<Proof>;
  /** Throws a SpeakerError where the answer is no success. */
  check(answer: HttpAnswer, proof: Proof): void;
  /** Whoever waits for its verdict goes on. */
  close(): void;
}

const refusedText = ({ headers }: Proof): string =>
  headers.authorization === undefined
    ? 'the device wants a user and password that siteward does not have'
    : 'the device refused user or password; correct them';

const answerMs = 5000;
const unproven: Proof = { headers: {}, nonce: '' };
const triesCap = 3;

export function createCaller(device: {
  auth: HttpAuth;
  login: SpeakerLogin;
  trust: Trust;
  clock: PaceClock;
}): HttpCaller {
  const { auth, login, trust, clock } = device;
  const digest = digestMemory();
  const over = new AbortController();
  let isIn = false;
  let verdict: 'accepted' | 'refused' | undefined;

  async function proofFor(call: HttpCall, signal: AbortSignal): Promise<Proof> {
    const credentials = login.credentials();
    const isAsked = auth === 'basic' || digest.nonce !== '';
    if (auth === 'none' || credentials === undefined || !isAsked || verdict === 'refused') return unproven;
    const inClear = auth === 'basic' && !call.url.toLowerCase().startsWith('https:');
    if (!isIn) await enter(login, { signal, over: over.signal, inClear });
    isIn = true;
    const { nonce } = digest;
    const password = credentials.password.reveal();
    const authorization =
      auth === 'basic'
        ? basicAuthorization(credentials.username, password)
        : (digest.authorize(call.method, pathOf(call), credentials.username, password) ?? '');
    return { headers: { authorization }, nonce };
  }

  function judge({ status }: HttpAnswer, { headers, nonce }: Proof): void {
    const next = status === 401 ? 'refused' : 'accepted';
    if (headers.authorization === undefined || verdict === next) return;
    if (next === 'accepted') digest.accepted(nonce);
    verdict = next;
    login.told?.(next);
  }

  /** Whether another try makes sense: after the first question, and when the challenge has grown old. */
  function learn({ status, challenges }: HttpAnswer, { headers, nonce }: Proof): boolean {
    if (status !== 401 || auth !== 'digest' || login.credentials() === undefined) return false;
    const challenge = pickDigest(parseChallenges(challenges));
    if (challenge === undefined) return false;
    if (headers.authorization !== undefined && !digest.mayBeOld(nonce, challenge)) return false;
    digest.learn(challenge);
    return true;
  }

  async function ask(call: HttpCall, proof: Proof, signal: AbortSignal): Promise<HttpAnswer> {
    const hasBody = call.method === 'POST' || call.method === 'PUT';
    const headers = { ...(hasBody && { 'content-length': 0 }), ...proof.headers };
    const exchange = await openExchange({ ...call, headers }, trust, signal);
    try {
      exchange.end();
      return await within(answerMs, { clock, signal, what: 'the device does not answer' }, exchange.answer);
    } finally {
      exchange.close();
    }
  }

  function check(answer: HttpAnswer, proof: Proof): void {
    judge(answer, proof);
    const { status } = answer;
    if (status >= 200 && status < 300) return;
    throw new SpeakerError(
      failureOfStatus(status),
      status === 401 ? refusedText(proof) : `the device answered ${status}`,
    );
  }

  return {
    async call(call, signal) {
      for (let tries = 1; ; tries += 1) {
        const proof = await proofFor(call, signal);
        const answer = await ask(call, proof, signal);
        if (tries < triesCap && learn(answer, proof)) continue;
        check(answer, proof);
        return;
      }
    },
    async prove(call, signal) {
      if (auth === 'digest' && login.credentials() !== undefined) {
        const answer = await ask(call, unproven, signal);
        if (!learn(answer, unproven)) check(answer, unproven);
      }
      return await proofFor(call, signal);
    },
    check,
    close: () => over.abort(),
  };
}

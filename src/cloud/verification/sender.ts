import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { CloudClient, TokenSource } from '#cloud/client/index.ts';
import type { VerificationAction } from '#cloud/contract/index.ts';
import { describe } from '#errors.ts';
import { type Backoff, backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { wakeup } from '#lib/wait.ts';
import { isoTime } from '#site/model/index.ts';
import { isAboutTime, judge, type Verdict } from './outcome.ts';

/** One answer that waits to be sent. */
export interface Waiting {
  readonly verificationId: string;
  /** Its place among the answers of the verification. */
  readonly n: number;
  readonly action: VerificationAction;
  readonly contactId: number;
  /** Wall clock milliseconds. */
  readonly respondedAt: number;
  /** False: it shows in no metric, log line or health (safety 4). */
  readonly isShown: boolean;
  /** Operators see what is sent. Where they do not, what the service says of it must tell them nothing. */
  readonly isPlain: boolean;
}

/** What the sender needs of the site. */
export interface AnswersPort {
  /** All that wait. Two of one verification that differ are never under way together: the later one must be heard last. */
  outgoing(): readonly Waiting[];
  settle(sent: Waiting, told: { readonly fate: 'recorded' | 'gone' | 'refused'; readonly reason?: string }): void;
}

export interface AnswerSenderOptions {
  /** A line of its own, so that no answer waits behind a backlog of events. */
  readonly api: Pick<CloudClient['api'], 'answerVerification' | 'respondVerification'>;
  /** Its waits after a lost line are far longer than a verification lives. */
  readonly tokens?: Pick<TokenSource, 'retryNow'> | undefined;
  readonly call: 'patch' | 'response';
  readonly place: { readonly dealerId: string; readonly siteId: string };
  readonly answers: AnswersPort;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly random?: () => number;
}

/** Sends answers to alarm verifications, each until the service has spoken or the site gives it up at its deadline. */
export interface AnswerSender extends Part {
  /** There may be something to send. */
  wake(): void;
  /** The line is back, or somebody has mended something: no wait lasts longer than this. */
  retryNow(): void;
}

interface Try {
  readonly waits: Backoff;
  /** Monotonic milliseconds before which it is not tried again. */
  nextMono: number;
  isUnderWay: boolean;
  /** How far our clock is ahead of the service's, milliseconds; set once the service has refused a time for it. */
  aheadMs?: number;
}

const atOnce = 4;
const deadlineMs = 15_000;
const waits = { baseMs: 1000, capMs: 30_000 } as const;
/** Where somebody must change something first. */
const holdMs = 30_000;
const longestAskedMs = 60_000;
const idleMs = 60_000;

export function createAnswerSender(options: AnswerSenderOptions): AnswerSender {
  const { answers, clock, log, place } = options;
  const stopping = new AbortController();
  const alarm = wakeup();
  /** As many as answers wait, or did a minute ago, which the site bounds. */
  const tries = new Map<string, Try>();
  const underWay = new Map<Promise<void>, Waiting>();
  let running: Promise<void> | undefined;
  let trouble: string | undefined;
  const results = new Counter({
    name: 'siteward_verification_answers_total',
    help: 'Tries to send the answer to an alarm verification, by what came of them',
    labelNames: ['result'],
    registers: [options.metrics],
  });

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const waitMs = sendDue();
      await alarm.wait(waitMs, stopping.signal).catch(() => undefined);
    }
  }

  /** Starts what may be sent now; answers how long until there is more, milliseconds. */
  function sendDue(): number {
    const waiting = answers.outgoing();
    const keys = new Set(waiting.map(keyOf));
    // One that is held back for the disk is away for a moment and keeps its pause: nobody is to see that another came.
    const over = clock.monotonic() - idleMs;
    for (const [key, { isUnderWay, nextMono }] of tries)
      if (!isUnderWay && !keys.has(key) && nextMono < over) tries.delete(key);
    if (!waiting.some(({ isShown }) => isShown)) trouble = undefined;
    let nextMs = idleMs;
    for (const one of waiting) {
      const key = keyOf(one);
      const attempt: Try = tries.get(key) ?? { waits: backoff(waitsOf(options)), nextMono: 0, isUnderWay: false };
      tries.set(key, attempt);
      if (attempt.isUnderWay) continue;
      const leftMs = attempt.nextMono - clock.monotonic();
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      else if (underWay.size < atOnce && !isContradicted(one)) start(one, attempt);
    }
    return nextMs;
  }

  const isContradicted = ({ verificationId, action }: Waiting): boolean =>
    [...underWay.values()].some((other) => other.verificationId === verificationId && other.action !== action);

  function start(one: Waiting, attempt: Try): void {
    attempt.isUnderWay = true;
    const sending = send(one, attempt)
      .catch((error: unknown) => {
        attempt.nextMono = clock.monotonic() + attempt.waits.next();
        if (!stopping.signal.aborted && one.isShown)
          log.error({ reason: describe(error) }, 'an answer could not be sent');
      })
      .finally(() => {
        attempt.isUnderWay = false;
        underWay.delete(sending);
        alarm.wake();
      });
    underWay.set(sending, one);
  }

  async function send(one: Waiting, attempt: Try): Promise<void> {
    crashPoint('answer.before');
    options.tokens?.retryNow();
    const result = await request(one, attempt);
    crashPoint('answer.after');
    const said = judge(result, one, clock.wall());
    const verdict = attempt.aheadMs === undefined && said.do === 'refused' ? corrected(said, result, attempt) : said;
    note(one, verdict);
    if (verdict.do === 'again' || verdict.do === 'hold') {
      const asked = Math.min(verdict.retryAfterMs ?? 0, longestAskedMs);
      const waitMs = Math.max(asked, verdict.do === 'hold' ? holdMs : attempt.waits.next());
      attempt.nextMono = clock.monotonic() + waitMs;
      return;
    }
    answers.settle(one, { fate: verdict.do, ...('reason' in verdict && { reason: verdict.reason }) });
  }

  /** A press that lies in the future of the service: our clock is ahead of it. It is told by that clock, once. */
  function corrected(said: Verdict, result: Awaited<ReturnType<typeof request>>, attempt: Try): Verdict {
    if (result.kind === 'failure' || !('reason' in said) || !isAboutTime(result)) return said;
    const aheadMs = clock.wall() - Date.parse(result.headers.date ?? '');
    if (!(aheadMs > 0)) return said;
    attempt.aheadMs = aheadMs;
    attempt.waits.reset();
    return { do: 'again', reason: said.reason, retryAfterMs: undefined };
  }

  function request({ verificationId, action, contactId, respondedAt }: Waiting, { aheadMs = 0 }: Try) {
    const call = options.call === 'patch' ? options.api.answerVerification : options.api.respondVerification;
    return call({
      params: { ...place, verificationId },
      body: { contact_id: contactId, action, responded_at: isoTime(respondedAt - aheadMs) },
      signal: stopping.signal,
      deadlineMs,
    });
  }

  function note({ verificationId, isShown }: Waiting, verdict: Verdict): void {
    if (!isShown) return;
    results.inc({ result: verdict.do });
    trouble = verdict.do === 'again' || verdict.do === 'hold' ? verdict.reason : undefined;
    const facts = { verification: verificationId, ...('reason' in verdict && { reason: verdict.reason }) };
    if (verdict.do === 'recorded') log.info(facts, 'the answer to a verification was recorded');
    else if (verdict.do === 'gone') log.warn(facts, 'the answer to a verification came too late');
    else if (verdict.do === 'refused') log.error(facts, 'the answer to a verification was refused');
    else log.debug(facts, 'the answer to a verification waits');
  }

  return {
    name: 'answers',
    async start(signal) {
      signal.throwIfAborted();
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the sender of answers is stopping'));
      await running;
      await Promise.all(underWay.keys());
    },
    health(): Health {
      if (trouble === undefined) return ok();
      return { state: 'degraded', reason: `answers to alarm verifications wait: ${trouble}` };
    },
    wake: alarm.wake,
    retryNow() {
      for (const attempt of tries.values()) {
        attempt.nextMono = 0;
        attempt.waits.reset();
      }
      alarm.wake();
    },
  };
}

const keyOf = ({ verificationId, n }: Waiting): string => `${verificationId} ${n}`;

const waitsOf = ({ random }: Pick<AnswerSenderOptions, 'random'>) => ({
  ...waits,
  jitter: 'full' as const,
  ...(random !== undefined && { random }),
});

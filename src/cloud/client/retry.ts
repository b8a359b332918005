import { backoff } from '#lib/backoff.ts';
import type { WireAnswer, WireFailure } from '#lib/contract/client.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { sleep } from '#lib/wait.ts';
import { retryAfterMs } from './retry-after.ts';

export interface RetryRules {
  /** Tries in all, at least 1. */
  readonly tries: number;
  /** First and longest wait between tries, milliseconds; doubled with full jitter. */
  readonly baseMs: number;
  readonly capMs: number;
  /** The longest wait a server may ask for; beyond it nothing is repeated, and the caller is told how long. */
  readonly patienceMs: number;
}

export const defaultRetry: RetryRules = { tries: 4, baseMs: 500, capMs: 30_000, patienceMs: 60_000 };

type Outcome = WireAnswer | WireFailure;

/**
 * Repeats `work` while `again` allows, at most `tries` times; a wait the server asks for is kept, never shortened.
 * Resolves with the last outcome; rejects with the reason of the signal.
 */
export async function withRetry<T extends Outcome>(
  work: (attempt: number) => Promise<T>,
  options: {
    readonly rules: RetryRules;
    readonly again: (outcome: T) => boolean;
    readonly signal: AbortSignal;
    readonly wallMs: () => number;
    readonly random?: () => number;
  },
): Promise<T> {
  const { rules, again, signal, wallMs } = options;
  const waits = backoff({
    ...{ baseMs: rules.baseMs, capMs: rules.capMs, jitter: 'full' },
    ...(options.random === undefined ? {} : { random: options.random }),
  });
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const outcome = await work(attempt);
    if (attempt >= rules.tries || !again(outcome)) return outcome;
    const asked = askedWaitMs(outcome, wallMs()) ?? 0;
    if (asked > rules.patienceMs) return outcome;
    await sleep(Math.max(asked, waits.next()), signal);
  }
}

/** How long the server wants to be left alone, milliseconds. */
export const askedWaitMs = (outcome: Outcome, wallMs: number): number | undefined =>
  outcome.kind === 'failure' ? outcome.retryAfterMs : retryAfterMs(outcome.headers, wallMs);

/** Failures that surely happened before the request left this machine: even a toggle may be sent again. */
const neverSent: ReadonlySet<WireFailure['failure']> = new Set(['dns', 'refused', 'unreachable', 'token_unreachable']);
const lostOnTheWay: ReadonlySet<WireFailure['failure']> = new Set(['timeout', 'reset']);
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Whether an operation may be sent again after this outcome (S-196). */
export function mayRepeat({ repeatable }: Operation, outcome: Outcome): boolean {
  if (outcome.kind === 'answer') return repeatable !== 'no' && passing.has(outcome.status);
  return neverSent.has(outcome.failure) || (repeatable !== 'no' && lostOnTheWay.has(outcome.failure));
}

/** Whether the server may have acted although no clear answer came. */
export function mayHaveActed(outcome: Outcome): boolean {
  if (outcome.kind === 'answer') return outcome.status === 408 || (outcome.status >= 500 && outcome.status !== 503);
  if (outcome.notSent === true) return false;
  return lostOnTheWay.has(outcome.failure) || outcome.failure === 'garbled' || outcome.failure === 'too_large';
}

import { SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { RetryRules } from './retry.ts';

export interface OnceOptions {
  readonly rules: RetryRules;
  readonly signal: AbortSignal;
  readonly random?: () => number;
}

/** Errors after which nobody knows whether the request was carried out, or that pass by themselves. */
const unsure: ReadonlySet<string> = new Set(['cloud_outcome_unknown', 'cloud_unreachable']);

/**
 * Does once what must not be done twice (S-196): after an unsure outcome it looks first, and repeats only what is not
 * there. `find` gives what is there, or undefined. A refusal after a lost reply may be the service's word that it has the
 * thing already, so it is looked for then too. Throws what the last try threw.
 */
export async function doOnce<T>(
  { act, find }: { readonly act: () => Promise<T>; readonly find: () => Promise<T | undefined> },
  { rules, signal, random }: OnceOptions,
): Promise<T> {
  const { baseMs, capMs } = rules;
  const waits = backoff({ baseMs, capMs, jitter: 'full', ...(random === undefined ? {} : { random }) });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof SitewardError)) throw error;
      const open = unsure.has(error.code);
      const taken = attempt > 1 && error.code === 'cloud_refused';
      if (!open && !taken) throw error;
      const askedMs = Number(error.facts.retry_after_ms ?? 0);
      if (open && askedMs > rules.patienceMs) throw error;
      if (open) await sleep(Math.max(askedMs, waits.next()), signal);
      const found = await find();
      if (found !== undefined) return found;
      if (taken || attempt >= rules.tries) throw error;
    }
  }
}

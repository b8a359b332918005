import type { Clock } from '#lib/clock.ts';
import { unlessAborted } from '#lib/wait.ts';
import { createAccount } from './account.ts';
import { accountMemory } from './account-memory.ts';
import type { MemoryPort } from './camera.ts';
import { fieldTiming } from './timing.ts';

/**
 * The account of a device that is no configured camera, for all who log in there: two wrong tries in all, also over restarts,
 * then one now and then (`Account`).
 */
export interface AccountGuard {
  /** Takes what earlier runs know; once. */
  recall(): Promise<void>;
  /** Resolves when the password may be sent, one at a time. `over` aborts with the connection. Throws `camera_auth`. */
  enter(signal: AbortSignal, over: AbortSignal): Promise<void>;
  judged(isAccepted: boolean): void;
}

export function createAccountGuard(options: {
  /** In the memory. */
  readonly key: string;
  /** Device, user and password: what was refused counts for these alone. */
  readonly login: string;
  readonly memory: MemoryPort;
  readonly clock: Clock;
}): AccountGuard {
  const { key, login, memory, clock } = options;
  const holdMs = fieldTiming.authHoldMs;
  const account = createAccount(clock, holdMs, 'speaker');
  const kept = accountMemory({ ...{ account, login, clock, holdMs }, kept: { key, memory } });
  let verdict = Promise.withResolvers<void>();
  let underWay: Promise<void> | undefined;

  async function turn(signal: AbortSignal): Promise<() => void> {
    for (;;) {
      signal.throwIfAborted();
      account.check('speaker');
      if (underWay === undefined) break;
      await unlessAborted(underWay, signal);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    underWay = promise;
    return () => {
      underWay = undefined;
      resolve();
    };
  }

  return {
    recall: () => kept.recall(),
    async enter(signal, over) {
      await kept.recall();
      const done = await turn(signal);
      verdict = Promise.withResolvers();
      if (account.wasAccepted('speaker') !== true) await kept.trying('speaker');
      // A try without a verdict was none.
      void unlessAborted(verdict.promise, over)
        .catch(() => kept.keep())
        .finally(done);
    },
    judged(isAccepted) {
      if (isAccepted) account.accepted('speaker');
      else account.refused('speaker');
      void kept.keep();
      verdict.resolve();
    },
  };
}

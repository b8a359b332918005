import { describe } from '#errors.ts';
import { never, withDeadline } from '#lib/wait.ts';
import type { OutboxStats } from '#site/store/index.ts';
import type { House } from './house.ts';

/** What lies in the outbox, or why it cannot be counted. Never rejects, and answers within a second. */
export type OutboxCount = () => Promise<OutboxStats | string>;

/** A disk that hangs must not hang the answer that tells of it. */
const deadlineMs = 1000;

/** One question serves all who ask meanwhile. What is not known is not called zero: there is a reason instead. */
export function outboxCount(house: Pick<House, 'store'>): OutboxCount {
  let asking: Promise<OutboxStats | string> | undefined;

  async function ask(): Promise<OutboxStats | string> {
    const { store } = house;
    if (store === undefined) return 'The store is not running.';
    return withDeadline(deadlineMs, never(), () => store.stats(), 'counting the outbox').catch(describe);
  }

  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

import { expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import { sleep } from '#lib/wait.ts';
import { inTime } from '../../src/cli/in-time.ts';

const failure = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

it('gives what the work gives, and throws what it throws', async () => {
  expect(await inTime(60_000, async () => 7)).toBe(7);
  const own = new SitewardError('cloud_refused', 'no');
  expect(await failure(inTime(60_000, () => Promise.reject(own)))).toBe(own);
  const abort = new DOMException('ended by somebody else', 'AbortError');
  expect(await failure(inTime(60_000, () => Promise.reject(abort)))).toBe(abort);
});

it('ends what takes longer, and says that nobody knows how far it came', async () => {
  let ended: unknown;
  const late = inTime(
    20,
    async (signal) => {
      await sleep(60_000, signal).finally(() => {
        ended = signal.reason;
      });
    },
    '; --timeout gives it longer',
  );
  expect(await failure(late)).toMatchObject({
    code: 'cloud_unreachable',
    message: 'no answer within 0.02 s; --timeout gives it longer. Look whether it was done before doing it again',
  });
  expect(ended).toMatchObject({ name: 'TimeoutError' });
});

it('counts each piece of work for itself: one that was late leaves the next its whole time', async () => {
  await failure(inTime(1, (signal) => sleep(60_000, signal)));
  expect(await inTime(60_000, async (signal) => signal.aborted)).toBe(false);
});
